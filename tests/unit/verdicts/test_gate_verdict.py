"""The verdict that states what a gate tried."""

from dataclasses import replace
from fractions import Fraction

from brain.digest import blob_id
from brain.gating.case_files import Case, Expectation
from brain.gating.decision import GateDecision
from brain.verdicts.gate_verdict import GateCase, GateRecord, build_gate_verdict
from brain.verdicts.verdict_json import decode_verdict, encode_verdict
from brain.verdicts.verdict_types import NamedNumber, Verdict
from tests.support.decisions import SLUG, admission

BASE, TEXT = blob_id(b"before"), blob_id(b"after")
DECISION = GateDecision(
    gate="admit",
    reason="1 case better, none worse",
    cases=1,
    rounds=2,
    wins=2,
    losses=0,
    ties=0,
    e_value=Fraction(10, 3),
    more_cases=4,
)


def tried(name: str, before: str, after: str, *outputs: bytes, is_guard: bool = False) -> GateCase:
    case = Case(
        skill=SLUG,
        name=name,
        path=f"skills/{SLUG}/cases/{name}.yaml",
        blob=blob_id(name.encode()),
        input="a task",
        expect=Expectation(contains=("2",)),
        is_held_out=True,
    )
    return GateCase(case=case, is_guard=is_guard, before=before, after=after, outputs=list(outputs))


ABOUT = Verdict(
    decision="admit", skill=SLUG, decider="rule", decided_by="gate", base=BASE, text=TEXT
)
RECORD = GateRecord(
    runner="scripted",
    repeats_itself=False,
    decision=DECISION,
    cases=[tried("a", "fe", "pp", b"3", b"2", b"no answer", b"2")],
)


def test_a_case_of_the_gate_names_its_document_its_rounds_and_what_came_out():
    built = build_gate_verdict(RECORD, ABOUT)
    (case,) = built.verdict.cases
    assert (case.kind, case.name, case.outcome) == (
        "held_out",
        f"skills/{SLUG}/cases/a.yaml",
        "pass",
    )
    assert (case.document, case.before, case.after) == (blob_id(b"a"), "fe", "pp")
    assert case.outputs == tuple(map(blob_id, (b"3", b"2", b"no answer", b"2")))
    assert built.contents == (b"3", b"2", b"no answer")


def test_the_verdict_of_a_text_has_the_word_of_the_gate_and_its_numbers():
    verdict = build_gate_verdict(RECORD, ABOUT).verdict
    assert (verdict.gate, verdict.decision, verdict.decider) == ("admit", "admit", "rule")
    assert (verdict.base, verdict.text, verdict.runner) == (BASE, TEXT, "scripted")
    assert verdict.reason == DECISION.reason and not verdict.files
    assert verdict.numbers == (
        NamedNumber("cases", 1),
        NamedNumber("e_value_milli", 3333),
        NamedNumber("losses", 0),
        NamedNumber("max_rounds", 12),
        NamedNumber("more_cases", 4),
        NamedNumber("rounds", 2),
        NamedNumber("ties", 0),
        NamedNumber("wins", 2),
    )
    assert decode_verdict(encode_verdict(verdict)) == verdict


def test_a_runner_that_repeats_itself_has_one_round():
    record = replace(RECORD, repeats_itself=True)
    assert NamedNumber("max_rounds", 1) in build_gate_verdict(record, ABOUT).verdict.numbers


def test_a_case_that_got_worse_failed_and_says_how():
    guard = tried("b", "pp", "fp", b"2", b"3", b"2", b"2", is_guard=True)
    decision = replace(DECISION, gate="reject", worse=(guard.case.path,))
    record = replace(RECORD, decision=decision, cases=[*RECORD.cases, guard])
    better, worse = build_gate_verdict(record, ABOUT._replace(decision="reject")).verdict.cases
    assert (better.outcome, worse.kind, worse.outcome) == ("pass", "guard", "fail")
    assert worse.detail == "passed 2 of 2 before, 1 of 2 after"


def test_the_trial_of_a_program_comes_before_the_cases_of_the_gate():
    trial = admission()._replace(base=BASE, text=TEXT)
    verdict = build_gate_verdict(RECORD, trial, "it is hers").verdict
    assert verdict.files == trial.files and verdict.sandbox == trial.sandbox
    assert verdict.cases[:-1] == trial.cases and verdict.cases[-1].kind == "held_out"
    assert (verdict.decider, verdict.decided_by, verdict.reason) == ("rule", "gate", "it is hers")
    assert decode_verdict(encode_verdict(verdict)) == verdict


def test_an_e_value_past_all_counts_is_the_greatest_count():
    decision = replace(DECISION, e_value=Fraction(2**100))
    verdict = build_gate_verdict(replace(RECORD, decision=decision), ABOUT).verdict
    assert NamedNumber("e_value_milli", 2**53 - 1) in verdict.numbers
    assert encode_verdict(verdict)
