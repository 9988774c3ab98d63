"""Try a program before it is admitted: its author's cases, payloads that nobody saw, and stubs.

The program runs in one sandbox, the check of its outputs in another, so that it cannot answer
for itself. What was tried and how it went is the verdict.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from threading import Event
from typing import Any

from .._version import __version__
from ..digest import NO_DIGEST, blob_id
from ..errors import InvalidInput, SandboxError, printable_text
from ..programs import CASES_FILE, CHECK_FILE, SCHEMA_FILE
from ..programs.advice import ADVICE, check_code, find_refusal
from ..programs.parameters import check_payload, parse_schema
from ..programs.probes import build_stubs, find_survivors, make_payloads
from ..programs.program import Program, fit_summary, tool_name
from ..programs.test_cases import TestCase, is_meaningful, parse_cases
from ..sandbox.job import (
    DEFAULT_LIMITS,
    Sandbox,
    SandboxJob,
    SandboxLimits,
    SandboxOutcome,
    SandboxProfile,
)
from ..util.json_schema import equal_json
from ..verdicts.verdict_types import NamedNumber, NamedText, ProgramFile, Verdict, VerdictCase
from .run import RunOutcome, check_outputs, complete_program, run_program

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


UNSEEN_PAYLOADS = 8
"""Payloads that the author never saw."""
MAX_TRIAL_SECONDS = 300.0
_BARE_ASSERTION = "AssertionError:"
_CHECK_FAULTS = ("bad_check", "bad_definition", "schema_differs")
"""Codes of what is wrong with the program rather than with the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A verdict, the contents of the blobs that it names, and the program that it is about.

    That has a schema.json made from its definition, if it came without.
    """

    verdict: Verdict
    contents: tuple[bytes, ...]
    program: Program


@dataclass(slots=True, kw_only=True)
class _Course:
    """How a trial went so far."""

    program: Program
    rows: tuple[TriedCase, ...] = ()
    findings: tuple[str, ...] = ()
    reason: str = ""


def try_program(
    sandbox: Sandbox,
    program: Program,
    *,
    seed: int,
    decided_by: str,
    code_profile: str = ADVICE,
    limits: SandboxLimits = DEFAULT_LIMITS,
    max_seconds: float = MAX_TRIAL_SECONDS,
    answer: Callable[[bytes], bytes] | None = None,
    cancel: Event | None = None,
) -> Trial:
    """Try a program; the verdict is to admit it if every case passed, else to reject it.

    The same seed gives the same unseen payloads. `answer` makes the answers to its requests; it
    must take calls from two threads, and without it only progress is taken. What `check_code` finds
    is advice, unless a profile was asked for that refuses. A trial that takes
    longer than `max_seconds` rejects the program. Raises `InvalidInput` for tests or a schema
    that cannot be read, and `SandboxError`, also if `cancel` was set (`cancelled`).
    """
    watched = WatchedSandbox(sandbox)
    findings = tuple(check_code(program.code, code_profile, name=tool_name(program.slug)))
    course = _Course(program=program, findings=findings)
    course.reason = find_refusal(program.code, code_profile, findings)
    if not course.reason:
        runs = TrialRuns(watched, limits, max_seconds, answer, cancel)
        _try_all(runs, course, seed)
    sandbox_name, applied, versions = watched.describe_wall()
    verdict = Verdict(
        decision="reject" if course.reason else "admit",
        skill=program.slug,
        decider="rule",
        decided_by=decided_by,
        reason=course.reason,
        files=tuple(ProgramFile(path, blob) for path, blob in course.program.blobs),
        code_check=code_profile,
        findings=course.findings,
        sandbox=sandbox_name,
        limits=applied,
        versions=(NamedText("brain", __version__), *versions),
        seed=seed,
        cases=tuple(row.case for row in course.rows),
    )
    contents = tuple(dict.fromkeys(text for row in course.rows for text in row.contents))
    return Trial(verdict=verdict, contents=contents, program=course.program)


def _try_all(runs: TrialRuns, course: _Course, seed: int) -> None:
    cases = parse_cases(_require_file(course.program, CASES_FILE))
    try:
        course.program = complete_program(runs.sandbox, course.program, limits=runs.limits)
        _try_steps(runs, course, cases, seed)
    except InvalidInput as error:
        if error.code not in _CHECK_FAULTS:
            raise
        course.reason = fit_summary(error.message)
    if runs.is_over and not course.reason:
        course.reason = f"the trial took longer than {runs.max_seconds:g} s"
    runs.raise_if_cancelled()


def _try_steps(runs: TrialRuns, course: _Course, cases: Sequence[TestCase], seed: int) -> None:
    """Go through a trial until a step fails; what was tried is in `course` whatever happens."""
    schema = parse_schema(_require_file(course.program, SCHEMA_FILE))
    _require_fitting(schema, cases)
    # 1. The cases of the author, and the first of them again.
    authored, again = runs.try_authored(course.program, cases)
    if _stops(course, authored):
        return
    course.findings += _note_difference(authored[0], again)
    # 2. Payloads that the author never saw; where there are no others, the seen ones again.
    seen = [case.payload for case in cases]
    made = make_payloads(schema, seen, seed, 2 * UNSEEN_PAYLOADS)
    payloads = made or (seen[:UNSEEN_PAYLOADS] if schema.get("properties") else [])
    unseen = _require_half(_try_unseen(runs, course.program, payloads, authored))
    if _stops(course, [*authored, *unseen]):
        return
    # 3. One run of the check for all outputs, the true ones among those of the stubs.
    answered = [row for row in [*authored, *unseen] if row.is_answered]
    stubs = build_stubs([(row.payload, row.output) for row in authored], all_seen=not made)
    refused: dict[str, str] = {}

    def check_all(rows: list[tuple[Any, Any]]) -> list[str]:
        true_rows = [(row.payload, row.output) for row in answered]
        reasons = _check_mixed(runs, course.program, [*true_rows, *rows], seed)
        names = [row.case.name for row in answered]
        refused.update((name, why) for name, why in zip(names, reasons, strict=False) if why)
        return reasons[len(true_rows) :]

    answered_unseen = [row.payload for row in unseen if row.is_answered]
    survivors = find_survivors(stubs, cases, answered_unseen, check_all)
    checked = [
        row.failed(_describe_refusal(row, refused[row.case.name]))
        if row.case.name in refused
        else row
        for row in [*authored, *unseen]
    ]
    if _stops(course, checked):
        return
    # 4. The stubs.
    _stops(course, [*checked, *(_stub_row(stub.name, stub.name in survivors) for stub in stubs)])


def _try_unseen(
    runs: TrialRuns, program: Program, payloads: list[dict[str, Any]], authored: list[TriedCase]
) -> list[TriedCase]:
    """Run the first half of the payloads; and the rest if no output differed from another.

    By chance, or because the program answers always the same, they would tell no stub from it.
    """
    rows = runs.try_unseen(program, payloads[:UNSEEN_PAYLOADS])
    answered = [row.output for row in (*authored, *rows) if row.is_answered]
    if all(equal_json(output, answered[0]) for output in answered):
        rows += runs.try_unseen(program, payloads[UNSEEN_PAYLOADS:], len(rows) + 1)
    return rows


def _stops(course: _Course, rows: Sequence[TriedCase]) -> bool:
    """Note the rows; tell whether one of them failed, which ends the trial."""
    course.rows = tuple(rows)
    failed = next((row.case for row in rows if row.case.outcome == "fail"), None)
    if failed is not None:
        course.reason = _explain(failed)
    return failed is not None


def _describe_refusal(row: TriedCase, reason: str) -> str:
    """Return the reason of the check; for an assertion without a message, what it refused."""
    if reason.strip() != _BARE_ASSERTION:
        return reason
    output, payload = (printable_text(json.dumps(x), 60) for x in (row.output, row.payload))
    return f"{CHECK_FILE} refuses the output {output} for {payload}"


def _explain(failed: VerdictCase) -> str:
    if failed.kind == "stub":
        return (
            f"the tests prove nothing: they take {failed.name} for the skill. Write "
            "check(payload, output) in tests/check.py so that it raises for every wrong output, "
            "whatever the payload"
        )
    return fit_summary(f"{failed.name}: {failed.detail}")


def _require_fitting(schema: dict[str, Any], cases: Sequence[TestCase]) -> None:
    for number, case in enumerate(cases, 1):
        try:
            check_payload(schema, case.payload)
        except InvalidInput as error:
            raise InvalidInput(
                f"case {number} of {CASES_FILE} does not fit {SCHEMA_FILE}: {error.message}",
                code="bad_cases",
                hint="change the payload or the schema",
            ) from error


def _note_difference(first: TriedCase, again: TriedCase) -> tuple[str, ...]:
    if again.is_answered and equal_json(first.output, again.output):
        return ()
    return ("author 1: it gave another output when it ran again with the same payload",)


def _require_half(rows: list[TriedCase]) -> list[TriedCase]:
    """Fail the unseen payloads that were refused if more than half were: it is of no use then."""
    refused = [row for row in rows if not row.is_answered]
    if 2 * len(refused) <= len(rows):
        return rows
    hint = "; it refuses most payloads that the schema allows: narrow it, or give examples in it"
    return [row.failed(f"{row.case.detail}{hint}") if row in refused else row for row in rows]


def _check_mixed(
    runs: TrialRuns, program: Program, rows: list[tuple[Any, Any]], seed: int
) -> list[str]:
    """Check outputs in an order that does not tell which are the program's."""
    if CHECK_FILE not in program.files:
        return [""] * len(rows)
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    reasons = runs.check(program.files[CHECK_FILE], [rows[at] for at in order])
    return [reason for _, reason in sorted(zip(order, reasons, strict=True))]


def _stub_row(name: str, survived: bool) -> TriedCase:
    return TriedCase(
        case=VerdictCase(
            kind="stub",
            name=fit_summary(name),
            outcome="fail" if survived else "pass",
            detail="the tests take it for the skill" if survived else "",
        ),
        payload={},
    )


def _require_file(program: Program, path: str) -> bytes:
    if path not in program.files:
        raise InvalidInput(
            f"{program.slug} has no {path}",
            code="no_tests",
            hint="a skill that runs needs skill.py, schema.json and tests/cases.json",
        )
    return program.files[path]
