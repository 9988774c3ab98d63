"""A sandbox that lasts from step to step: a folder and processes, apart from the host.

It is one job, whose program (inside/supervisor.py) asks for its next command. What a command
leaves, files and processes, is there for the next one, until the session ends. All of it is in
memory, and nothing of it outlives the session, the thread that starts sandboxes, or this process.
The host reads no more of it than lines of JSON and the bytes of files: an archive is made and
unpacked inside.
"""

from __future__ import annotations

import json
import posixpath
import time
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import resources
from queue import Empty, SimpleQueue
from secrets import token_hex
from threading import Event, RLock, Thread
from typing import Any, NamedTuple, Self

from ..errors import SandboxError, printable_text
from .job import MIB, Sandbox, SandboxJob, SandboxLimits

SESSION_LIMITS = SandboxLimits(
    wall_seconds=1200,
    cpu_seconds=600,
    memory_bytes=2048 * MIB,
    processes=128,
    file_bytes=1024 * MIB,
    files=200_000,
    open_files=1024,
    output_bytes=4 * MIB,
    requests=1_000_000,
)
HOME, START = "/root", "/work"
SYSTEM_PATH = "/usr/bin:/bin"
"""Programs of the machine, which no step can replace."""
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": HOME,
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    # Address space counts as memory: Java reserves more than it uses, and malloc does, a thread.
    "MALLOC_ARENA_MAX": "2",
    "JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -XX:CompressedClassSpaceSize=64m",
}
_PART_BYTES = 1 * MIB
_GRACE_SECONDS = 20.0
"""What the supervisor may take beyond the time of a step; a command can stop it."""
_WAIT_SECONDS = 0.5
_PACK_SECONDS = 300.0
_FORGED = "a command forged the answer of its supervisor"
_REASONS = {
    "wall_time": "it lasted longer than it may",
    "memory": "it used more memory or more files than it may",
    "cancelled": "it was closed",
    "exit": "its supervisor failed",
    "signal": "a command ended its supervisor",
}


class StepResult(NamedTuple):
    """How a step ended: its exit status, negative for a signal, and what it printed, cut.

    `output` is standard output and standard error as they came. `is_late` says that the step, with
    all of its process group, was ended at its limit of time.
    """

    status: int
    output: bytes
    is_late: bool


class SandboxSession:
    """Runs steps in one sandbox; ends with `close`, or as a context manager.

    Every method raises `SandboxError` (`session_ended`) if the session has ended, whatever ended
    it: its own limits, a command that killed the supervisor or forged its answers, `close`, or an
    interrupt such as Ctrl-C during a step. Steps of several threads run one after the other.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        limits: SandboxLimits = SESSION_LIMITS,
        folders: Mapping[str, str] | None = None,
        hidden: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        start: str = START,
        loopback: bool = False,
    ) -> None:
        """Start it. `folders` are folders of the host by their place inside; see `SandboxJob`.

        Steps start in the folder `start` of the session, which is made. Raises what `Sandbox.run`
        raises.
        """
        self._environment = {**_ENVIRONMENT, **(environment or {})}
        self._start = start
        self._commands: SimpleQueue[bytes] = SimpleQueue()
        self._answers: SimpleQueue[bytes | BaseException] = SimpleQueue()
        self._cancel = Event()
        self._lock = RLock()
        self._ended = ""
        program = resources.files(__package__).joinpath("inside/supervisor.py").read_bytes()
        job = SandboxJob(
            arguments=("/job/supervisor.py", HOME, start),
            files={"/job/supervisor.py": program},
            folders=folders or {},
            hidden=tuple(hidden),
            answer=self._exchange,
            limits=limits,
            is_machine=True,
            loopback=loopback,
        )
        self._thread = Thread(
            target=self._run, args=(sandbox, job), name="sandbox-session", daemon=True
        )
        self._thread.start()
        self._take_answer("", limits.wall_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self,
        *argv: str,
        script: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        seconds: float = 60.0,
        max_bytes: int = MIB,
    ) -> StepResult:
        """Run a command, or a script of bash with `argv` as its arguments, to its end.

        `env` adds to the environment of the session. The first `max_bytes` of what it prints are
        kept. Processes that it leaves run on. Raises `SandboxError` (`step_failed`) if it cannot
        be started.
        """
        if script is not None:
            argv = ("bash", "-c", script, "bash", *argv)
        with self._lock:
            file = f"/tmp/.stdin-{token_hex(8)}" if stdin else ""
            if stdin:
                self.put(file, stdin, 0o600)
            answer = self._do(
                "run",
                argv[0],
                seconds,
                argv=argv,
                cwd=self._place(cwd or ""),
                env={**self._environment, **(env or {})},
                stdin=file,
                seconds=seconds,
                most=max_bytes,
            )
            output = self._collect(answer, argv[0], max_bytes)
        if not isinstance(status := answer.get("status"), int):
            raise self._end(_FORGED)
        return StepResult(status, output, bool(answer.get("late")))

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file, in place of what is there; folders above it are made.

        Raises `SandboxError`: `session_full`, or `step_failed` for a place that cannot be.
        """
        path = self._place(path)
        with self._lock:
            for start in range(0, max(1, len(data)), _PART_BYTES):
                part = b2a_base64(data[start : start + _PART_BYTES], newline=False).decode()
                self._do("put", path, path=path, data=part, mode=mode, append=start > 0)

    def get(self, path: str, max_bytes: int = MIB) -> bytes:
        """Return the content of a file. Raises `SandboxError`: `absent_inside`,
        `not_a_file` for a link, a folder or a device, `too_large_inside`."""
        with self._lock:
            return self._collect(self._do("get", path, path=self._place(path)), path, max_bytes)

    def pack(self, *paths: str, max_bytes: int = 256 * MIB) -> bytes:
        """Return a tar archive of files and folders, whose names in it are relative to /.

        Links are kept as such, and files that cannot be read are left out. Raises `SandboxError`:
        `absent_inside`, `too_large_inside`. Only a sandbox may unpack it: see `unpack`.
        """
        names = [self._place(path).lstrip("/") or "." for path in paths]
        what = " ".join(paths)
        with self._lock:
            answer = self._do("pack", what, names=names, env={"PATH": SYSTEM_PATH})
            return self._collect(answer, what, max_bytes)

    def unpack(self, tar: bytes, into: str = "/") -> None:
        """Unpack a tar archive below the folder `into`, which is made.

        What the archive holds can take the place of anything there, so put what must be yours
        after it. Raises `SandboxError` (`step_failed`) if it is no archive or there is no room.
        """
        script = 'mkdir -p -- "$1" && exec tar -xpf - --no-same-owner -C "$1"'
        done = self.run(
            self._place(into),
            script=script,
            env={"PATH": SYSTEM_PATH},
            stdin=tar,
            seconds=_PACK_SECONDS,
        )
        if done.status != 0:
            raise _failed(into, done.output[-500:].decode(errors="replace"))

    def close(self) -> None:
        """End the session with all that runs in it. Nothing of it is left after this."""
        self._ended = self._ended or "it was closed"
        self._cancel.set()
        self._commands.put(b"")
        self._thread.join()

    def _place(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._start, path))

    def _collect(self, answer: dict[str, Any], what: str, max_bytes: int) -> bytes:
        data = bytearray()
        try:
            data += a2b_base64(answer["data"])
            while answer["more"] and len(data) <= max_bytes:
                answer = self._do("more", what)
                data += a2b_base64(answer["data"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._end(_FORGED) from error
        if len(data) > max_bytes:
            raise SandboxError(
                f"{what} in the session has more than {max_bytes} bytes",
                code="too_large_inside",
            )
        return bytes(data)

    def _do(self, do: str, what: str, wait: float = 0.0, **values: Any) -> dict[str, Any]:
        if self._ended:
            raise _ended(self._ended)
        of, shown = token_hex(8), printable_text(what)
        command = json.dumps({"do": do, "of": of, **values}).encode()
        answer = self._take_answer(of, wait + _GRACE_SECONDS, command)
        match answer.get("error"):
            case None:
                return answer
            case "absent" if do != "run":
                raise SandboxError(f"there is no {shown} in the session", code="absent_inside")
            case "not_a_file" if do != "run":
                raise SandboxError(
                    f"{shown} in the session is a link, a folder or a device",
                    code="not_a_file",
                )
            case "full":
                raise SandboxError(
                    f"there is no room in the session for {shown}",
                    code="session_full",
                    hint="remove files in it, or open one with a larger limit",
                )
        raise _failed(what, answer.get("why"))

    def _take_answer(self, of: str, seconds: float, command: bytes = b"") -> dict[str, Any]:
        try:
            if command:
                self._commands.put(command)
            deadline, answer = time.monotonic() + seconds, None
            while answer is None:  # a signal that comes as a wait begins does not end that wait
                if time.monotonic() > deadline:
                    raise self._end("a command stopped its supervisor")
                with suppress(Empty):
                    answer = self._answers.get(timeout=_WAIT_SECONDS)
        except BaseException:
            self._end(self._ended or "a step was interrupted")
            raise
        if isinstance(answer, BaseException):
            self._ended = self._ended or str(answer)
            raise answer
        try:
            values = json.loads(answer)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict) or values.get("of") != of:
            raise self._end(_FORGED)
        return values

    def _end(self, why: str) -> SandboxError:
        self._ended = why
        self.close()
        return _ended(why)

    def _run(self, sandbox: Sandbox, job: SandboxJob) -> None:
        try:
            outcome = sandbox.run(job, self._cancel)
            why = _REASONS.get(outcome.ended_by, f"it passed a limit ({outcome.ended_by})")
            if outcome.ended_by == "exit" and outcome.stderr:
                why += f", {printable_text(outcome.stderr[-200:])}"
            self._answers.put(_ended(why))
        except BaseException as error:  # noqa: BLE001  raised in the thread that waits
            self._answers.put(error)

    def _exchange(self, answer: bytes) -> bytes:
        self._answers.put(answer)
        return self._commands.get()


def _ended(why: str) -> SandboxError:
    return SandboxError(
        f"the session of the sandbox has ended: {why}",
        code="session_ended",
        hint="open another, with larger limits if it needs them",
    )


def _failed(what: str, why: object) -> SandboxError:
    return SandboxError(
        f"a step of the session failed, {what}: {why!s}",
        code="step_failed",
    )
