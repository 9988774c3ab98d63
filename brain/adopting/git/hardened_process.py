"""Run git on an untrusted repository: no configuration, no hooks, with timeouts.

They get nothing to read that is not given here, no settings of the machine or the user, and
so much time to say something. No hook, filter, file-system monitor, pager or alias that the
repository configures takes part in what is run; nothing is fetched, and nobody is asked.
"""

from __future__ import annotations

import io
import os
import select
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import IO

from ...errors import InvalidInput, printable_text

ANSWER_SECONDS, WALK_SECONDS = 60.0, 600.0
"""Seconds in which git has to say something more: to a question, and of a whole history,
before which it may have to go through all of it."""

_HARDENED_OPTIONS = (
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never", "-c", "safe.directory=*"),
    *("-c", "core.quotePath=false", "-c", "core.commitGraph=false"),
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "0",
    "LC_ALL": "C",
}
BUFFER_BYTES = 1 << 20
UNREADABLE_CODE = "bad_repository"
"""Code of the error for what git fails at."""


class GitCommand:
    """Starts git on a repository. Raises `InvalidInput` (`no_git`) where it is not installed."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("git")
        if program is None:
            raise InvalidInput(
                "a history of git is read by git, which is not here",
                code="no_git",
                hint="install git, or adopt the files alone with --as agentskills",
            )
        self.folder = folder
        self._command = (program, *_HARDENED_OPTIONS, f"--git-dir={folder}")

    def start(self, *arguments: str, patience: float, stdin: IO[bytes] | None = None) -> GitProcess:
        """Start a command that reads nothing, or a file."""
        return GitProcess(self, (*self._command, *arguments), stdin or subprocess.DEVNULL, patience)

    def start_interactive(self, *arguments: str) -> GitProcess:
        """Start a command that answers questions."""
        return GitProcess(self, (*self._command, *arguments), subprocess.PIPE, ANSWER_SECONDS)

    def unreadable_error(self) -> InvalidInput:
        """Return the error for what git cannot read."""
        return InvalidInput(
            f"git cannot read {printable_text(self.folder)}",
            code=UNREADABLE_CODE,
            hint="see what `git fsck` says of it; a partial clone has to be made whole first",
        )

    def timeout_error(self, seconds: float) -> InvalidInput:
        """Return the error for a git that says nothing."""
        return InvalidInput(
            f"git said nothing about {printable_text(self.folder)} for {seconds:g} seconds",
            code="git_hangs",
            hint="is something in there no ordinary file, or its disk gone? adopt a clone of it,"
            " or the files alone with --as agentskills",
        )


class GitProcess:
    """A running git; `out` is what it says, which raises `InvalidInput` (`git_hangs`)."""

    def __init__(
        self, git: GitCommand, command: tuple[str, ...], stdin: IO[bytes] | int, patience: float
    ) -> None:
        self._git = git
        self._timeout = patience
        self._process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            cwd="/",
            bufsize=0,
        )
        assert self._process.stdout
        self.stdout = io.BufferedReader(
            _TimeoutPipe(git, self._process.stdout, patience), BUFFER_BYTES
        )

    def write_query(self, question: bytes) -> None:
        """Write to the process; all it was asked before is answered, so this does not block."""
        assert self._process.stdin
        try:
            self._process.stdin.write(question)
        except BrokenPipeError as error:
            raise self._git.unreadable_error() from error

    def check_finished(self) -> None:
        """Raise `InvalidInput` unless it said all that it had to, and went well."""
        if self.stdout.read(1):
            raise self._git.unreadable_error()
        try:
            status = self._process.wait(self._timeout)
        except subprocess.TimeoutExpired as error:
            raise self._git.timeout_error(self._timeout) from error
        if status:
            raise self._git.unreadable_error()

    def kill(self) -> None:
        """End it, whatever it is at."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self.stdout.close()


class _TimeoutPipe(io.RawIOBase):
    """A pipe of which a piece has to come in time."""

    def __init__(self, git: GitCommand, pipe: IO[bytes], seconds: float) -> None:
        self._git = git
        self._pipe = pipe
        self._seconds = seconds
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read what is there; wait for it, but not for ever."""
        if not self._poll.poll(self._seconds * 1000):
            raise self._git.timeout_error(self._seconds)
        return os.readv(self._pipe.fileno(), [buffer])

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()
        super().close()
