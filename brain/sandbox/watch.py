"""Watch a job to its end: read its outputs, answer its requests, keep its limits."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from ..errors import SandboxError, printable_text
from .job import EndedBy, SandboxJob, SandboxOutcome
from .memory import JobMemory
from .process import SandboxProcess

POLL_SECONDS = 0.05
"""How late the end of a limit of time, and a cancellation, may be noticed."""
_CHUNK_BYTES = 65_536
_READY, _GO = b"?", b"!\n"
_SIGNAL_BASE = 128


class JobWatch:
    """Watches one job; a limit or `cancel` ends it."""

    def __init__(
        self,
        process: SandboxProcess,
        job: SandboxJob,
        cancel: Event | None,
        memory: JobMemory | None,
    ) -> None:
        self._process = process
        self._job = job
        self._cancel = cancel
        self._memory = memory
        self._began = time.monotonic()
        self._ready = False
        self._ended_by: EndedBy | None = None
        self._outputs = {process.stdout: bytearray(), process.stderr: bytearray()}
        self._line = bytearray()
        self._answers = bytearray()
        self._requests = 0
        self._result: bytes | None = None
        self._result_bytes = 0
        self._selector = selectors.PollSelector()  # which takes no descriptor

    def watch(self) -> SandboxOutcome:
        """Read and answer until the process has ended, and say how.

        Raises `SandboxError` (`no_sandbox`) if the sandbox ended before the job began, and what
        `job.answer` raises.
        """
        for descriptor in (*self._outputs, self._process.requests, self._process.ended):
            self._selector.register(descriptor, selectors.EVENT_READ)
        while not self._has_ended(self._selector.select(POLL_SECONDS)):
            self._check_limits()
        status = self._process.wait()
        if self._ended_by is None and self._is_memory_exceeded():
            self._ended_by = "memory"
        # Nothing runs inside any more, so what is in the pipes is all.
        ended_by = self._ended_by
        for descriptor in (*self._outputs, self._process.requests):
            while self._read(descriptor):
                pass
        if not self._ready and ended_by is None:
            raise explain_failure(bytes(self._outputs[self._process.stderr]))
        if status > _SIGNAL_BASE:
            status = _SIGNAL_BASE - status
        natural: EndedBy = "cpu_time" if status == -signal.SIGXCPU else "signal"
        return SandboxOutcome(
            ended_by=self._ended_by or ("exit" if status >= 0 else natural),
            status=status,
            stdout=bytes(self._outputs[self._process.stdout]),
            stderr=bytes(self._outputs[self._process.stderr]),
            result=self._result,
            wall_ms=round((time.monotonic() - self._began) * 1000),
        )

    def _check_limits(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            self._end("cancelled")
        elif time.monotonic() > self._began + self._job.limits.wall_seconds:
            self._end("wall_time")
        elif self._is_memory_exceeded():
            self._end("memory")

    def _is_memory_exceeded(self) -> bool:
        return self._memory is not None and self._memory.is_exceeded()

    def _has_ended(self, events: list[tuple[selectors.SelectorKey, int]]) -> bool:
        if any(key.fd == self._process.ended for key, _ in events):
            return True
        for key, mask in events:
            if mask & selectors.EVENT_WRITE:
                self._write_answers()
            elif not self._read(key.fd):
                self._selector.unregister(key.fd)
        return False

    def _read(self, descriptor: int) -> bool:
        """Read what there is; return False at the end of the pipe, or if there is nothing."""
        try:
            data = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if descriptor == self._process.requests:
            self._take_lines(data)
        else:
            self._take_output(descriptor, data)
        return data != b""

    def _take_output(self, descriptor: int, data: bytes) -> None:
        output = self._outputs[descriptor]
        room = self._job.limits.output_bytes - len(output)
        output += data[:room]
        if len(data) > room:
            self._end("output")

    def _take_lines(self, data: bytes) -> None:
        self._line += data
        *lines, rest = self._line.split(b"\n")
        self._line = rest
        for line in lines:
            self._take_line(bytes(line))
        if len(rest) > self._job.limits.output_bytes:
            self._end("output")

    def _take_line(self, line: bytes) -> None:
        if self._ended_by is not None:
            return
        if not self._ready:
            self._ready = line == _READY
            if self._memory is not None:
                self._memory.begin()
            self._send(_GO)
        elif line.startswith(b"="):
            self._result_bytes += len(line)
            if self._result_bytes > self._job.limits.output_bytes:
                self._end("output")
            else:
                self._result = line[1:]
        elif len(line) > self._job.limits.output_bytes:
            self._end("output")
        else:
            self._take_request(line)

    def _take_request(self, line: bytes) -> None:
        with selectors.PollSelector() as selector:
            selector.register(self._process.ended, selectors.EVENT_READ)
            if selector.select(0):
                return  # nobody reads the answer
        self._requests += 1
        unread = len(self._answers) > self._job.limits.output_bytes
        if self._job.answer is None or self._requests > self._job.limits.requests or unread:
            self._end("requests")
            return
        with self._limits_checked():
            answer = self._job.answer(line)
        self._send(answer + b"\n")

    @contextmanager
    def _limits_checked(self) -> Iterator[None]:
        """Check the limits while the caller's `answer` works, however long it takes."""
        answered = Event()

        def check() -> None:
            while not answered.wait(POLL_SECONDS):
                self._check_limits()

        guard = Thread(target=check, name="sandbox-limits", daemon=True)
        guard.start()
        try:
            yield
        finally:
            answered.set()
            guard.join()

    def _send(self, data: bytes) -> None:
        self._answers += data
        self._write_answers()

    def _write_answers(self) -> None:
        watched = self._process.answers in self._selector.get_map()
        try:
            del self._answers[: os.write(self._process.answers, self._answers)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._answers.clear()
        if self._answers and not watched:
            self._selector.register(self._process.answers, selectors.EVENT_WRITE)
        elif not self._answers and watched:
            self._selector.unregister(self._process.answers)

    def _end(self, reason: EndedBy) -> None:
        if self._ended_by is None:
            self._ended_by = reason
            self._process.kill()


_SYSCTLS = Path("/proc/sys")
_CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
_NAMESPACE_WORDS = ("namespace", "uid map", "RTM_NEWADDR", "user_namespaces")
"""Parts of what bubblewrap says if the kernel refuses a namespace, or a right within it."""
_ALLOW = "allow user namespaces: `sudo sysctl"
_FORBIDDING = {
    "user/max_user_namespaces": ("0", f"{_ALLOW} user.max_user_namespaces=10000`"),
    "kernel/unprivileged_userns_clone": ("0", f"{_ALLOW} kernel.unprivileged_userns_clone=1`"),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "AppArmor forbids it: install a profile for bwrap, on Ubuntu with `sudo apt install"
        " apparmor-profiles`, and copy /usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
        " to /etc/apparmor.d; then `sudo systemctl reload apparmor`",
    ),
}
"""Settings of the kernel to the value that forbids namespaces, and what helps."""


def explain_failure(stderr: bytes) -> SandboxError:
    """Return the error for a sandbox that ended before its job began, from what it printed."""
    lines = stderr.decode(errors="replace").splitlines()
    reason = printable_text(lines[-1], 200) if lines else "it ended without a message"
    if " /folders/" in reason:  # a file that is to be covered is gone since it was found
        return SandboxError(
            f"an approved folder changed as the skill was started: {reason}",
            code="bad_folder",
            hint="try again, or approve a folder in which no keys or sockets come and go",
        )
    return SandboxError(
        f"the sandbox could not be started: {reason}", code="no_sandbox", hint=_find_hint(reason)
    )


def _find_hint(reason: str) -> str:
    if "nknown option" in reason:
        return "install bubblewrap 0.8 or later"
    if "source path" in reason or "/oldroot/" in reason:
        return "make the folder readable for the user that runs skills, or remove its approval"
    if not (_SYSCTLS / "kernel").exists():
        return "mount the kernel's /proc, as with `sudo mount -t proc proc /proc`"
    if any(word in reason for word in _NAMESPACE_WORDS):
        for name, (value, hint) in _FORBIDDING.items():
            with suppress(OSError):
                if (_SYSCTLS / name).read_text().strip() == value:
                    return hint
        if any(mark.exists() for mark in _CONTAINER_MARKS):
            return (
                "the container forbids it: start it with `--security-opt seccomp=unconfined"
                " --security-opt systempaths=unconfined`, or run skills outside of it"
            )
        return "allow user namespaces to this user"
    return "run skills on a machine where `bwrap --unshare-all --ro-bind / / true` works"
