"""What a trial says of a case follows from the outputs of that case alone, now and later."""

from dataclasses import dataclass, replace
from threading import RLock
from typing import cast

from hypothesis import example, given
from hypothesis import strategies as st

from brain.digest import blob_id
from brain.gating.case_files import Case, Expectation
from brain.gating.decision import DEFAULT_RULES
from brain.repo.learning.change import SkillsAt
from brain.repo.learning.recheck import FoundVerdict, Rechecker, StoredCase
from brain.repo.learning.rounds import (
    DEFAULT_LIMITS,
    CaseOutput,
    CaseRounds,
    OutputJudge,
)
from brain.repo.session import Session
from brain.verdicts.verdict import Verdict, VerdictCase, decode_verdict, encode_verdict
from brain.verdicts.verdict_rules import GateRecord, build_gate_verdict
from tests.support.gate_decisions import inputs_of_half
from tests.support.scripted_sandbox import CRASHES, HANGS, REFUSED, RIGHT, ScriptedSandbox

ERROR = "error"
LETTERS = {RIGHT: "p", REFUSED: "f", HANGS: "f", CRASHES: "f", ERROR: "e"}
OLD, NEW = (cast("SkillsAt", object()) for _ in range(2))

Row = tuple[tuple[str, ...], tuple[str, ...]]
"""What comes of a case in each round, without the change and with it."""


@dataclass(frozen=True)
class Table:
    """What comes of each case; `different` tells whether no two outputs are equal."""

    repeats_itself: bool
    rows: tuple[Row, ...]
    guards: int = 0
    different: bool = False


@st.composite
def tables(draw: st.DrawFn) -> Table:
    repeats_itself = draw(st.booleans())
    rounds = 1 if repeats_itself else DEFAULT_RULES.max_rounds
    weights = draw(st.sampled_from([tuple(LETTERS), (RIGHT, REFUSED), (RIGHT, HANGS)]))
    side = st.lists(st.sampled_from(weights), min_size=rounds, max_size=rounds).map(tuple)
    rows = tuple(draw(st.lists(st.tuples(side, side), min_size=1, max_size=9)))
    return Table(
        repeats_itself=repeats_itself,
        rows=rows,
        guards=draw(st.integers(0, len(rows) - 1)),
        different=draw(st.booleans()),
    )


class _TableRunner:
    """Gives what a table says."""

    name = "scripted"

    def __init__(self, table: Table, cases: list[Case]) -> None:
        self.repeats_itself = table.repeats_itself
        self._table = table
        self._places = {case.blob: at for at, case in enumerate(cases)}

    def find_obstacle(self, skills: SkillsAt, case: Case) -> str:
        return ""

    def run(self, skills: SkillsAt, case: Case, number: int) -> CaseOutput:
        at = self._places[case.blob]
        what = self._table.rows[at][skills is NEW][0 if self.repeats_itself else number]
        if what == ERROR:
            return CaseOutput(error="it crashed")
        suffix = f" {at} {number} {skills is NEW}" if self._table.different else ""
        return CaseOutput(output=f"{what}{suffix}".encode())


def _make_cases(table: Table) -> list[Case]:
    inputs = inputs_of_half(held_out=True)
    return [
        Case(
            skill="greet" if at >= table.guards else "part",
            name=f"c{at}",
            path=f"skills/{'greet' if at >= table.guards else 'part'}/cases/c{at}.yaml",
            blob=blob_id(bytes([at])),
            input=next(inputs),
            expect=Expectation(check="def check(input, output): ...\n"),
            is_held_out=True,
        )
        for at in range(len(table.rows))
    ]


def _try(table: Table, cases: list[Case]) -> GateRecord | str:
    sandbox = ScriptedSandbox()
    time_left = sandbox.time_left(DEFAULT_LIMITS.seconds)
    rounds = CaseRounds(
        runner=_TableRunner(table, cases),
        judge=OutputJudge(lambda: sandbox, time_left).judge,
        old=OLD,
        new=NEW,
        limits=DEFAULT_LIMITS,
        time_left=time_left,
    )
    return rounds.run(cases[table.guards :], cases[: table.guards])


def _record(table: Table, tried: GateRecord) -> tuple[Verdict, dict[bytes, bytes]]:
    """Return the verdict of a trial as it is read again, and the contents it names."""
    decision = "admit" if tried.decision.gate == "admit" else "reject"
    about = Verdict(decision=decision, skill="greet", decider="rule", decided_by="gate")
    about = about._replace(text=blob_id(b"text"))
    built = build_gate_verdict(replace(tried, attempt=1), about, "it is so")
    contents = {blob_id(content): content for content in built.contents}
    return decode_verdict(encode_verdict(built.verdict)), contents


class _Rechecker(Rechecker):
    """Reads cases and outputs from what is given, in no brain."""

    def __init__(self, cases: list[Case], contents: dict[bytes, bytes]) -> None:
        sandbox = ScriptedSandbox()
        super().__init__(cast("Session", None), RLock(), lambda: sandbox)
        self._cases = {case.path: case for case in cases}
        self._contents = contents

    def read_case(self, row: VerdictCase) -> StoredCase:
        outputs = tuple(self._contents[blob] for blob in row.outputs)
        return StoredCase(case=self._cases[row.name], outputs=outputs)


LOST = Table(repeats_itself=True, rows=(*([((REFUSED,), (RIGHT,))] * 6), ((RIGHT,), (HANGS,))))


@given(tables())
@example(LOST)
@example(Table(repeats_itself=True, rows=(((REFUSED,), (RIGHT,)),) * 2))
@example(Table(repeats_itself=True, rows=(((RIGHT,), (CRASHES,)),) * 6))
def test_no_row_changes_another_and_the_recorded_verdict_is_derived_again(table):
    cases = _make_cases(table)
    tried = _try(table, cases)
    if isinstance(tried, str):  # its checks were silent for too long
        assert any(HANGS in side for row in table.rows for side in row)
        return
    for one in tried.cases:
        at = cases.index(one.case)
        again = 2 if table.repeats_itself else 1  # what repeats itself is run twice
        before, after = (again * "".join(LETTERS[what] for what in side) for side in table.rows[at])
        rounds = len(one.row.before)
        assert (one.row.before, one.row.after) == (before[:rounds], after[:rounds])
    verdict, contents = _record(table, tried)
    found = _Rechecker(cases, contents).recheck(FoundVerdict(blob=b"", verdict=verdict))
    assert (found.differences, found.unknown, found.found_gate) == ([], [], verdict.gate)
    assert all(number.said == number.found for number in found.numbers)
