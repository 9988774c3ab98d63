"""The runs of one trial: two at a time, within one limit of time for all."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from threading import Event
from typing import Any

from ..digest import NO_DIGEST, blob_id
from ..errors import SandboxError
from ..programs.failure_summary import fit_summary
from ..programs.program import Program
from ..programs.test_cases import TestCase, is_meaningful
from ..sandbox.sandbox_protocol import (
    Sandbox,
    SandboxJob,
    SandboxLimits,
    SandboxOutcome,
    SandboxProfile,
)
from ..verdicts.verdict_types import NamedNumber, NamedText, VerdictCase
from .run_program import RunOutcome, check_outputs, run_program

_PARALLEL_RUNS = 2
_MIN_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedCase:
    """A case with its payload, its output, and the contents of the blobs that it names."""

    case: VerdictCase
    payload: dict[str, Any]
    output: Any = None
    contents: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def is_answered(self) -> bool:
        """Whether the program gave an output."""
        return self.case.output != NO_DIGEST

    def failed(self, detail: str) -> TriedCase:
        """Return the same case as one that failed."""
        return replace(self, case=self.case._replace(outcome="fail", detail=fit_summary(detail)))


class WatchedSandbox:
    """A sandbox that notes what was there as it ran jobs, from two threads too."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._ran: list[tuple[SandboxLimits, str]] = []

    @property
    def profile(self) -> SandboxProfile:
        """What the sandbox is made of."""
        return self._sandbox.profile

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        """Run a job; see `Sandbox.run`."""
        outcome = self._sandbox.run(job, cancel)
        self._ran.append((job.limits, outcome.memory))
        return outcome

    def describe_wall(self) -> tuple[str, tuple[NamedNumber, ...], tuple[NamedText, ...]]:
        """Return for a verdict the sandbox, its limits and its versions; nothing if none ran.

        A limit that differed between jobs is the highest one.
        """
        if not self._ran:
            return "", (), ()
        memory = " or ".join(sorted({memory for _, memory in self._ran if memory}))
        versions = dict(self.profile.versions) | ({"memory": memory} if memory else {})
        limits = {
            "wall_ms" if name == "wall_seconds" else name: max(
                round(getattr(used, name) * (1000 if name == "wall_seconds" else 1))
                for used, _ in self._ran
            )
            for name in (one.name for one in fields(SandboxLimits))
        }
        return (
            self.profile.name,
            tuple(NamedNumber(*row) for row in sorted(limits.items())),
            tuple(NamedText(*row) for row in sorted(versions.items())),
        )


class TrialRuns:
    """Runs programs and checks for one trial."""

    def __init__(
        self,
        sandbox: Sandbox,
        limits: SandboxLimits,
        max_seconds: float,
        answer: Callable[[bytes], bytes] | None,
        cancel: Event | None,
    ) -> None:
        self.sandbox = sandbox
        self.limits = limits
        self.max_seconds = max_seconds
        self._answer = answer or _take_progress
        self._cancel = cancel
        self._deadline = time.monotonic() + max_seconds

    @property
    def is_over(self) -> bool:
        """Whether the time of the trial is over."""
        return time.monotonic() > self._deadline

    def raise_if_cancelled(self) -> None:
        """Raise `SandboxError` (`cancelled`) if the trial was cancelled."""
        if self._cancel is not None and self._cancel.is_set():
            raise SandboxError("the trial was cancelled", code="cancelled", hint="try it again")

    def try_authored(
        self, program: Program, cases: Sequence[TestCase]
    ) -> tuple[list[TriedCase], TriedCase]:
        """Run each case of the author, and return also how the first went when it ran again."""
        *rows, again = self._run_all(program, [*cases, cases[0]])
        numbered = zip(range(1, len(rows) + 1), cases, rows, strict=True)
        return (
            [_describe("author", number, case, outcome) for number, case, outcome in numbered],
            _describe("author", 0, cases[0], again),
        )

    def try_unseen(
        self, program: Program, payloads: Sequence[dict[str, Any]], first: int = 1
    ) -> list[TriedCase]:
        """Run each payload that the author never saw; they are numbered from `first`."""
        cases = [TestCase(payload=payload) for payload in payloads]
        rows = enumerate(zip(cases, self._run_all(program, cases), strict=True), first)
        return [_describe("unseen", number, case, outcome) for number, (case, outcome) in rows]

    def check(self, check: bytes, rows: Sequence[tuple[Any, Any]]) -> list[str]:
        """Return for each payload and output why the check refuses it, "" if it does not."""
        self.raise_if_cancelled()
        return check_outputs(
            self.sandbox, check, rows, limits=self._limits_left(), cancel=self._cancel
        )

    def _run_all(self, program: Program, cases: Sequence[TestCase]) -> list[RunOutcome]:
        with ThreadPoolExecutor(_PARALLEL_RUNS, thread_name_prefix="trial") as pool:
            return list(pool.map(lambda case: self._run(program, case.payload), cases))

    def _run(self, program: Program, payload: dict[str, Any]) -> RunOutcome:
        self.raise_if_cancelled()
        if self.is_over:
            return RunOutcome(ok=False, error=f"the trial took longer than {self.max_seconds:g} s")
        return run_program(
            self.sandbox,
            program,
            payload,
            limits=self._limits_left(),
            answer=self._answer,
            cancel=self._cancel,
        )

    def _limits_left(self) -> SandboxLimits:
        left = max(self._deadline - time.monotonic(), _MIN_SECONDS)
        return replace(self.limits, wall_seconds=min(self.limits.wall_seconds, left))


def _describe(kind: str, number: int, case: TestCase, outcome: RunOutcome) -> TriedCase:
    payload_text = _encode(case.payload)
    output_text = _encode(outcome.output) if outcome.ok else b""
    detail = outcome.error
    if outcome.ok:
        detail = (
            case.refuse(outcome.output)
            if is_meaningful(outcome.output)
            else "its output says nothing: it is empty or null"
        )
    passed = not detail or (kind == "unseen" and outcome.refused)
    return TriedCase(
        case=VerdictCase(
            kind=kind,
            name=f"{kind} {number}",
            outcome="pass" if passed else "fail",
            payload=blob_id(payload_text),
            output=blob_id(output_text) if outcome.ok else NO_DIGEST,
            detail=fit_summary(detail),
            took=outcome.wall_ms,
        ),
        payload=case.payload,
        output=outcome.output,
        contents=(payload_text, *([output_text] if outcome.ok else [])),
    )


def _take_progress(line: bytes) -> bytes:
    """Answer the requests of a program that is tried alone."""
    if line.startswith(b'{"progress":'):
        return b"{}"
    return b'{"error": "a skill that is tried can call no other skill and no host"}'


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "backslashreplace")
