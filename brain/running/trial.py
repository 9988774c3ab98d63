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
from dataclasses import asdict, dataclass, field, replace
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
from ..programs.probes import Answer, build_stubs, find_survivors, make_payloads
from ..programs.program import Program, fit_summary, tool_name
from ..programs.python_code import CodeFault, parse_code
from ..programs.test_cases import TestCase, parse_cases
from ..sandbox.job import DEFAULT_LIMITS, Sandbox, SandboxLimits
from ..util.json_schema import equal_json
from ..verdicts.verdict import NamedNumber, NamedText, ProgramFile, Verdict, VerdictCase
from .broker import Broker
from .run import RunOutcome, check_outputs, complete_program, run_program, widen_limits

_PARALLEL_RUNS = 2
_MIN_SECONDS = 0.05
_NO_FIXTURE = "no fixture covers"
FindCalled = Callable[[str], Program | None]
"""Returns the program of a skill that another one calls, by the name of its tool."""


@dataclass(slots=True, kw_only=True)
class Trial:
    """A verdict, the contents of the blobs that it names, and the program that it is about.

    That has a schema.json made from its definition, if it came without.
    """

    verdict: Verdict
    contents: tuple[bytes, ...] = ()
    program: Program


@dataclass(slots=True, kw_only=True)
class _Row:
    """A case with its payload, its output, and the contents of the blobs that it names."""

    case: VerdictCase
    payload: dict[str, Any]
    output: Any = None
    contents: tuple[bytes, ...] = ()

    @property
    def is_answered(self) -> bool:
        return self.case.output != NO_DIGEST

    def fail(self, detail: str) -> None:
        self.case = self.case._replace(outcome="fail", detail=fit_summary(detail))


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


def _describe(kind: str, number: int, case: TestCase, outcome: RunOutcome) -> _Row:
    payload_text = _encode(case.payload)
    detail = case.refuse(outcome.output) if outcome.ok else outcome.error
    # A made payload may be none that the program is for: what refuses it, says so.
    tells = outcome.refused or outcome.raised or outcome.ok
    passed = not detail or (kind == "unseen" and tells and not detail.startswith("MemoryError"))
    has_output = outcome.ok and not (kind == "unseen" and detail)
    output_text = _encode(outcome.output) if has_output else b""
    return _Row(
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
    trial = refuse_program(program, "", decided_by, code_profile)
    trial.verdict = trial.verdict._replace(seed=seed)
    try:
        parse_code(program.code)
    except CodeFault as fault:
        trial.verdict = trial.verdict._replace(reason=fault.message)
        return trial
    needs = read_needs(program)
    max_seconds = max(max_seconds, _TRIAL_FACTOR * 60 * needs.minutes)
    course = _Course(
        sandbox=sandbox,
        trial=trial,
        limits=limits,
        max_seconds=max_seconds,
        deadline=time.monotonic() + max_seconds,
        find_called=find_called,
        cancel=cancel,
    )
    reason = course.try_all(seed)
    memory = " or ".join(sorted(course.memory - {""}))
    versions = dict(sandbox.profile.versions) | ({"memory": memory} if memory else {})
    asked = asdict(widen_limits(limits, needs))
    asked["wall_ms"] = 1000 * asked.pop("wall_seconds")
    trial.verdict = trial.verdict._replace(
        decision="reject" if reason else "admit",
        reason=reason,
        files=tuple(ProgramFile(*row) for row in trial.program.blobs),
        sandbox=sandbox.profile.name,
        limits=tuple(NamedNumber(name, round(asked[name])) for name in sorted(asked)),
        versions=(
            *trial.verdict.versions,
            *(NamedText(name, versions[name]) for name in sorted(versions)),
        ),
        cases=tuple(row.case for row in course.rows),
    )
    trial.contents = tuple(dict.fromkeys(text for row in course.rows for text in row.contents))
    return trial


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
    return Trial(verdict=verdict, program=program)


@dataclass(slots=True, kw_only=True)
class _Course:
    """The steps of a trial, until one fails; what was tried is in `rows` whatever happens."""

    sandbox: Sandbox
    trial: Trial
    limits: SandboxLimits
    max_seconds: float
    deadline: float
    find_called: FindCalled
    cancel: Event | None
    rows: list[_Row] = field(default_factory=list)
    memory: set[str] = field(default_factory=set)
    """What limited the memory of the runs."""

    def try_all(self, seed: int) -> str:
        """Go through the trial. Return why it failed, "" if it did not."""
        cases = parse_cases(self._require_file(CASES_FILE))
        reason = ""
        try:
            self.trial.program = complete_program(
                self.sandbox, self.trial.program, limits=self.limits
            )
            self._try_steps(cases, seed)
        except InvalidInput as error:
            if error.code not in _CHECK_FAULTS:
                raise
            reason = fit_summary(error.message)
        reason = reason or self._find_failure() or self._find_lateness()
        raise_if_cancelled(self.cancel)
        return reason

    def _try_steps(self, cases: Sequence[TestCase], seed: int) -> None:
        schema = parse_schema(self._require_file(SCHEMA_FILE))
        _require_fitting(schema, cases)
        # 1. The cases of the author, and the first of them again.
        *outcomes, again = self._run_all([*cases, cases[0]])
        ran = zip(cases, outcomes, strict=True)
        authored = [_describe("author", number, *one) for number, one in enumerate(ran, 1)]
        self.rows += authored
        if self._find_failure():
            return
        if not (again.ok and equal_json(authored[0].output, again.output)):
            verdict = self.trial.verdict
            self.trial.verdict = verdict._replace(findings=(*verdict.findings, _OTHER_OUTPUT))
        # 2. Payloads that the author never saw; where there are no others, the seen ones again.
        seen = [case.payload for case in cases]
        made = make_payloads(schema, seen, seed, _BATCHES * UNSEEN_PAYLOADS)
        payloads = made or (seen[:UNSEEN_PAYLOADS] if schema.get("properties") else [])
        stubs: dict[str, Answer] = {}
        for first in range(0, max(len(payloads), 1), UNSEEN_PAYLOADS):
            batch = [TestCase(payload=one) for one in payloads[first : first + UNSEEN_PAYLOADS]]
            ran = zip(batch, self._run_all(batch), strict=True)
            # a run for which a fixture is missing shows nothing of the program
            shown = (one for one in ran if not one[1].error.startswith(_NO_FIXTURE))
            self.rows += [_describe("unseen", at, *one) for at, one in enumerate(shown, first + 1)]
            if self._find_failure():
                return
            # 3. One run of the check for all outputs, the true ones among those of the stubs.
            unseen = self.rows[len(authored) :]
            stubs = build_stubs(
                [(row.payload, row.output) for row in authored], all_seen=not made or not unseen
            )
            survivors = self._check_all(cases, stubs, seed)
            if self._find_failure():
                return
            answered = sum(row.is_answered for row in unseen)
            is_of_use = 2 * answered >= min(len(unseen), UNSEEN_PAYLOADS)
            if not survivors and is_of_use:
                break
        # 4. The stubs, and whether the program is of use beyond the payloads of its author.
        for row in self.rows:
            if not is_of_use and not row.is_answered:
                row.fail(f"{row.case.detail}{_REFUSES}")
        ends = {True: ("fail", "the tests pass for it, too"), False: ("pass", "")}
        for name in stubs:
            outcome, detail = ends[name in survivors]
            label = fit_summary(name)
            case = VerdictCase(kind="stub", name=label, outcome=outcome, detail=detail)
            self.rows.append(_Row(case=case, payload={}))

    def _run_all(self, cases: Sequence[TestCase]) -> list[RunOutcome]:
        with ThreadPoolExecutor(_PARALLEL_RUNS, thread_name_prefix="trial") as pool:
            outcomes = list(pool.map(self._run, cases))
        self.memory |= {outcome.memory for outcome in outcomes}
        return outcomes

    def _run(self, case: TestCase) -> RunOutcome:
        raise_if_cancelled(self.cancel)
        if late := self._find_lateness():
            return RunOutcome(ok=False, error=late)
        return run_over_fixtures(
            self.sandbox,
            self.trial.program,
            case.payload,
            limits=self._limits_left,
            find_called=self.find_called,
            cancel=self.cancel,
        )

    def _find_lateness(self) -> str:
        is_over = time.monotonic() > self.deadline
        return f"the trial took longer than {self.max_seconds:g} s" if is_over else ""

    def _limits_left(self) -> SandboxLimits:
        left = max(self.deadline - time.monotonic(), _MIN_SECONDS)
        return replace(self.limits, wall_seconds=min(self.limits.wall_seconds, left))

    def _check_all(
        self, cases: Sequence[TestCase], stubs: Mapping[str, Answer], seed: int
    ) -> set[str]:
        """Fail the rows that the check refuses, and return the names of the stubs it takes."""
        answered = [row for row in self.rows if row.is_answered]

        def check_all(stub_rows: list[tuple[Any, Any]]) -> list[str]:
            true_rows = [(row.payload, row.output) for row in answered]
            reasons = self._check_mixed([*true_rows, *stub_rows], seed)
            for row, reason in zip(answered, reasons, strict=False):
                if reason:
                    row.fail(_describe_refusal(row, reason))
            return reasons[len(true_rows) :]

        unseen = [row.payload for row in answered if row.case.kind == "unseen"]
        return find_survivors(stubs, cases, unseen, check_all)

    def _check_mixed(self, rows: list[tuple[Any, Any]], seed: int) -> list[str]:
        """Check outputs in an order that does not tell which are the program's."""
        check = self.trial.program.files.get(CHECK_FILE)
        if check is None:
            return [""] * len(rows)
        raise_if_cancelled(self.cancel)
        order = list(range(len(rows)))
        random.Random(seed).shuffle(order)
        mixed, limits = [rows[at] for at in order], self._limits_left()
        reasons = check_outputs(self.sandbox, check, mixed, limits=limits, cancel=self.cancel)
        return [reason for _, reason in sorted(zip(order, reasons, strict=True))]

    def _find_failure(self) -> str:
        """Return what ends the trial: why the first case that failed did so, "" if none failed."""
        failed = next((row.case for row in self.rows if row.case.outcome == "fail"), None)
        if failed is None:
            return ""
        if failed.kind == "stub":
            return (
                f"the tests also pass for a program that prints {failed.name}. Write "
                "check(payload, output) in tests/check.py so that it raises for every wrong "
                "output, whatever the payload"
            )
        return fit_summary(f"{failed.name}: {failed.detail}")

    def _require_file(self, path: str) -> bytes:
        program = self.trial.program
        if path not in program.files:
            raise InvalidInput(
                f"{program.slug} has no {path}",
                code="no_tests",
                hint="a skill that runs needs skill.py, schema.json and tests/cases.json",
            )
        return program.files[path]


def _describe_refusal(row: _Row, reason: str) -> str:
    if reason.strip() != _BARE_ASSERTION:
        return reason
    output, payload = (printable_text(json.dumps(x), 60) for x in (row.output, row.payload))
    return f"{CHECK_FILE} refuses the output {output} for {payload}"


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
