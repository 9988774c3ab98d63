"""A sandbox in this process, in which the check of a case does what the outputs say."""

import json
from collections.abc import Callable
from threading import Event

from brain.sandbox.job import EndedBy, SandboxJob, SandboxOutcome, SandboxProfile

HANGS, CRASHES, REFUSED, RIGHT = "hangs", "crashes", "refused", "right"
"""How an output begins on which the check hangs, ends its process, refuses it, or takes it."""


class ScriptedSandbox:
    """Runs checks of outputs; `clock` tells the seconds that they took, `jobs` their outputs."""

    profile = SandboxProfile(name="scripted", versions=())

    def __init__(self) -> None:
        self.clock = 0.0
        self.jobs: list[list[str]] = []

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        """Check the outputs of a job, all of which share its process."""
        outputs = [str(output) for _, output in json.loads(job.stdin)]
        self.jobs.append(outputs)
        reasons: list[str | None] = []
        for output in outputs:
            if output.startswith(HANGS):
                self.clock += job.limits.wall_seconds
                return _end("wall_time", None)
            if output.startswith(CRASHES):
                return _end("exit", None)
            reasons.append("wrong" if output.startswith(REFUSED) else None)
        return _end("exit", json.dumps(reasons).encode())

    def time_left(self, seconds: float) -> Callable[[], float]:
        """Return what tells how much is left of so many seconds."""
        return lambda: seconds - self.clock


def _end(ended_by: EndedBy, result: bytes | None) -> SandboxOutcome:
    return SandboxOutcome(
        ended_by=ended_by, status=0, stdout=b"", stderr=b"", result=result, wall_ms=0
    )
