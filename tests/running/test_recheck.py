"""Programs that a gate admitted run again, and checks in Python, in the sandbox."""

import json
from collections.abc import Iterator
from itertools import count

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.gating.case_files import Expectation
from brain.gating.decision import decide
from brain.gating.held_out import is_held_out
from brain.repo.derive import read_decision_verdict
from brain.repo.learning.admission import STATE_DIR_VARIABLE
from brain.repo.learning.change import ProposedChange
from brain.verdicts.verdict import Verdict
from brain.verdicts.verdict_rules import row_of_case, state_numbers
from tests.support.decisions import put_verdict, record
from tests.support.gated_brains import set_mode
from tests.support.skill_programs import program_files

SLUG = "word-count"
CHECK = """def check(input, output):
    assert output["words"] == len(input["text"].split())
"""


def held_out_texts() -> Iterator[str]:
    texts = (f"{' '.join(['word'] * (number % 5 + 1))} {number}" for number in count())
    return (text for text in texts if is_held_out({"text": text}))


@pytest.fixture
def brain(tmp_path, sandbox, monkeypatch):
    """A brain in which a gate admitted a program that counts all words, not three at most."""
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path / "state"))
    with Brain.init(tmp_path / "agent", author="ada") as made:
        set_mode(made, "gated")
        made.skills.upsert(SLUG, "Count.\n", description="Count words")
        old = program_files('min(len(payload["text"].split()), 3)')
        record(made, {f"skills/{SLUG}/{path}": old[path] for path in old}, ("snapshot",))
        texts = held_out_texts()
        for number in range(9):
            text = next(texts)
            expect = Expectation(check=CHECK)
            if number % 2:
                expect = Expectation(has_equals=True, equals={"words": len(text.split())})
            made.gate.add_case(SLUG, {"text": text}, expect, name=f"c{number}")
        files = program_files()
        outcome = made.gate.open(sandbox=sandbox).propose(
            ProposedChange(name=SLUG, evolver="person", files=files, message="Count all")
        )
        assert (outcome.gate, outcome.done) == ("admit", "admitted"), outcome.reason
        yield made


def _verdict(brain: Brain) -> Verdict:
    session = brain._session
    verdict = read_decision_verdict(session, session.load_snapshot(session.head()))
    assert verdict is not None
    return verdict


def test_what_the_gate_admitted_is_the_same_when_it_runs_again(brain, sandbox):
    found = brain.gate.recheck(SLUG, run=True, sandbox=sandbox)
    assert found.differences == [] and found.unknown == []
    assert {(case.state, case.ran_after) for case in found.cases} == {("same", "p")}
    assert {case.before for case in found.cases} == {"p", "f"}
    assert all(case.ran_before == case.before == case.found_before for case in found.cases)
    assert brain.verify(deep=True).findings == []


def test_outputs_that_no_run_gave_are_found_by_running_again(brain, sandbox):
    """The outcomes follow from what is stored, but the old program never failed like this."""
    verdict, made_up = _verdict(brain), json.dumps({"words": 0}).encode()
    cases = [
        case._replace(before="f", outputs=(blob_id(made_up), case.outputs[1]))
        if case.kind == "held_out"
        else case
        for case in verdict.cases
    ]
    rows = [row_of_case(case) for case in cases if case.kind == "held_out"]
    attempt = tuple(one for one in verdict.numbers if one.name == "attempt")
    decision = decide(rows, repeats_itself=True)
    numbers = (*attempt, *state_numbers(decision, 1, is_provisional_asked=True))
    forged = verdict._replace(cases=tuple(cases), numbers=numbers)
    session = brain._session
    operation = session.load_snapshot(session.head()).operation
    files = {
        path: (brain.root / path).read_bytes()
        for path in (f"skills/{SLUG}/SKILL.md", f"skills/{SLUG}/skill.py")
    }
    brain.undo()
    record(brain, files, (*operation[:-1], put_verdict(brain, forged, made_up)))
    assert brain.verify().ok
    assert brain.gate.recheck(SLUG, sandbox=sandbox).differences == []
    found = brain.gate.recheck(SLUG, run=True, sandbox=sandbox)
    assert found.differences and {case.before for case in found.cases} == {"f"}
    assert "p" in {case.ran_before for case in found.cases}
