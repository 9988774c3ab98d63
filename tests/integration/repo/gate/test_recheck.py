"""A stranger derives the verdict of a gate again, from what came out then."""

from itertools import islice
from pathlib import Path
from threading import RLock

import pytest

from brain import Brain, InvalidInput, NotFound
from brain.digest import blob_id
from brain.errors import SandboxError
from brain.gating.case_files import Expectation
from brain.repo.learning import recheck
from brain.results import Recheck, RecheckedCase
from brain.sandbox.job import Sandbox
from brain.verdicts.verdict import NamedNumber, Verdict
from tests.support.brain_templates import copy_brain
from tests.support.decisions import put_verdict, record
from tests.support.gate_decisions import (
    AFTER,
    CASES,
    GREET,
    GUARD,
    NO_ANSWER,
    OUTPUTS,
    RIGHT,
    TEXT_PATH,
    WRONG,
    add_cases,
    build,
    decide_by_gate,
    gate_admission,
    gate_rejection,
    inputs_of_half,
    make_document,
    try_cases,
)
from tests.support.refusals import raises_code

FIRST = list(CASES)[-1]
NEW_INPUT = list(islice(inputs_of_half(held_out=True), len(CASES) + 1))[-1]
"""The input of no case."""


@pytest.fixture
def brain(tmp_path):
    with Brain.open(copy_brain(_make_brain, tmp_path / "agent"), author="tester") as opened:
        yield opened


def _make_brain(root: Path) -> None:
    with Brain.init(root, author="tester") as made:
        add_cases(made)


def _no_sandbox() -> Sandbox:
    raise SandboxError("there is no sandbox here", code="no_sandbox", hint="install one")


def again(brain: Brain, target: str, seconds: float = recheck.MAX_SECONDS) -> Recheck:
    """Return the recheck of a verdict on a machine without a sandbox."""
    found = recheck.find_gate_verdict(brain._session, target)
    return recheck.Rechecker(brain._session, RLock(), _no_sandbox, seconds).recheck(found)


def states(found: Recheck) -> set[str]:
    return {case.state for case in found.cases}


def one(found: Recheck, path: str) -> RecheckedCase:
    return next(case for case in found.cases if case.path == path)


def test_a_true_verdict_says_the_same_again(brain):
    here = decide_by_gate(brain, gate_admission())
    found = again(brain, GREET)
    assert (found.gate, found.found_gate, found.snapshot) == ("admit", "admit", here.hex())
    assert found.differences == [] and found.unknown == [] and states(found) == {"same"}
    assert all(number.said == number.found for number in found.numbers)
    assert {number.name for number in found.numbers} >= {"wins", "losses", "e_value_milli"}


def test_a_verdict_is_found_by_its_id_its_snapshot_its_skill_and_its_attempt(brain):
    here = decide_by_gate(brain, gate_rejection())
    blob = brain._session.load_snapshot(here).operation[-1]
    attempt = f"{GREET}/{here.hex()[:8]}"
    with brain._session.store.transaction() as tx:
        tx.update_ref(f"rejected/{attempt}", None, here)
    brain.undo()
    for target in (blob.hex(), here.hex(), here.hex()[:12], attempt, GREET):
        found = again(brain, target)
        assert (found.verdict, found.snapshot) == (blob.hex(), here.hex())
        assert found.found_gate == "reject" and found.differences == []


def test_of_a_skill_it_is_the_last_decision_of_a_gate(brain):
    decide_by_gate(brain, gate_admission())
    person = gate_admission()._replace(
        decider="person",
        decided_by="Ada",
        gate="",
        base=b"",
        text=b"",
        runner="",
        cases=(),
        numbers=(),
    )
    record(brain, {}, ("admit", GREET, "2", "2", put_verdict(brain, person)))
    assert again(brain, GREET).gate == "admit"
    with raises_code("no_verdict", NotFound, match="not one of a gate") as caught:
        again(brain, "@")
    assert caught.value.hint


@pytest.mark.parametrize("target", ["@", GREET, "no-such-skill"])
def test_what_no_gate_decided_has_no_verdict(brain, target):
    with raises_code("no_verdict", NotFound) as caught:
        again(brain, target)
    assert caught.value.hint


def test_a_revision_that_is_none_is_an_error(brain):
    with raises_code("bad_revision", InvalidInput):
        again(brain, "No Such Thing")


@pytest.mark.parametrize("letter", ["p", "f"])
def test_an_outcome_that_what_came_out_does_not_bear_out_differs(brain, letter):
    """The old text is said to have failed where it passed, or the other way round."""
    wrong = "f" if letter == "p" else "p"
    cases = [
        case._replace(before=letter, outputs=(blob_id(OUTPUTS[wrong]), *case.outputs[1:]))
        if case.name == FIRST
        else case
        for case in gate_admission().cases
    ]
    decide_by_gate(brain, gate_admission()._replace(cases=tuple(cases)))
    found = again(brain, GREET)
    case = one(found, FIRST)
    assert (case.state, case.before, case.found_before) == ("differs", letter, wrong)
    assert any("1 case has another outcome" in line for line in found.differences)


def test_made_up_wins_change_the_decision(brain):
    cases = [
        case._replace(outputs=(blob_id(RIGHT),) * 2) if case.kind == "held_out" else case
        for case in gate_admission().cases
    ]
    decide_by_gate(brain, gate_admission()._replace(cases=tuple(cases)))
    assert brain.verify().ok  # what came out is not judged there
    found = again(brain, GREET)
    assert (found.gate, found.found_gate) == ("admit", "reject")
    assert {
        "8 cases have another outcome",
        "by what came out, the gate says reject, not admit",
    } == (set(found.differences))


def test_a_number_that_does_not_follow_differs(brain):
    verdict = gate_admission()
    rows = [NamedNumber("wins", 9) if row.name == "wins" else row for row in verdict.numbers]
    decide_by_gate(brain, verdict._replace(numbers=tuple(rows)))
    found = again(brain, GREET)
    assert [(row.name, row.said, row.found) for row in found.numbers if row.said != row.found] == [
        ("wins", 9, 8)
    ]
    assert found.differences


def test_an_error_is_taken_as_it_is_said(brain):
    rows = [(path, "e", "p") for path in CASES]
    decide_by_gate(brain, build(try_cases(rows)).verdict)
    found = again(brain, GREET)
    assert found.differences == [] and one(found, FIRST).found_before == "e"
    assert not brain._session.reader.find_missing([blob_id(NO_ANSWER)])


def test_cases_deleted_and_edited_later_are_checked_as_they_were(brain):
    decide_by_gate(brain, gate_admission())
    paths = list(CASES)
    record(brain, {paths[0]: None, paths[1]: b"input: 3\n", GUARD: None}, ("snapshot",))
    brain.gc(grace=0)
    found = again(brain, GREET)
    assert found.differences == [] and found.unknown == []


def test_a_redacted_case_is_told_and_the_others_are_checked(brain):
    decide_by_gate(brain, gate_admission())
    brain.files.redact(FIRST, reason="a test")
    found = again(brain, GREET)
    assert found.unknown == [f"{FIRST}: its document was redacted"]
    assert found.differences == [] and states(found) == {"same", "unknown"}
    assert (one(found, FIRST).found_before, one(found, FIRST).found_after) == ("?", "?")
    assert found.found_gate == "admit"


def test_an_output_that_was_redacted_or_is_missing_is_told(brain):
    decide_by_gate(brain, gate_admission())
    redacting = record(brain, {}, ("redact", "a.md", blob_id(WRONG), "a test"))
    with brain._session.store.transaction() as tx:
        tx.redact_blob(blob_id(WRONG), redacting, lambda others: set())
    found = again(brain, GREET)
    assert one(found, FIRST).problem == "an output was redacted"
    assert (one(found, FIRST).found_before, one(found, FIRST).found_after) == ("?", "p")
    brain._session.store._db.execute("DELETE FROM blobs WHERE id = ?", (blob_id(RIGHT),))  # type: ignore[attr-defined]
    assert one(again(brain, GREET), GUARD).problem == "an output is missing from the store"


def test_a_verdict_without_its_cases_is_told_plainly(brain):
    here = decide_by_gate(brain, gate_admission())
    blob = brain._session.load_snapshot(here).operation[-1]
    redacting = record(brain, {}, ("redact", "a.md", blob, "a test"))
    with brain._session.store.transaction() as tx:
        tx.redact_blob(blob, redacting, lambda others: set())
    for target in (GREET, here.hex(), blob.hex()):
        with raises_code("no_verdict", NotFound, match="was redacted"):
            again(brain, target)


def test_without_a_sandbox_a_check_in_python_is_unknown_unless_the_rest_fails(brain):
    check = "def check(input, output):\n    assert output\n"
    expect = Expectation(contains=("hello",), check=check)
    document = make_document(NEW_INPUT, expect)
    verdict = _with_document(gate_admission(), document)
    record(brain, {FIRST: document}, ("snapshot",))
    decide_by_gate(brain, verdict)
    case = one(again(brain, GREET), FIRST)
    assert (case.found_before, case.found_after, case.state) == ("f", "?", "unknown")
    assert "no sandbox" in case.problem


def test_what_no_time_is_left_for_is_unknown(brain):
    check = "def check(input, output):\n    assert output\n"
    expect = Expectation(contains=("hello",), check=check)
    document = make_document(NEW_INPUT, expect)
    record(brain, {FIRST: document}, ("snapshot",))
    decide_by_gate(brain, _with_document(gate_admission(), document))
    case = one(again(brain, GREET, seconds=0.0), FIRST)
    assert (case.found_before, case.found_after, case.state) == ("f", "?", "unknown")
    assert "time for checks is over" in case.problem


def test_two_cases_of_one_input_differ(brain):
    copy = f"skills/{GREET}/cases/copy.yaml"
    record(brain, {copy: CASES[FIRST]}, ("snapshot",))
    verdict = gate_admission()
    first = next(case for case in verdict.cases if case.name == FIRST)
    decide_by_gate(brain, verdict._replace(cases=(*verdict.cases, first._replace(name=copy))))
    found = again(brain, GREET)
    assert one(found, copy).problem == f"it has the same input as {FIRST}"
    assert (one(found, copy).state, one(found, FIRST).state) == ("differs", "same")


def test_a_document_that_is_no_held_out_case_differs(brain):
    for document in (b"not a case", make_document(next(inputs_of_half(held_out=False)))):
        verdict = _with_document(gate_admission(), document)
        blob = put_verdict(brain, verdict, document, *OUTPUTS.values())
        record(brain, {TEXT_PATH: AFTER}, ("admit", GREET, "1", "2", blob))
        case = one(again(brain, GREET), FIRST)
        assert case.state == "differs" and case.problem
        brain.undo()


def _with_document(verdict: Verdict, document: bytes) -> Verdict:
    cases = [
        case._replace(document=blob_id(document)) if case.name == FIRST else case
        for case in verdict.cases
    ]
    return verdict._replace(cases=tuple(cases))


def test_what_a_model_answered_does_not_run_again_and_that_is_told(brain):
    decide_by_gate(brain, gate_admission())
    found = brain.gate.recheck(GREET, run=True)
    assert found.unknown == ["nothing ran again: the cases were run by scripted"]
    assert found.differences == [] and one(found, FIRST).ran_before == ""
    assert brain.gate.recheck(GREET).unknown == []


def test_rounds_of_a_noisy_runner_are_checked_one_by_one(brain):
    rows = [(path, "fefff", "ppppp") for path in CASES]
    verdict = build(try_cases(rows, repeats_itself=False)).verdict
    decide_by_gate(brain, verdict)
    found = again(brain, GREET)
    assert one(found, FIRST).found_before == "fefff" and found.differences == []
