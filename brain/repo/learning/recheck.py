"""Derive the verdict of a gate again, from what came out then: nothing is asked of a network.

1. Each stored output is compared with what its case expects, once more.
2. The gate decides by these outcomes, and the result is compared with what the verdict says.
3. Where it is asked for, each case runs again, without the change and with it.

An error has no output to judge: only running again shows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from threading import RLock

from ...digest import NO_DIGEST, is_hex_digest
from ...errors import BrainError, InvalidInput, NotFound, SandboxError, printable_text
from ...gating.case_files import MAX_CASE_BYTES, Case, parse_case
from ...gating.case_paths import slug_of_case
from ...gating.decision import MAX_SCORE, CaseRow, GateDecision
from ...gating.held_out import hash_input
from ...gating.output_check import find_fault, score_outcome
from ...objects.operation import DECISION_KINDS, evidence_blob
from ...ops.log import find_decisions, find_rejections
from ...results import Recheck, RecheckedCase, RecheckedNumber, SkillDecision
from ...sandbox.job import DEFAULT_LIMITS, Sandbox
from ...skills.slug import is_slug
from ...verdicts.verdict import Verdict, VerdictCase, read_verdict_state
from ...verdicts.verdict_rules import (
    decide_again,
    find_gate_contradictions,
    row_of_case,
    say_provisional,
    state_again,
)
from ..provisional import find_first
from ..session import REJECTED_REF_PREFIX, Session
from .change import SkillsAt
from .rounds import AND, FAILED, SANDBOX_RUNNER, UNJUDGED, OutputJudge, SandboxRunner, kind_of_case

_MAX_OUTPUT_BYTES = DEFAULT_LIMITS.output_bytes
"""Size of an output that is judged; no sandbox gives more."""
_STATES = {
    "redacted": "was redacted",
    "missing": "is missing from the store",
    "foreign": "cannot be read: see `brain verify`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundVerdict:
    """A verdict of a gate, and the snapshot that it decides: empty if no decision here has it."""

    blob: bytes
    verdict: Verdict
    snapshot: bytes = NO_DIGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCase:
    """What is stored of a case, and its outputs: None for each that cannot be read.

    `fault` says that the document is not what the verdict says, `missing` what cannot be read, each
    "" if all is well. `case` is None if the document cannot be read.
    """

    case: Case | None = None
    fault: str = ""
    missing: str = ""
    outputs: tuple[bytes | None, ...] = field(repr=False)


def find_gate_verdict(session: Session, target: str) -> FoundVerdict:
    """Return the verdict that `target` names.

    That is its blob id, an attempt as `SLUG/ID`, the slug of a skill for the last decision of a
    gate about it, or a revision. Raises `NotFound` (`no_verdict`), or as `Session.resolve`.
    """
    if is_hex_digest(target):
        blob = bytes.fromhex(target)
        state, verdict = read_verdict_state(session.reader, blob)
        if verdict is not None or state == "redacted":
            verdict = _require_verdict(session, blob, f"the verdict {target[:12]}")
            decided = _list_decisions(session, verdict.skill)
            here = next((one.snapshot for one in decided if one.blob == target), "")
            return FoundVerdict(blob=blob, verdict=verdict, snapshot=bytes.fromhex(here))
    found = session.reader.read_ref(REJECTED_REF_PREFIX + target) if "/" in target else None
    if found is None and is_slug(target):
        decided = _list_decisions(session, target)
        by_gates = (one for one in decided if one.verdict is not None and "gate" in one.verdict)
        unread = (one for one in decided if one.verdict is None)
        if last := next(by_gates, None) or next(unread, None):
            found = bytes.fromhex(last.snapshot)
    try:
        found = found or session.resolve(target)
    except InvalidInput as error:
        if error.code != "bad_revision" or not is_slug(target):
            raise
        raise NotFound(
            f"no gate has decided about {target} here",
            code="no_verdict",
            hint="a proposed change counts once it is accepted: see `brain proposal list`",
        ) from error
    operation = session.load_snapshot(found).operation
    if operation[0] not in DECISION_KINDS:
        raise _no_verdict_error(f"snapshot {found.hex()[:12]} decides about no skill")
    blob = evidence_blob(operation)
    verdict = _require_verdict(session, blob, f"the verdict of snapshot {found.hex()[:12]}")
    return FoundVerdict(blob=blob, verdict=verdict, snapshot=found)


def _list_decisions(session: Session, slug: str) -> list[SkillDecision]:
    found = [*find_decisions(session, slug), *find_rejections(session, slug)]
    return sorted(found, key=attrgetter("time"), reverse=True)


def _require_verdict(session: Session, blob: bytes, what: str) -> Verdict:
    state, verdict = read_verdict_state(session.reader, blob)
    if verdict is None:
        raise _no_verdict_error(f"{what} {_STATES[state]}")
    if not verdict.gate:
        raise _no_verdict_error(f"{what} is not one of a gate: no held-out case was tried")
    return verdict


def _no_verdict_error(message: str) -> NotFound:
    return NotFound(
        message,
        code="no_verdict",
        hint="`brain why SKILL` lists the decisions about a skill with their snapshots",
    )


def _read_stored_case(session: Session, row: VerdictCase) -> StoredCase:
    outputs = tuple(_read_blob(session, blob, _MAX_OUTPUT_BYTES)[0] for blob in row.outputs)
    content, problem = _read_blob(session, row.document, MAX_CASE_BYTES)
    if content is None:
        return StoredCase(missing=f"its document {problem}", outputs=outputs)
    try:
        case = parse_case(slug_of_case(row.name), row.name, row.document, content)
    except BrainError as error:
        return StoredCase(fault=error.message, outputs=outputs)
    missing = ""
    if None in outputs:
        blob = row.outputs[outputs.index(None)]
        missing = f"an output {_read_blob(session, blob, _MAX_OUTPUT_BYTES)[1]}"
    fault = "" if case.is_held_out else "the hash of its input does not hold it out"
    return StoredCase(case=case, fault=fault, missing=missing, outputs=outputs)


def _read_blob(session: Session, blob: bytes, max_bytes: int) -> tuple[bytes | None, str]:
    reader = session.reader
    if reader.find_redactions([blob]):
        return None, _STATES["redacted"]
    if reader.find_missing([blob]):
        return None, _STATES["missing"]
    if reader.blob_size(blob) > max_bytes:
        return None, f"has more than {max_bytes} bytes"
    return reader.read_blob(blob), ""


UNKNOWN, ERROR = UNJUDGED, "e"
MAX_SECONDS = 1800.0
"""How long checks and programs may run in one recheck: as long as one attempt of a gate."""

_OTHER_SCORES = "by what came out, its scores are others"
_NOT_CHECKED = "its check did not run on all outputs: the time for checks is over"


class Rechecker:
    """Derives the verdicts of a gate again; `lock` keeps the session to one thread at a time.

    `find_sandbox` is called only for a check or a program, which may take `seconds` in all.
    """

    def __init__(
        self,
        session: Session,
        lock: RLock,
        find_sandbox: Callable[[], Sandbox],
        seconds: float = MAX_SECONDS,
    ) -> None:
        self._deadline = time.monotonic() + seconds
        self._session = session
        self._lock = lock
        self._find_sandbox = find_sandbox
        self._outputs = OutputJudge(find_sandbox, self._time_left)
        self._sides: list[SkillsAt] = []
        self._runs_all = True

    def _time_left(self) -> float:
        return self._deadline - time.monotonic()

    def recheck(self, found: FoundVerdict, *, run: bool = False) -> Recheck:
        """Derive a verdict again, and say where it differs; with `run`, programs run again too."""
        verdict = found.verdict
        not_run = self._open_sides(found) if run else ""
        first: dict[bytes, str] = {}
        checked = []
        for row in verdict.gate_cases:
            stored = self.read_case(row)
            if row.kind == "held_out":  # the same input twice would count twice
                known = hash_input(stored.case.input) if stored.case else row.document
                if (other := first.setdefault(known, row.name)) != row.name:
                    fault = f"it has the same input as {printable_text(other)}"
                    stored = replace(stored, fault=fault)
            checked.append(self._recheck_case(row, stored))
        cases = [case for case, _ in checked]
        decision = decide_again(verdict, [row for _, row in checked])
        said = dict(verdict.numbers)
        numbers = state_again(verdict, decision) if decision else ()
        unknown = [
            f"{printable_text(case.path)}: {case.problem}"
            for case in cases
            if case.state == "unknown"
        ]
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
            provisional=verdict.provisional,
            found_provisional=say_provisional(verdict, decision),
            numbers=[RecheckedNumber(one.name, said.get(one.name), one.value) for one in numbers],
            cases=cases,
            differences=list(_find_differences(verdict, cases, decision)),
            unknown=[*unknown, not_run] if not_run else unknown,
        )

    def read_case(self, row: VerdictCase) -> StoredCase:
        """Return what the store has of a case that a verdict names."""
        with self._lock:
            return _read_stored_case(self._session, row)

    def _open_sides(self, found: FoundVerdict) -> str:
        """Open what cases run on again; return why not all of them can, "" if they can.

        What a model answered cannot be had again, so only programs run.
        """
        verdict = found.verdict
        runners = verdict.runner.split(AND)
        if SANDBOX_RUNNER not in runners:
            return f"nothing ran again: the cases were run by {verdict.runner}"
        if not found.snapshot:
            return "nothing ran again: no snapshot here has this verdict"
        with self._lock:
            session, here = self._session, find_first(self._session, found.snapshot, verdict)
            states = session.parent_state(session.load_snapshot(here)), session.state_of(here)
        changes = states[0] != states[1]  # what an admission in place admits did not run before
        self._sides = [
            SkillsAt(self._lock, state, verdict.skill, has_own=has_own)
            for state, has_own in zip(states, (changes, True), strict=True)
        ]
        others = [runner for runner in runners if runner != SANDBOX_RUNNER]
        self._runs_all = not others
        return f"what was run by {others[0]} did not run again" if others else ""

    def _recheck_case(self, row: VerdictCase, stored: StoredCase) -> tuple[RecheckedCase, CaseRow]:
        said = [letter for pair in zip(row.before, row.after, strict=True) for letter in pair]
        found, problem = [UNKNOWN] * len(said), stored.fault or stored.missing
        ran: list[str] = []
        if stored.case is not None:
            judged = [
                None if letter == ERROR else output
                for letter, output in zip(said, stored.outputs, strict=True)
            ]
            found, not_judged = self._judge(stored.case, judged)
            ran, not_run = self._run_again(stored.case)
            problem = problem or not_judged or not_run
        found = [ERROR if letter == ERROR else new for letter, new in zip(said, found, strict=True)]
        pairs = [*zip(said, found, strict=True), *zip(said, ran * (len(said) // 2), strict=False)]
        scores = _score_again(row, stored, said, found)
        fault = stored.fault or (_OTHER_SCORES if scores != row.scores else "")
        problem = problem or fault
        filled = "".join(b if a == UNKNOWN else a for a, b in zip(found, said, strict=True))
        rechecked = RecheckedCase(
            path=row.name,
            kind=row.kind,
            state=_compare(pairs, fault, problem),
            before=row.before,
            after=row.after,
            found_before="".join(found[::2]),
            found_after="".join(found[1::2]),
            ran_before="".join(ran[:1]),
            ran_after="".join(ran[1:]),
            problem=problem,
        )
        return rechecked, replace(
            row_of_case(row), before=filled[::2], after=filled[1::2], scores=scores
        )

    def _judge(self, case: Case, outputs: Sequence[bytes | None]) -> tuple[list[str], str]:
        known = [output for output in outputs if output is not None]
        try:
            letters = self._outputs.judge(case, known)
            problem = _NOT_CHECKED if UNKNOWN in letters else ""
        except SandboxError as error:
            letters = [FAILED if find_fault(case, output) else UNKNOWN for output in known]
            problem = f"its check did not run: {error.message}" if UNKNOWN in letters else ""
        judged = iter(letters)
        return [UNKNOWN if output is None else next(judged) for output in outputs], problem

    def _run_again(self, case: Case) -> tuple[list[str], str]:
        """Run a case without the change and with it; return no letter if it cannot run again."""
        if not self._sides:
            return [], ""
        if self._time_left() <= 0:
            return [UNKNOWN, UNKNOWN], "it did not run again: the time of this recheck is over"
        try:
            runner = SandboxRunner(self._find_sandbox())
            if not self._runs_all and kind_of_case(self._sides[1], case) not in runner.kinds:
                return [], ""
            outputs = [runner.run(skills, case, 0) for skills in self._sides]
        except SandboxError as error:
            return [UNKNOWN, UNKNOWN], f"it did not run again: {error.message}"
        letters, problem = self._judge(case, [None if one.error else one.output for one in outputs])
        pairs = zip(letters, outputs, strict=True)
        return [ERROR if one.error else letter for letter, one in pairs], problem


def _score_again(
    row: VerdictCase, stored: StoredCase, said: Sequence[str], found: Sequence[str]
) -> tuple[int, ...]:
    """Return the scores by what came out; those that are not known as the verdict says them."""
    scores = list(row.scores or [MAX_SCORE * (letter == "p") for letter in said])
    for at, (letter, output) in enumerate(zip(found, stored.outputs, strict=True)):
        if stored.case is not None and letter != UNKNOWN and (output is not None or letter == "e"):
            scores[at] = score_outcome(stored.case, letter, output or b"")
    return tuple(scores) if any(0 < score < MAX_SCORE for score in scores) else ()


def _compare(pairs: Sequence[tuple[str, str]], fault: str, problem: str) -> str:
    if fault or any(new not in (old, UNKNOWN) for old, new in pairs):
        return "differs"
    return "unknown" if problem or any(new == UNKNOWN for _, new in pairs) else "same"


def _find_differences(
    verdict: Verdict, cases: Sequence[RecheckedCase], decision: GateDecision | None
) -> Iterator[str]:
    yield from find_gate_contradictions(verdict)
    if wrong := sum(case.state == "differs" for case in cases):
        noun = "case has" if wrong == 1 else "cases have"
        yield f"{wrong} {noun} another outcome"
    if decision is not None and decision.gate != verdict.gate:
        yield f"by what came out, the gate says {decision.gate}, not {verdict.gate}"
    word = say_provisional(verdict, decision)
    if decision is not None and word != verdict.provisional:
        yield f"by what came out, provisional is {word}, not {verdict.provisional}"
