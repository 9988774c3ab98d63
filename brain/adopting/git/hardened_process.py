"""Run git on an untrusted repository: no configuration, no hooks, with timeouts.

No setting of the machine or the user applies, and no hook, filter, file-system monitor,
pager or alias of the repository runs. git fetches nothing and prompts for nothing.
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

from ...errors import InvalidInput

ANSWER_SECONDS, WALK_SECONDS = 60.0, 600.0
"""Seconds in which git must write more output: the answer to a query, and the first line of
a history, which git may have to walk before."""

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
"""Code of the error for a failing git."""


class GitCommand:
    """Starts git on a repository. Raises `InvalidInput` (`no_git`) if git is not installed."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("git")
        if program is None:
            raise InvalidInput(
                "reading a git history needs git, which is not installed",
                code="no_git",
                hint="install git, or adopt only the files with --as agentskills",
            )
        self.folder = folder
        self._command = (program, *_HARDENED_OPTIONS, f"--git-dir={folder}")

    def start(
        self, *arguments: str, timeout: float, stdin: IO[bytes] | int = subprocess.DEVNULL
    ) -> GitProcess:
        """Start a command; its input is a file, or `subprocess.PIPE` for queries."""
        return GitProcess(self, (*self._command, *arguments), stdin, timeout)

    def unreadable_error(self) -> InvalidInput:
        """Return the error for a repository that git cannot read."""
        return InvalidInput(
            f"git cannot read {self.folder}",
            code=UNREADABLE_CODE,
            hint="check it with `git fsck`; complete a partial clone first",
        )

    def timeout_error(self, seconds: float) -> InvalidInput:
        """Return the error for a git without output for `seconds`."""
        return InvalidInput(
            f"git wrote nothing about {self.folder} for {seconds:g} seconds",
            code="git_hangs",
            hint="a pipe among its files, or a missing disk, may block git; adopt a clone,"
            " or only the files with --as agentskills",
        )


class GitProcess:
    """A running git. Reading `stdout` raises `InvalidInput` (`git_hangs`) after the timeout."""

    def __init__(
        self, git: GitCommand, command: tuple[str, ...], stdin: IO[bytes] | int, timeout: float
    ) -> None:
        self._git = git
        self._timeout = timeout
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
            _TimeoutPipe(git, self._process.stdout, timeout), BUFFER_BYTES
        )

    def write_query(self, query: bytes) -> None:
        """Write a query; all earlier ones must be answered, so that this does not block."""
        assert self._process.stdin
        try:
            self._process.stdin.write(query)
        except BrokenPipeError as error:
            raise self._git.unreadable_error() from error

    def check_finished(self) -> None:
        """Raise `InvalidInput` unless all output was read and git succeeded."""
        if self.stdout.read(1):
            raise self._git.unreadable_error()
        try:
            status = self._process.wait(self._timeout)
        except subprocess.TimeoutExpired as error:
            raise self._git.timeout_error(self._timeout) from error
        if status:
            raise self._git.unreadable_error()

    def kill(self) -> None:
        """Kill the process."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self.stdout.close()


class _TimeoutPipe(io.RawIOBase):
    """A pipe that raises `InvalidInput` (`git_hangs`) if no output arrives in time."""

    def __init__(self, git: GitCommand, pipe: IO[bytes], seconds: float) -> None:
        self._git = git
        self._pipe = pipe
        self._seconds = seconds
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read the next output, waiting at most the timeout."""
        if not self._poll.poll(self._seconds * 1000):
            raise self._git.timeout_error(self._seconds)
        return os.readv(self._pipe.fileno(), [buffer])

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()
        super().close()
