"""What a verdict says of the gate follows from its cases, or is a contradiction."""

from dataclasses import replace

import pytest

from brain.gating.decision import CaseRow
from brain.verdicts.verdict_rules import decide_rows, derive_gate_decision, find_contradictions
from brain.verdicts.verdict_types import NamedNumber, Verdict
from tests.support.decisions import admission, retirement
from tests.support.gate_decisions import (
    CASES,
    GUARD,
    build,
    gate_admission,
    gate_rejection,
    try_cases,
)


def noisy(before: str, after: str) -> Verdict:
    return build(try_cases([(path, before, after) for path in CASES], repeats_itself=False)).verdict


@pytest.mark.parametrize(
    "verdict", [gate_admission(), gate_rejection(), noisy("fffff", "ppppp"), admission()]
)
def test_a_true_verdict_contradicts_nothing(verdict):
    assert list(find_contradictions(verdict)) == []


def test_each_contradiction_is_a_sentence():
    cases = [
        case._replace(outcome="fail") if case.name == GUARD else case
        for case in gate_admission().cases
    ]
    verdict = gate_admission()._replace(
        gate="undecided",
        cases=tuple(cases),
        numbers=(NamedNumber("cases", 7), *gate_admission().numbers[1:-1]),
    )
    assert list(find_contradictions(verdict)) == [
        f"it says admit, but its case {GUARD} failed",
        "a rule admits what the gate does not: it says undecided",
        "it says that the gate says undecided, but by its cases it is admit",
        "its number cases is 7, but by its cases it is 8",
        "its number wins is missing, but by its cases it is 8",
        f"it says fail of its case {GUARD}, but by its rounds it is pass",
    ]


def test_a_person_may_do_what_the_gate_does_not_say():
    by_ada = {"decider": "person", "decided_by": "Ada"}
    admitted = gate_rejection()._replace(decision="admit", **by_ada)
    rejected = gate_admission()._replace(decision="reject", reason="not now", **by_ada)
    assert list(find_contradictions(admitted)) == list(find_contradictions(rejected)) == []


def test_a_person_may_not_admit_a_program_that_failed_its_own_tests():
    case = admission().cases[0]._replace(outcome="fail")
    verdict = admission()._replace(
        decider="person", decided_by="Ada", cases=(case, *admission().cases[1:])
    )
    assert list(find_contradictions(verdict)) == [f"it says admit, but its case {case.name} failed"]


def test_a_gate_stops_at_the_round_that_decides():
    assert list(find_contradictions(noisy("ffffff", "pppppp"))) == [
        "its gate went on to round 6, but said admit after 5"
    ]


def test_rounds_that_are_not_whole_decide_nothing():
    rows = [CaseRow(name="a", before="pp", after="pp"), CaseRow(name="b", before="p", after="p")]
    assert decide_rows(rows, 12) is None
    assert decide_rows(rows[:1], 1) is None
    assert decide_rows([], 0) is None
    assert derive_gate_decision(retirement()) is None
    nothing = decide_rows([], 1)
    assert nothing is not None and nothing.gate == "undecided"


def provisional(before: str, after: str, *, losers: int = 0) -> Verdict:
    """Return the verdict of a gate that asked about these very cases too; six gain."""
    sides = [(before, after)] * 6 + [(after, before)] * losers
    rows = [(path, *side) for path, side in zip(CASES, sides, strict=False)]
    tried = try_cases(rows, repeats_itself=len(before) < 3)
    return build(replace(tried, is_provisional_asked=True)).verdict


def test_a_rule_may_admit_what_is_provisional_and_both_words_are_derived():
    verdict = provisional("f" * 12, "pffff" * 2 + "ff")._replace(gate="undecided")
    assert (verdict.decision, verdict.gate, verdict.provisional) == ("admit", "undecided", "yes")
    assert list(find_contradictions(verdict)) == []
    assert list(find_contradictions(verdict._replace(provisional="no"))) == [
        "a rule admits what the gate does not: it says undecided",
        "it says no to provisional, but by its cases it is yes",
    ]
    older = verdict._replace(provisional="")
    assert list(find_contradictions(older)) == [
        "a rule admits what the gate does not: it says undecided",
    ]


def test_a_runner_that_repeats_itself_is_checked_by_a_second_round():
    verdict = provisional("ff", "pp")
    assert dict(verdict.numbers)["max_rounds"] == 2
    said = list(find_contradictions(verdict))
    assert said == ["its gate went on to round 2, but said admit after 1"]
    differ = verdict.cases[0]._replace(after="pf")
    assert derive_gate_decision(verdict._replace(cases=(differ, *verdict.cases[1:]))) is None
    assert derive_gate_decision(verdict._replace(provisional="")) is None
