"""Verification holds what a gate decided to its cases."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.gating.case_files import Expectation, encode_case, parse_case
from brain.gating.decision import decide
from brain.verdicts.verdict import NamedNumber, Verdict, VerdictCase, encode_verdict
from brain.verdicts.verdict_rules import GateVerdict, go_on_with, row_of_case, state_numbers
from tests.support.brain_templates import copy_brain
from tests.support.decisions import put_verdict, record
from tests.support.gate_decisions import (
    AFTER,
    CASES,
    GREET,
    GUARD,
    GUARDS,
    OTHER,
    RIGHT,
    TEXT_PATH,
    WRONG,
    add_cases,
    build,
    decide_by_gate,
    gained,
    gate_admission,
    gate_rejection,
    inputs_of_half,
    make_document,
    skill_text,
    try_cases,
)

Edits = dict[str, bytes | None]
FIRST = min(CASES, key=lambda path: blob_id(CASES[path]))
"""The case that a gate tries first."""
LAST = max(CASES, key=lambda path: blob_id(CASES[path]))
BY_ADA = {"decider": "person", "decided_by": "Ada", "reason": "it is mine"}


@pytest.fixture
def brain(tmp_path):
    with Brain.open(copy_brain(_make_brain, tmp_path / "agent"), author="tester") as opened:
        yield opened


def _make_brain(root: Path) -> None:
    with Brain.init(root, author="tester") as made:
        add_cases(made)


def verified(brain: Brain) -> list[tuple[str, str]]:
    found = brain.verify(deep=True).findings
    return [(one.code, one.severity) for one in found]


def test_what_the_gate_admits_by_its_cases_is_valid(brain):
    decide_by_gate(brain, gate_admission())
    assert verified(brain) == []


def test_a_rejected_change_beside_the_branch_is_valid(brain):
    verdict = gate_rejection()
    assert (verdict.gate, [case.name for case in verdict.failed_cases]) == ("reject", [GUARD])
    here = decide_by_gate(brain, verdict)
    with brain._session.store.transaction() as tx:
        tx.update_ref(f"rejected/{GREET}/{here.hex()[:8]}", None, here)
    brain.undo()
    assert [one for one in verified(brain) if one[0] != "ref_mismatch"] == []


def test_a_noisy_runner_admits_over_rounds(brain):
    rows = [(path, "fefff", "ppppp") for path in CASES]
    verdict = build(try_cases(rows, repeats_itself=False)).verdict
    assert verdict.gate == "admit" and NamedNumber("rounds", 5) in verdict.numbers
    decide_by_gate(brain, verdict)
    assert verified(brain) == []


def test_a_new_skill_has_cases_before_it_has_a_text(brain):
    record(brain, {TEXT_PATH: None}, ("snapshot",))
    verdict = gate_admission()._replace(base=b"")
    blob = put_verdict(brain, verdict, RIGHT, WRONG)
    record(brain, {TEXT_PATH: AFTER}, ("admit", GREET, "", "2", blob))
    assert verified(brain) == []


def test_a_person_may_admit_what_the_gate_did_not(brain):
    for tried in (gained(guard="f"), try_cases([(path, "f", "p") for path in list(CASES)[:3]])):
        verdict = build(tried, **BY_ADA).verdict
        assert verdict.gate in ("reject", "undecided")
        decide_by_gate(brain, verdict)
        assert verified(brain) == []
        assert "Ada" in brain.history.why(GREET).decisions[0].summary
        brain.undo()


def test_a_person_may_admit_an_attempt_whose_cases_were_edited_since(brain):
    record(brain, {FIRST: None, LAST: make_document("Greet a guest who left.")}, ("snapshot",))
    decide_by_gate(brain, build(gained(guard="f"), **BY_ADA).verdict)
    assert verified(brain) == []


def test_cases_that_are_deleted_or_edited_later_break_no_decision(brain):
    decide_by_gate(brain, gate_admission())
    record(brain, {FIRST: None, LAST: b"input: 3\n"}, ("snapshot",))
    assert verified(brain) == []


def test_a_gate_may_try_the_cases_of_the_smallest_ids_only(brain):
    rows = [(path, "f", "p") for path in CASES if path != LAST]
    decide_by_gate(brain, build(try_cases(rows)).verdict)
    assert verified(brain) == []


def _without(verdict: Verdict, path: str) -> Verdict:
    return verdict._replace(cases=tuple(one for one in verdict.cases if one.name != path))


def _with_case(path: str, **fields: Any) -> Verdict:
    """Return the admission with some fields of one case changed."""
    verdict = gate_admission()
    cases = [one._replace(**fields) if one.name == path else one for one in verdict.cases]
    return verdict._replace(cases=tuple(cases))


def _with_number(name: str, value: int) -> Verdict:
    verdict = gate_admission()
    rows = [NamedNumber(name, value) if row.name == name else row for row in verdict.numbers]
    return verdict._replace(numbers=tuple(rows))


def _moved(path: str, to: str) -> Verdict:
    return _with_case(path, name=to)


def _replaced(path: str, document: bytes) -> Verdict:
    return _with_case(path, document=blob_id(document))


def _undecided() -> Verdict:
    return build(try_cases([(path, "f", "p") for path in list(CASES)[:3]])).verdict


def _noisy(before: str, after: str) -> Verdict:
    rows = [(path, before, after) for path in CASES]
    return build(try_cases(rows, repeats_itself=False)).verdict


def _cut(verdict: Verdict, path: str, rounds: int) -> Verdict:
    """Return a verdict in which one case has fewer rounds."""
    cases = [
        one._replace(
            before=one.before[:rounds], after=one.after[:rounds], outputs=one.outputs[: 2 * rounds]
        )
        if one.name == path
        else one
        for one in verdict.cases
    ]
    return verdict._replace(cases=tuple(cases))


CONTRADICTIONS: dict[str, Callable[[], Verdict]] = {
    "a rule that admits what is undecided": _undecided,
    "a rule that admits what the gate rejects": lambda: gate_rejection()._replace(
        decision="admit",
        cases=tuple(one._replace(outcome="pass", detail="") for one in gate_rejection().cases),
    ),
    "a rule that rejects what the gate admits": lambda: gate_admission()._replace(
        decision="reject"
    ),
    "a word that the cases do not say": lambda: _undecided()._replace(gate="admit"),
    "a word for fewer cases than it takes": lambda: _without(gate_admission(), LAST)._replace(
        cases=gate_admission().cases[:4]
    ),
    "no case at all": lambda: gate_admission()._replace(cases=()),
    "a win that was none": lambda: _with_case(FIRST, before="p"),
    "a loss that is a win by the numbers": lambda: _with_case(FIRST, before="p", after="f"),
    "an error that passes": lambda: _with_case(FIRST, after="e"),
    "a guard that got worse": lambda: _with_case(GUARD, after="f"),
    "a guard that counts for the gain": lambda: _with_case(GUARD, kind="held_out"),
    "a case of the skill that does not count": lambda: _with_case(FIRST, kind="guard"),
    "a case that is said to fail": lambda: _with_case(FIRST, outcome="fail"),
    "a number of wins": lambda: _with_number("wins", 9),
    "a number of losses": lambda: _with_number("losses", 1),
    "a number of ties": lambda: _with_number("ties", 1),
    "a number of cases": lambda: _with_number("cases", 9),
    "a number of rounds": lambda: _with_number("rounds", 2),
    "a number of missing cases": lambda: _with_number("more_cases", 1),
    "an E-value": lambda: _with_number("e_value_milli", 10**6),
    "a runner of 7 rounds": lambda: _with_number("max_rounds", 7),
    "a noisy runner after one round": lambda: _with_number("max_rounds", 12),
    "no numbers": lambda: gate_admission()._replace(numbers=()),
    "rounds of a runner that repeats itself": lambda: _noisy("fffff", "ppppp")._replace(
        numbers=tuple(
            NamedNumber("max_rounds", 1) if row.name == "max_rounds" else row
            for row in _noisy("fffff", "ppppp").numbers
        )
    ),
    "a case of fewer rounds than the others": lambda: _cut(_noisy("fffff", "ppppp"), FIRST, 4),
    "a gate that goes on after it knew": lambda: _noisy("ffffff", "pppppp"),
}


@pytest.mark.parametrize("attack", CONTRADICTIONS)
def test_a_word_of_the_gate_that_its_cases_do_not_say_is_an_error(brain, attack):
    here = decide_by_gate(brain, CONTRADICTIONS[attack]())
    found = [one for one in brain.verify().findings if one.severity == "error"]
    assert {(one.code, one.snapshot) for one in found} >= {("bad_verdict", here.hex())}


SHOWN = make_document(next(inputs_of_half(held_out=False)))
NEW = make_document(list(islice(inputs_of_half(held_out=True), 20))[-1])
LOOSER = make_document(next(inputs_of_half(held_out=True)), Expectation(contains=("l",)))
NEW_PATH = f"skills/{GREET}/cases/new.yaml"
MISMATCHES: dict[str, Callable[[], tuple[Edits, Verdict]]] = {
    "a verdict about another text": lambda: (
        {TEXT_PATH: skill_text(GREET, "2", "Say nothing.")},
        gate_admission(),
    ),
    "a verdict that compares with another text": lambda: (
        {},
        gate_admission()._replace(base=blob_id(b"an easier one")),
    ),
    "a verdict about a new skill that is an old one": lambda: (
        {},
        gate_admission()._replace(base=b""),
    ),
    "a case that the change brings": lambda: ({NEW_PATH: NEW}, _moved_to_new(NEW)),
    "a case that the change loosens": lambda: ({FIRST: LOOSER}, _replaced(FIRST, LOOSER)),
    "a case that the change removes": lambda: ({FIRST: None}, gate_admission()),
    "a case that never stood there": lambda: ({}, _moved_to_new(NEW)),
    "another document than stood there": lambda: ({}, _replaced(FIRST, LOOSER)),
    "a case outside of a folder of cases": lambda: ({}, _moved(FIRST, f"skills/{GREET}/SKILL.md")),
    "a case of another skill as its own": lambda: (
        {},
        build(try_cases([*((path, "f", "p") for path in CASES)])).verdict._replace(
            cases=tuple(
                one._replace(name=GUARD, document=blob_id(GUARDS[GUARD]))
                if one.name == FIRST
                else one
                for one in gate_admission().cases[:-1]
            )
        ),
    ),
    "a case that was left out": lambda: (
        {},
        build(try_cases([(path, "f", "p") for path in CASES if path != FIRST])).verdict,
    ),
}


def _moved_to_new(document: bytes) -> Verdict:
    return _with_case(FIRST, name=NEW_PATH, document=blob_id(document))


@pytest.mark.parametrize("attack", MISMATCHES)
def test_a_gate_that_tried_other_than_the_change_on_standing_cases_is_an_error(brain, attack):
    edits, verdict = MISMATCHES[attack]()
    here = decide_by_gate(brain, verdict, edits)
    found = [one for one in brain.verify().findings if one.severity == "error"]
    assert {(one.code, one.snapshot) for one in found} == {("verdict_mismatch", here.hex())}


COPY_PATH = f"skills/{GREET}/cases/copy.yaml"


def _try_one_input_twice(brain: Brain, copy: bytes) -> bytes:
    """Record a change that was tried on two cases of the input of FIRST; return the snapshot."""
    record(brain, {COPY_PATH: copy}, ("snapshot",))
    verdict = gate_admission()
    first = next(one for one in verdict.cases if one.name == FIRST)
    twice = (*verdict.cases, first._replace(name=COPY_PATH, document=blob_id(copy)))
    rows = [row_of_case(one) for one in twice]
    numbers = state_numbers(decide(rows, repeats_itself=True), 1)
    return decide_by_gate(brain, verdict._replace(cases=twice, numbers=numbers))


def _other_expectation() -> bytes:
    case = parse_case(GREET, FIRST, b"", CASES[FIRST])
    return encode_case(case.input, Expectation(contains=("o",)), "a note")


@pytest.mark.parametrize("is_same_document", [True, False])
def test_two_cases_of_one_input_are_an_error(brain, is_same_document):
    copy = CASES[FIRST] if is_same_document else _other_expectation()
    here = _try_one_input_twice(brain, copy)
    (found,) = brain.verify(deep=True).findings
    assert (found.code, found.severity, found.snapshot) == ("verdict_mismatch", "error", here.hex())
    assert "same input" in found.message and FIRST in found.message and COPY_PATH in found.message
    brain.files.redact(FIRST, reason="a test")
    # Where the documents are one, its id tells that its input is the same.
    assert brain.verify().ok is not is_same_document


def test_a_guard_may_have_the_input_of_a_case(brain):
    """It brings no gain, and cases of two skills may well have one input."""
    guard = f"skills/{OTHER}/cases/same.yaml"
    record(brain, {guard: CASES[FIRST]}, ("snapshot",))
    verdict = gate_admission()
    case = verdict.cases[-1]._replace(name=guard, document=blob_id(CASES[FIRST]))
    decide_by_gate(brain, verdict._replace(cases=(*verdict.cases[:-1], case)))
    assert verified(brain) == []


@pytest.mark.parametrize(
    "document",
    [SHOWN, b"input: hello\n", b"not a case", b"x" * 70_000],
    ids=["practice", "half a case", "no case", "too large"],
)
def test_a_document_that_holds_no_held_out_case_is_an_error(brain, document):
    record(brain, {FIRST: document}, ("snapshot",))
    here = decide_by_gate(brain, _replaced(FIRST, document))
    found = [one for one in brain.verify().findings if one.severity == "error"]
    assert [(one.code, one.snapshot) for one in found] == [("verdict_mismatch", here.hex())]
    assert FIRST in found[0].message


def test_a_redacted_document_is_not_asked(brain):
    decide_by_gate(brain, gate_admission())
    brain.files.redact(FIRST, reason="a test")
    assert brain.verify().ok


def test_an_output_that_is_missing_is_a_warning_and_one_redacted_is_nothing(brain):
    decide_by_gate(brain, gate_admission())
    brain._session.store._db.execute("DELETE FROM blobs WHERE id = ?", (blob_id(RIGHT),))  # type: ignore[attr-defined]
    found = brain.verify()
    assert found.ok and [one.code for one in found.findings] == ["missing_case"]
    redacting = record(brain, {}, ("redact", "a.md", blob_id(RIGHT), "a test"))
    with brain._session.store.transaction() as tx:
        tx.redact_blob(blob_id(RIGHT), redacting, lambda others: set())
    assert verified(brain) == []


def test_garbage_collection_keeps_outputs_and_documents(brain):
    decide_by_gate(brain, gate_admission())
    record(brain, {FIRST: None}, ("snapshot",))
    brain.gc(grace=0)
    named = [*map(blob_id, CASES.values()), blob_id(RIGHT), blob_id(WRONG)]
    assert not brain._session.reader.find_missing(named)
    assert verified(brain) == []


def test_a_text_of_a_skill_with_a_program_changes_without_a_trial_of_the_program(brain):
    code = f"skills/{GREET}/skill.py"
    record(brain, {code: b"print(2)\n"}, ("snapshot",))
    decide_by_gate(brain, gate_admission())
    assert verified(brain) == []
    brain.undo()
    decide_by_gate(brain, gate_admission(), {code: b"print(3)\n"})
    assert verified(brain) == [("verdict_mismatch", "error")]


def test_a_guard_may_lie_in_a_category(brain):
    path = f"skills/text/{OTHER}-2/cases/a.yaml"
    record(brain, {path: GUARDS[GUARD]}, ("snapshot",))
    case = gate_admission().cases[-1]
    moved = VerdictCase(**{**case._asdict(), "name": path})
    decide_by_gate(brain, gate_admission()._replace(cases=(*gate_admission().cases[:-1], moved)))
    assert verified(brain) == []


def test_numbers_of_other_kinds_may_stand_beside_those_of_the_gate(brain):
    verdict = gate_admission()
    decide_by_gate(brain, verdict._replace(numbers=(*verdict.numbers, NamedNumber("uses", 3))))
    assert verified(brain) == []


def test_a_decision_by_a_rule_under_another_name_keeps_the_rules(brain):
    decide_by_gate(brain, build(gained(guard="f"), decided_by="Ada").verdict)
    assert ("bad_verdict", "error") in verified(brain)


ALLOW = b"evolution:\n  mode: gated\n  provisional: allow\n"


def _provisional() -> Verdict:
    """Return the verdict of a change that helps six of seven cases now and then; LAST is left."""
    sides = dict.fromkeys(CASES, ("f" * 12, "pffff" * 2 + "ff"))
    del sides[LAST]
    tried = try_cases([(path, *both) for path, both in sides.items()], repeats_itself=False)
    return build(replace(tried, is_provisional_asked=True)).verdict


def _go_on(verdict: Verdict, before: str = "f" * 12, after: str = "f" * 12) -> Verdict:
    tried = try_cases([(LAST, before, after)], repeats_itself=False)
    built = go_on_with(verdict, blob_id(encode_verdict(verdict)), tried.cases)
    assert isinstance(built, GateVerdict)
    return built.verdict


def _keep(brain: Brain, verdict: Verdict) -> bytes:
    """Record a verdict that goes on with another; the text stays."""
    return record(brain, {}, ("admit", GREET, "2", "2", put_verdict(brain, verdict)))


def test_a_provisional_change_lives_only_where_the_manifest_said_so(brain):
    assert (_provisional().gate, _provisional().provisional) == ("undecided", "yes")
    here = decide_by_gate(brain, _provisional())
    (found,) = brain.verify().findings
    assert (found.code, found.severity, found.snapshot) == ("verdict_mismatch", "error", here.hex())
    assert "nobody has accepted it" in found.message
    brain.undo()
    record(brain, {"manifest.yaml": ALLOW}, ("snapshot",))
    decide_by_gate(brain, _provisional())
    record(brain, {"manifest.yaml": b"evolution:\n  mode: off\n"}, ("snapshot",))
    assert verified(brain) == []


CONTINUATIONS: dict[str, Callable[[Verdict], Verdict]] = {
    "of a change that was taken back": _go_on,
    "that counts a case twice": lambda first: _go_on(first)._replace(
        cases=(*first.cases, first.cases[0]._replace(name=LAST))
    ),
    "of another text": lambda first: _go_on(first)._replace(text=blob_id(b"another")),
    "with other rounds": lambda first: _go_on(
        first._replace(cases=(first.cases[0]._replace(after="p" * 12), *first.cases[1:]))
    ),
    "of another verdict": lambda first: _go_on(first._replace(reason="another")),
    "without its last case": lambda first: first._replace(
        continues=blob_id(encode_verdict(first)),
    ),
}


@pytest.mark.parametrize("attack", [None, *CONTINUATIONS])
def test_a_verdict_that_goes_on_with_another_is_held_to_it(brain, attack):
    record(brain, {"manifest.yaml": ALLOW}, ("snapshot",))
    first = _provisional()
    decide_by_gate(brain, first)
    if attack is None:
        _keep(brain, _go_on(first))
        assert verified(brain) == []
        return
    if attack == "of a change that was taken back":
        verdict = Verdict(
            decision="reinstate", skill=GREET, decider="person", decided_by="Ada", reason="no"
        )
        back = {TEXT_PATH: skill_text(GREET, "3", "Be short.")}
        record(brain, back, ("reinstate", GREET, "2", "3", put_verdict(brain, verdict)))
        again = put_verdict(brain, _go_on(first))
        here = record(brain, {TEXT_PATH: AFTER}, ("admit", GREET, "3", "2", again))
    else:
        here = _keep(brain, CONTINUATIONS[attack](first))
    found = [one for one in brain.verify().findings if one.severity == "error"]
    assert {one.snapshot for one in found} == {here.hex()}
    assert "verdict_mismatch" in {one.code for one in found}


@pytest.mark.parametrize("is_practice", [False, True])
def test_what_goes_on_with_a_redacted_verdict_has_held_out_cases(brain, is_practice):
    document = SHOWN if is_practice else NEW
    record(brain, {"manifest.yaml": ALLOW, NEW_PATH: document}, ("snapshot",))
    first = _provisional()
    here = decide_by_gate(brain, first)
    verdict = _go_on(first)
    *others, last = verdict.cases
    last = last._replace(name=NEW_PATH, document=blob_id(document))
    _keep(brain, verdict._replace(cases=(*others, last)))
    blob = blob_id(encode_verdict(first))
    redacting = record(brain, {}, ("redact", "a.md", blob, "a test"))
    with brain._session.store.transaction() as tx:
        tx.redact_blob(blob, redacting, lambda others: set())
    found = [one.message for one in brain.verify().findings if one.severity == "error"]
    assert ["holds out" in message for message in found] == [True] * is_practice
    assert [one.first for one in brain.gate.list_provisional()] == [here]


def test_each_step_of_a_long_course_is_checked(brain):
    record(brain, {"manifest.yaml": ALLOW}, ("snapshot",))
    first = _provisional()
    decide_by_gate(brain, first)
    verdict = _go_on(first)
    _keep(brain, verdict)
    record(brain, {NEW_PATH: NEW}, ("snapshot",))
    last = verdict.cases[-1]._replace(name=NEW_PATH, document=blob_id(NEW))
    forged = verdict._replace(cases=(*first.cases, last), continues=blob_id(encode_verdict(first)))
    here = _keep(brain, forged)
    found = [one for one in brain.verify().findings if one.severity == "error"]
    assert {one.snapshot for one in found} == {here.hex()}
    assert any("another decision than the last one" in one.message for one in found)
