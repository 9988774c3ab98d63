"""Try a program before it is admitted: its author's cases, payloads that nobody saw, and stubs.

The program runs in one sandbox, the check of its outputs in another, so that it cannot answer
for itself. What was tried and how it went is the verdict.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from threading import Event
from typing import Any

from .._version import __version__
from ..digest import NO_DIGEST, blob_id
from ..errors import InvalidInput, SandboxError, printable_text
from ..programs import CASES_FILE, CHECK_FILE, SCHEMA_FILE
from ..programs.advice import ADVICE, check_code
from ..programs.needs import NO_NEEDS, Fixtures, WebAnswer, WebRequest, read_fixtures, read_needs
from ..programs.parameters import check_payload, parse_schema
from ..programs.probes import Stub, build_stubs, find_survivors, make_payloads
from ..programs.program import Program, fit_summary, tool_name
from ..programs.python_code import CodeFault, parse_code
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
from .broker import Broker
from .run import RunOutcome, check_outputs, complete_program, run_program

_PARALLEL_RUNS = 2
_MIN_SECONDS = 0.05
_NO_FIXTURE = "no fixture covers"
FindCalled = Callable[[str], Program | None]
"""Returns the program of a skill that another one calls, by the name of its tool."""


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


def raise_if_cancelled(cancel: Event | None) -> None:
    """Raise `SandboxError` (`cancelled`) if a trial was cancelled."""
    if cancel is not None and cancel.is_set():
        raise SandboxError("the trial was cancelled", code="cancelled", hint="try it again")


def run_over_fixtures(
    sandbox: Sandbox,
    program: Program,
    payload: Mapping[str, Any],
    *,
    limits: Callable[[], SandboxLimits],
    find_called: FindCalled,
    cancel: Event | None = None,
) -> RunOutcome:
    """Run a program, and those that it calls, each over its own fixtures in place of the world.

    It reaches no host and no folder of this machine, whatever is approved here, so what is called
    needs no right to run. A request that no fixture covers fails the run. Raises as `run_program`,
    and `InvalidInput` (`bad_fixtures`).
    """
    missing: list[str] = []

    def run(tried: Program, values: Mapping[str, Any], broker: Broker) -> RunOutcome:
        needs = read_needs(tried)
        fixtures = Fixtures() if needs == NO_NEEDS else read_fixtures(tried, needs)

        def answer_request(asked: WebRequest, *_: object) -> WebAnswer:
            found = fixtures.find_answer(asked)
            if found is None:
                missing.append(f"{asked.method} {asked.url}")
                raise InvalidInput(f"{_NO_FIXTURE} {missing[-1]}", code="no_fixture")
            return found

        broker.approve(needs.hosts, fetch=answer_request)
        with ExitStack() as samples:
            folders = {
                name: samples.enter_context(_written(files))
                for name, files in fixtures.folders.items()
                if needs.folders[name] == "read"
            }
            return run_program(
                sandbox,
                tried,
                values,
                limits=limits(),
                folders=folders,
                files=fixtures.files,
                answer=broker.answer,
                cancel=cancel,
            )

    def run_called(name: str, values: dict[str, Any], below: Broker) -> RunOutcome:
        found = find_called(name)
        if found is None:
            return RunOutcome(ok=False, error=f"no skill is called {name}")
        try:
            return run(found, values, below)
        except InvalidInput as error:
            return RunOutcome(ok=False, error=fit_summary(error.message))

    outcome = run(program, payload, Broker(tool_name(program.slug), run_skill=run_called))
    if not missing:
        return outcome
    # Whatever the program made of it: what it did without an answer shows nothing.
    return replace(outcome, ok=False, error=fit_summary(f"{_NO_FIXTURE} {missing[0]}"))


@contextmanager
def _written(files: Mapping[str, bytes]) -> Iterator[str]:
    """Write sample files into a folder of the host, which any user can read."""
    with tempfile.TemporaryDirectory(prefix="brain-sample-") as name:
        os.chmod(name, 0o755)
        for path, content in files.items():
            target = Path(name, path)
            for folder in reversed(target.relative_to(name).parents[:-1]):
                Path(name, folder).mkdir(mode=0o755, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o644)
        yield name


def _describe(kind: str, number: int, case: TestCase, outcome: RunOutcome) -> TriedCase:
    payload_text = _encode(case.payload)
    detail = outcome.error
    if outcome.ok:
        detail = (
            case.refuse(outcome.output)
            if is_meaningful(outcome.output)
            else "its output says nothing: it is empty or null"
        )
    # A made payload may be none that the program is for: what refuses it, says so.
    tells = outcome.refused or outcome.raised or outcome.ok
    passed = not detail or (kind == "unseen" and tells and not detail.startswith("MemoryError"))
    has_output = outcome.ok and not (kind == "unseen" and detail)
    output_text = _encode(outcome.output) if has_output else b""
    return TriedCase(
        case=VerdictCase(
            kind=kind,
            name=f"{kind} {number}",
            outcome="pass" if passed else "fail",
            payload=blob_id(payload_text),
            output=blob_id(output_text) if has_output else NO_DIGEST,
            detail=fit_summary(detail),
            took=outcome.wall_ms,
        ),
        payload=case.payload,
        output=outcome.output,
        contents=(payload_text, *([output_text] if has_output else [])),
    )


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "backslashreplace")


UNSEEN_PAYLOADS = 8
"""Payloads that the author never saw."""
_BATCHES = 3
"""More are tried while too few of them are answered, or a stub is left."""
MAX_TRIAL_SECONDS = 300.0
_TRIAL_FACTOR = 10
_BARE_ASSERTION = "AssertionError:"
_REFUSES = "; it refuses most payloads that the schema allows: narrow it, or give examples in it"
_OTHER_OUTPUT = "author 1: it gave another output when it ran again with the same payload"
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


def try_program(
    sandbox: Sandbox,
    program: Program,
    *,
    seed: int,
    decided_by: str,
    code_profile: str = ADVICE,
    limits: SandboxLimits = DEFAULT_LIMITS,
    max_seconds: float = MAX_TRIAL_SECONDS,
    find_called: FindCalled = lambda _: None,
    cancel: Event | None = None,
) -> Trial:
    """Try a program; the verdict is to admit it if every case passed, else to reject it.

    The same seed gives the same unseen payloads. Its fixtures answer its requests, and
    `find_called`, which must take calls from two threads, gives the programs of skills that it
    calls. What `check_code` finds is advice. A trial that takes longer than `max_seconds`, or ten
    times the minutes that it needs, rejects the program. Raises `InvalidInput` for tests, a schema,
    needs or fixtures that cannot be read, and `SandboxError`, also if `cancel` was set
    (`cancelled`).
    """
    watched = WatchedSandbox(sandbox)
    course = _Course(watched, program, limits, find_called, cancel)
    course.findings = check_code(program.code, code_profile, name=tool_name(program.slug))
    try:
        parse_code(program.code)
    except CodeFault as fault:
        course.reason = fault.message
    else:
        course.try_all(seed, max(max_seconds, _TRIAL_FACTOR * 60 * read_needs(program).minutes))
    refused = refuse_program(course.program, course.reason, decided_by, code_profile)
    sandbox_name, applied, versions = watched.describe_wall()
    verdict = refused.verdict._replace(
        decision="reject" if course.reason else "admit",
        reason=course.reason,
        findings=tuple(course.findings),
        sandbox=sandbox_name,
        limits=applied,
        versions=(*refused.verdict.versions, *versions),
        seed=seed,
        cases=tuple(row.case for row in course.rows),
    )
    contents = tuple(dict.fromkeys(text for row in course.rows for text in row.contents))
    return Trial(verdict=verdict, contents=contents, program=course.program)


def refuse_program(
    program: Program, reason: str, decided_by: str, code_profile: str = ADVICE
) -> Trial:
    """Return the verdict that rejects a program which was not tried, and why."""
    findings = check_code(program.code, code_profile, name=tool_name(program.slug))
    verdict = Verdict(
        decision="reject",
        skill=program.slug,
        decider="rule",
        decided_by=decided_by,
        reason=fit_summary(reason),
        files=tuple(ProgramFile(*row) for row in program.blobs),
        code_check=code_profile,
        findings=tuple(findings),
        versions=(NamedText("brain", __version__),),
    )
    return Trial(verdict=verdict, contents=(), program=program)


class _Course:
    """One trial, step by step, until a step fails; what was tried is in `rows` whatever happens."""

    def __init__(
        self,
        sandbox: Sandbox,
        program: Program,
        limits: SandboxLimits,
        find_called: FindCalled,
        cancel: Event | None,
    ) -> None:
        self.program = program
        self.rows: Sequence[TriedCase] = ()
        self.findings: list[str] = []
        self.reason = ""
        self._sandbox = sandbox
        self._limits = limits
        self._max_seconds = self._deadline = 0.0
        self._find_called = find_called
        self._cancel = cancel

    def try_all(self, seed: int, max_seconds: float) -> None:
        """Go through the trial."""
        self._max_seconds, self._deadline = max_seconds, time.monotonic() + max_seconds
        cases = parse_cases(self._require_file(CASES_FILE))
        try:
            self.program = complete_program(self._sandbox, self.program, limits=self._limits)
            self._try_steps(cases, seed)
        except InvalidInput as error:
            if error.code not in _CHECK_FAULTS:
                raise
            self.reason = fit_summary(error.message)
        self.reason = self.reason or self._find_lateness()
        raise_if_cancelled(self._cancel)

    def _try_steps(self, cases: Sequence[TestCase], seed: int) -> None:
        schema = parse_schema(self._require_file(SCHEMA_FILE))
        _require_fitting(schema, cases)
        # 1. The cases of the author, and the first of them again.
        *outcomes, again = self._run_all([*cases, cases[0]])
        ran = zip(cases, outcomes, strict=True)
        authored = [_describe("author", number, *one) for number, one in enumerate(ran, 1)]
        if self._stops(authored):
            return
        if not (again.ok and equal_json(authored[0].output, again.output)):
            self.findings = [*self.findings, _OTHER_OUTPUT]
        # 2. Payloads that the author never saw; where there are no others, the seen ones again.
        seen = [case.payload for case in cases]
        made = make_payloads(schema, seen, seed, _BATCHES * UNSEEN_PAYLOADS)
        payloads = made or (seen[:UNSEEN_PAYLOADS] if schema.get("properties") else [])
        unseen: list[TriedCase] = []
        checked, survivors = authored, set[str]()
        stubs: list[Stub] = []
        for first in range(0, max(len(payloads), 1), UNSEEN_PAYLOADS):
            batch = [TestCase(payload=one) for one in payloads[first : first + UNSEEN_PAYLOADS]]
            ran = zip(batch, self._run_all(batch), strict=True)
            # a run for which a fixture is missing shows nothing of the program
            shown = (one for one in ran if not one[1].error.startswith(_NO_FIXTURE))
            numbered = enumerate(shown, first + 1)
            unseen += [_describe("unseen", number, *one) for number, one in numbered]
            if self._stops([*authored, *unseen]):
                return
            # 3. One run of the check for all outputs, the true ones among those of the stubs.
            stubs = build_stubs(
                [(row.payload, row.output) for row in authored], all_seen=not made or not unseen
            )
            checked, survivors = self._check_all(cases, [*authored, *unseen], stubs, seed)
            if self._stops(checked):
                return
            answered = sum(row.is_answered for row in unseen)
            if not survivors and 2 * answered >= min(len(unseen), UNSEEN_PAYLOADS):
                break
        # 4. The stubs, and whether the program is of use beyond the payloads of its author.
        if 2 * sum(row.is_answered for row in unseen) < min(len(unseen), UNSEEN_PAYLOADS):
            checked = [
                row if row.is_answered else row.failed(f"{row.case.detail}{_REFUSES}")
                for row in checked
            ]
        ends = {True: ("fail", "the tests take it for the skill"), False: ("pass", "")}
        for stub in stubs:
            outcome, detail = ends[stub.name in survivors]
            name = fit_summary(stub.name)
            case = VerdictCase(kind="stub", name=name, outcome=outcome, detail=detail)
            checked.append(TriedCase(case=case, payload={}))
        self._stops(checked)

    def _run_all(self, cases: Sequence[TestCase]) -> list[RunOutcome]:
        with ThreadPoolExecutor(_PARALLEL_RUNS, thread_name_prefix="trial") as pool:
            return list(pool.map(self._run, cases))

    def _run(self, case: TestCase) -> RunOutcome:
        raise_if_cancelled(self._cancel)
        if late := self._find_lateness():
            return RunOutcome(ok=False, error=late)
        return run_over_fixtures(
            self._sandbox,
            self.program,
            case.payload,
            limits=self._limits_left,
            find_called=self._find_called,
            cancel=self._cancel,
        )

    def _find_lateness(self) -> str:
        is_over = time.monotonic() > self._deadline
        return f"the trial took longer than {self._max_seconds:g} s" if is_over else ""

    def _limits_left(self) -> SandboxLimits:
        left = max(self._deadline - time.monotonic(), _MIN_SECONDS)
        return replace(self._limits, wall_seconds=min(self._limits.wall_seconds, left))

    def _check_all(
        self,
        cases: Sequence[TestCase],
        rows: Sequence[TriedCase],
        stubs: Sequence[Stub],
        seed: int,
    ) -> tuple[list[TriedCase], set[str]]:
        """Return the rows, those failed that the check refuses, and the stubs that it takes."""
        answered = [row for row in rows if row.is_answered]
        refused: dict[str, str] = {}

        def check_all(stub_rows: list[tuple[Any, Any]]) -> list[str]:
            true_rows = [(row.payload, row.output) for row in answered]
            reasons = self._check_mixed([*true_rows, *stub_rows], seed)
            names = [row.case.name for row in answered]
            refused.update((name, why) for name, why in zip(names, reasons, strict=False) if why)
            return reasons[len(true_rows) :]

        unseen = [row.payload for row in answered if row.case.kind == "unseen"]
        survivors = find_survivors(stubs, cases, unseen, check_all)
        return [
            row.failed(_describe_refusal(row, refused[row.case.name]))
            if row.case.name in refused
            else row
            for row in rows
        ], survivors

    def _check_mixed(self, rows: list[tuple[Any, Any]], seed: int) -> list[str]:
        """Check outputs in an order that does not tell which are the program's."""
        check = self.program.files.get(CHECK_FILE)
        if check is None:
            return [""] * len(rows)
        raise_if_cancelled(self._cancel)
        order = list(range(len(rows)))
        random.Random(seed).shuffle(order)
        mixed, limits = [rows[at] for at in order], self._limits_left()
        reasons = check_outputs(self._sandbox, check, mixed, limits=limits, cancel=self._cancel)
        return [reason for _, reason in sorted(zip(order, reasons, strict=True))]

    def _stops(self, rows: Sequence[TriedCase]) -> bool:
        """Note the rows; tell whether one of them failed, which ends the trial."""
        self.rows = rows
        failed = next((row.case for row in rows if row.case.outcome == "fail"), None)
        if failed is not None:
            self.reason = _explain(failed)
        return failed is not None

    def _require_file(self, path: str) -> bytes:
        if path not in self.program.files:
            raise InvalidInput(
                f"{self.program.slug} has no {path}",
                code="no_tests",
                hint="a skill that runs needs skill.py, schema.json and tests/cases.json",
            )
        return self.program.files[path]


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
