"""Watch a job to its end: read its outputs, answer its requests, keep its limits."""

from __future__ import annotations

import os
import selectors
import signal
import time
from threading import Event

from ..errors import SandboxError, printable_text
from .sandbox_process import SandboxProcess
from .sandbox_protocol import EndedBy, SandboxJob, SandboxOutcome

_POLL_SECONDS = 0.05
_CHUNK_BYTES = 65_536
_READY, _GO = b"?", b"!\n"
_SIGNAL_BASE = 128


def watch_job(process: SandboxProcess, job: SandboxJob, cancel: Event | None) -> SandboxOutcome:
    """Watch until the job has ended, or a limit or `cancel` ends it.

    Raises `SandboxError` (`sandbox_failed`) if the sandbox ended before the job began, and what
    `job.answer` raises.
    """
    return _JobWatch(process, job).watch(cancel)


class _JobWatch:
    def __init__(self, process: SandboxProcess, job: SandboxJob) -> None:
        self._process = process
        self._job = job
        self._ready = False
        self._ended_by: EndedBy | None = None
        self._outputs = {process.stdout: bytearray(), process.stderr: bytearray()}
        self._line = bytearray()
        self._answers = bytearray()
        self._requests = 0
        self._result: bytes | None = None
        self._selector = selectors.DefaultSelector()

    def watch(self, cancel: Event | None) -> SandboxOutcome:
        """Read and answer until the process has ended, and say how."""
        began = time.monotonic()
        deadline = began + self._job.limits.wall_seconds
        with self._selector as selector:
            for descriptor in (*self._outputs, self._process.requests, self._process.pidfd):
                selector.register(descriptor, selectors.EVENT_READ)
            while not self._has_ended(selector.select(_POLL_SECONDS)):
                if cancel is not None and cancel.is_set():
                    self._end("cancelled")
                elif time.monotonic() > deadline:
                    self._end("wall_time")
        status = self._process.wait()
        for descriptor in (*self._outputs, self._process.requests):
            while self._read(descriptor):
                pass
        if not self._ready and self._ended_by is None:
            raise self._start_error()
        wall_ms = round((time.monotonic() - began) * 1000)
        if status > _SIGNAL_BASE and self._ended_by is None:
            status = _SIGNAL_BASE - status
        return SandboxOutcome(
            ended_by=self._ended_by or _natural_end(status),
            status=status,
            stdout=bytes(self._outputs[self._process.stdout]),
            stderr=bytes(self._outputs[self._process.stderr]),
            result=self._result,
            wall_ms=wall_ms,
        )

    def _has_ended(self, events: list[tuple[selectors.SelectorKey, int]]) -> bool:
        ended = False
        for key, mask in events:
            if key.fd == self._process.pidfd:
                ended = True
            elif mask & selectors.EVENT_WRITE:
                self._write_answers()
            elif not self._read(key.fd):
                self._selector.unregister(key.fd)
        return ended

    def _read(self, descriptor: int) -> bool:
        """Read what there is; return False at the end of the pipe, or if there is nothing."""
        try:
            data = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if descriptor == self._process.requests:
            self._take_requests(data)
        else:
            self._take_output(descriptor, data)
        return data != b""

    def _take_output(self, descriptor: int, data: bytes) -> None:
        kept = self._outputs[descriptor]
        room = self._job.limits.output_bytes - len(kept)
        kept += data[:room]
        if len(data) > room:
            self._end("output")

    def _take_requests(self, data: bytes) -> None:
        self._line += data
        *lines, rest = self._line.split(b"\n")
        self._line = rest
        for line in lines:
            if self._ended_by is not None:
                return
            self._take_line(bytes(line))
        if len(rest) > self._job.limits.output_bytes:
            self._end("output")

    def _take_line(self, line: bytes) -> None:
        if not self._ready:
            self._ready = line == _READY
            self._send(_GO)
        elif len(line) > self._job.limits.output_bytes:
            self._end("output")
        elif line.startswith(b"="):
            self._result = line[1:]
        elif self._job.answer is None or self._requests >= self._job.limits.requests:
            self._end("requests")
        else:
            self._requests += 1
            self._send(self._job.answer(line) + b"\n")

    def _send(self, data: bytes) -> None:
        self._answers += data
        self._write_answers()

    def _write_answers(self) -> None:
        """Write as much as the pipe takes; the rest is written once it takes more."""
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

    def _start_error(self) -> SandboxError:
        lines = self._outputs[self._process.stderr].decode(errors="replace").splitlines()
        reason = printable_text(lines[-1], 200) if lines else "it ended without a word"
        return SandboxError(
            f"the sandbox could not be started: {reason}",
            code="sandbox_failed",
            hint="`brain doctor` says what is missing on this machine",
        )


def _natural_end(status: int) -> EndedBy:
    if status >= 0:
        return "exit"
    return "cpu_time" if status == -signal.SIGXCPU else "signal"
