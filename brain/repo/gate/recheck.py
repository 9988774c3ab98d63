"""Derive the verdict of a gate again, from what came out then: nothing is asked of a network.

1. Each stored output is compared with what its case expects, once more.
2. The gate decides by these outcomes, and the result is compared with what the verdict says.
3. Where `rerun` is given, each case runs again, without the change and with it.

An error has no output to judge: only running again shows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...errors import SandboxError, printable_text
from ...gating.case_files import Case
from ...gating.decision import GateDecision
from ...gating.held_out import hash_input
from ...gating.output_check import find_fault
from ...results import Recheck, RecheckedCase, RecheckedNumber
from ...sandbox.sandbox_protocol import Sandbox
from ...verdicts.gate_numbers import state_numbers
from ...verdicts.gate_rules import (
    decide_rows,
    find_gate_contradictions,
    find_max_rounds,
    row_of_case,
)
from ...verdicts.verdict_types import Verdict, VerdictCase
from .find_verdict import FoundVerdict, StoredCase
from .judge_outputs import FAILED, UNJUDGED, OutputJudge

UNKNOWN, ERROR = UNJUDGED, "e"
MAX_SECONDS = 1800.0
"""How long checks and programs may run in one recheck: as long as one attempt of a gate."""

_NOT_CHECKED = "its check did not run on all outputs: the time for checks is over"

Rerun = Callable[[Case], Sequence[bytes | None]]
"""Runs a case without the change and with it; returns both outputs, None for an error.

Returns nothing for a case that cannot run again.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckTools:
    """`read_case` reads what is stored of a case; `find_sandbox` is called only for a check.

    `rerun` is None if nothing runs again; `not_run` says why, if that was wanted. `seconds` are
    what checks and programs may take in all.
    """

    read_case: Callable[[VerdictCase], StoredCase]
    find_sandbox: Callable[[], Sandbox]
    rerun: Rerun | None = None
    not_run: str = ""
    seconds: float = MAX_SECONDS


def recheck_verdict(found: FoundVerdict, tools: RecheckTools) -> Recheck:
    """Derive a verdict again, and say where it differs."""
    verdict = found.verdict
    judge, inputs = _Judge(tools), _Inputs()
    cases = [
        _recheck_case(judge, tools, row, inputs.add(row, tools.read_case(row)))
        for row in verdict.gate_cases
    ]
    decision = _decide_again(verdict, cases)
    return Recheck(
        verdict=found.blob.hex(),
        snapshot=found.snapshot.hex(),
        slug=verdict.skill,
        decision=verdict.decision,
        decider=verdict.decider,
        decided_by=verdict.decided_by,
        runner=verdict.runner,
        gate=verdict.gate,
        found_gate=decision.gate if decision else "",
        numbers=_compare_numbers(verdict, decision),
        cases=cases,
        differences=list(_find_differences(verdict, cases, decision)),
        unknown=list(_find_unknown(cases, tools)),
    )


class _Judge:
    """Judges outputs as the gate did; what cannot be judged is `?`."""

    def __init__(self, tools: RecheckTools) -> None:
        self._deadline = time.monotonic() + tools.seconds
        self._judge = OutputJudge(tools.find_sandbox, self.time_left)

    def time_left(self) -> float:
        """Return the seconds of this recheck that are left."""
        return self._deadline - time.monotonic()

    def judge(self, case: Case, outputs: Sequence[bytes | None]) -> tuple[list[str], str]:
        """Return a letter for each output, and why some could not be judged."""
        known = [output for output in outputs if output is not None]
        try:
            letters = self._judge.judge(case, known)
            problem = _NOT_CHECKED if UNJUDGED in letters else ""
        except SandboxError as error:
            letters = [FAILED if find_fault(case, output) else UNKNOWN for output in known]
            problem = f"its check did not run: {error.message}" if UNKNOWN in letters else ""
        judged = iter(letters)
        return [UNKNOWN if output is None else next(judged) for output in outputs], problem


class _Inputs:
    """The inputs of the cases of a verdict: the same one twice would count twice."""

    def __init__(self) -> None:
        self._first: dict[bytes, str] = {}

    def add(self, row: VerdictCase, stored: StoredCase) -> StoredCase:
        """Return what is stored of a case, with a fault if an earlier one has its input."""
        if row.kind != "held_out":
            return stored
        known = hash_input(stored.case.input) if stored.case else row.document
        other = self._first.setdefault(known, row.name)
        if other == row.name:
            return stored
        return replace(stored, fault=f"it has the same input as {printable_text(other)}")


def _recheck_case(
    judge: _Judge, tools: RecheckTools, row: VerdictCase, stored: StoredCase
) -> RecheckedCase:
    said = [letter for pair in zip(row.before, row.after, strict=True) for letter in pair]
    found, problem = [UNKNOWN] * len(said), stored.fault or stored.missing
    ran: list[str] = []
    if stored.case is not None:
        judged = [
            None if letter == ERROR else output
            for letter, output in zip(said, stored.outputs, strict=True)
        ]
        found, not_judged = judge.judge(stored.case, judged)
        problem = problem or not_judged
        if tools.rerun is not None:
            ran, not_run = _run_again(judge, tools.rerun, stored.case)
            problem = problem or not_run
    found = [ERROR if letter == ERROR else new for letter, new in zip(said, found, strict=True)]
    pairs = [*zip(said, found, strict=True), *zip(said, ran * (len(said) // 2), strict=False)]
    return RecheckedCase(
        path=row.name,
        kind=row.kind,
        state=_compare(pairs, stored.fault, problem),
        before=row.before,
        after=row.after,
        found_before="".join(found[::2]),
        found_after="".join(found[1::2]),
        ran_before="".join(ran[:1]),
        ran_after="".join(ran[1:]),
        problem=problem,
    )


def _compare(pairs: Sequence[tuple[str, str]], fault: str, problem: str) -> str:
    """Return how outcomes that a verdict says, each with the one found, compare."""
    if fault or any(new not in (old, UNKNOWN) for old, new in pairs):
        return "differs"
    return "unknown" if problem or any(new == UNKNOWN for _, new in pairs) else "same"


def _run_again(judge: _Judge, rerun: Rerun, case: Case) -> tuple[list[str], str]:
    if judge.time_left() <= 0:
        return [UNKNOWN, UNKNOWN], "it did not run again: the time of this recheck is over"
    try:
        outputs = rerun(case)
    except SandboxError as error:
        return [UNKNOWN, UNKNOWN], f"it did not run again: {error.message}"
    if not outputs:
        return [], ""
    letters, problem = judge.judge(case, outputs)
    pairs = zip(letters, outputs, strict=True)
    return [ERROR if output is None else letter for letter, output in pairs], problem


def _decide_again(verdict: Verdict, cases: Sequence[RecheckedCase]) -> GateDecision | None:
    """Return the decision by the outcomes found; what is not known counts as the verdict says."""
    rows = [
        replace(
            row_of_case(row),
            before=_fill(case.found_before, row.before),
            after=_fill(case.found_after, row.after),
        )
        for row, case in zip(verdict.gate_cases, cases, strict=True)
    ]
    return decide_rows(rows, find_max_rounds(verdict))


def _fill(found: str, said: str) -> str:
    return "".join(b if a == UNKNOWN else a for a, b in zip(found, said, strict=True))


def _compare_numbers(verdict: Verdict, decision: GateDecision | None) -> list[RecheckedNumber]:
    if decision is None:
        return []
    said = dict(verdict.numbers)
    found = state_numbers(decision, find_max_rounds(verdict))
    return [RecheckedNumber(name, said.get(name), value) for name, value in found]


def _find_differences(
    verdict: Verdict, cases: Sequence[RecheckedCase], decision: GateDecision | None
) -> Iterator[str]:
    yield from find_gate_contradictions(verdict)
    if wrong := sum(case.state == "differs" for case in cases):
        noun = "case has" if wrong == 1 else "cases have"
        yield f"{wrong} {noun} another outcome"
    if decision is not None and decision.gate != verdict.gate:
        yield f"by what came out, the gate says {decision.gate}, not {verdict.gate}"


def _find_unknown(cases: Sequence[RecheckedCase], tools: RecheckTools) -> Iterator[str]:
    for case in cases:
        if case.state == "unknown":
            yield f"{printable_text(case.path)}: {case.problem}"
    if tools.not_run:
        yield tools.not_run
