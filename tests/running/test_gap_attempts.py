"""Attempts at gaps that end without a skill: kept with their reason, and shown to later ones."""

import pytest

from brain import Brain, evolve
from brain.errors import ModelError
from brain.experience.store import Item
from tests.support.gap_answers import NO_SKILL, gap_answer, words_code
from tests.support.gap_brains import (
    DAY,
    NOW,
    RecordingGate,
    add_cases,
    fail,
    phases,
    run_gaps,
    set_evolution,
)
from tests.support.process_death import dies_before_call
from tests.support.scripted_model import FakeModel


@pytest.fixture
def brain(tmp_path, sandbox, monkeypatch):
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    with Brain.init(tmp_path / "agent", author="tester") as made:
        yield made


BLOCKED = gap_answer("import socket\n" + words_code())
PRIVILEGED = gap_answer(words_code().replace('"safe"', '"privileged"'))
WITHOUT_PAYLOADS = gap_answer(payloads=[], expected=[])
WITHOUT_DEFINITION = gap_answer(words_code().replace("return SkillDefinition(", "return str("))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (BLOCKED, "it uses socket, which is on the blocklist"),
        (PRIVILEGED, "the capability level must be safe"),
        (WITHOUT_PAYLOADS, "there is no payload to try the skill with"),
        (WITHOUT_DEFINITION, "definition()"),
    ],
    ids=["blocklist", "definition", "payloads", "class"],
)
def test_a_refused_program_is_kept_as_a_rejected_attempt_with_its_reason(brain, answer, reason):
    fail(brain)
    (result,) = run_gaps(brain, FakeModel(*[answer] * 3), now=NOW, gate=RecordingGate())
    assert (result.phase, result.result) == ("validation", "rejected")
    assert reason in result.reason
    (attempt,) = brain.programs.attempts("count-words")
    assert reason in attempt.reason
    assert brain.programs.read_attempt(attempt.attempt).files["skill.py"]
    (earlier,) = brain.gate.earlier_attempts("count-words")
    assert earlier.evolver == "gaps"
    assert brain.skills.list() == [] and brain.verify().ok


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (BLOCKED, ["Attempt at count-words", "which is on the blocklist", "> +import socket"]),
        (PRIVILEGED, ["Attempt at count-words", "the capability level must be safe"]),
        ("nonsense", ["it is not JSON"]),
    ],
    ids=["checks", "definition", "no program"],
)
def test_a_later_attempt_at_the_same_gap_is_shown_why_the_one_before_was_refused(
    brain, answer, shown
):
    fail(brain)
    run_gaps(brain, FakeModel(*[answer] * 3), now=NOW)
    fail(brain, times=1)
    model = FakeModel(NO_SKILL)
    run_gaps(brain, model, now=NOW + DAY)
    message = model.requests[0].messages[0].text
    for text in shown:
        assert text in message


def test_a_later_attempt_is_shown_the_numbers_of_the_gate_without_its_cases(brain):
    set_evolution(brain, "{mode: gated}")
    add_cases(brain)
    fail(brain)
    wrong = gap_answer(words_code("text.count(' ') + 1"), check="def check(p, o): pass")
    run_gaps(brain, FakeModel(wrong), now=NOW)
    fail(brain, times=1)
    model = FakeModel(NO_SKILL)
    run_gaps(brain, model, now=NOW + DAY)
    message = model.requests[0].messages[0].text
    assert "were tried before and not admitted" in message and "text.count(' ') + 1" in message
    assert not [
        one for one in brain.gate.cases("count-words") if one.is_held_out and one.path in message
    ]


def test_an_attempt_at_another_goal_is_not_shown(brain):
    fail(brain)
    run_gaps(brain, FakeModel(*[BLOCKED] * 3), now=NOW)
    fail(brain, "Send the report")
    model = FakeModel(NO_SKILL)
    run_gaps(brain, model, now=NOW + DAY)
    assert "blocklist" not in model.requests[0].messages[0].text


def test_a_process_that_is_killed_after_a_program_was_kept_keeps_it_once(brain):
    fail(brain)
    with dies_before_call(Item, "finish"):
        run_gaps(brain, FakeModel(*[BLOCKED] * 3), now=NOW)
    run_gaps(brain, FakeModel(), now=NOW + 1)
    assert len(brain.programs.attempts()) == 1
    assert phases(brain) == [("validation", "rejected")]


def test_the_scheduler_pauses_after_the_model_failed_at_a_gap(brain):
    fail(brain)
    model = FakeModel(ModelError("the endpoint is down"), NO_SKILL)
    (step,) = evolve.run_due(brain, model)
    assert (step.evolver, step.result) == ("gaps", "failed")
    assert "the model failed and" in step.reason
    status = evolve.read_status(brain, model.model_name)
    assert [problem for problem in status.problems if "the model failed and" in problem]
    assert phases(brain) == []
    assert brain.gaps.list().gaps[0].next == "attempt: it is queued"


class TestAProposalThatWaits:
    def test_its_gap_is_not_asked_for_again(self, brain):
        fail(brain)
        run_gaps(brain, FakeModel(gap_answer()), now=NOW)
        (proposal,) = brain.proposals.list()
        fail(brain, times=1)
        model = FakeModel()
        (result,) = run_gaps(brain, model, now=NOW + DAY)
        assert (result.phase, result.result) == ("proposed", "skipped")
        assert result.reason == f"{proposal.name} waits for a person"
        assert model.requests == []
        (gap,) = brain.gaps.list().gaps
        assert gap.next == f"wait for a person: proposal {proposal.name}"
        assert {rate.used for rate in brain.gaps.list(now=NOW + DAY).rates} == {0}

    def test_its_gap_is_asked_for_again_once_it_was_rejected(self, brain):
        fail(brain)
        run_gaps(brain, FakeModel(gap_answer()), now=NOW)
        (proposal,) = brain.proposals.list()
        brain.proposals.reject(proposal.name)
        (gap,) = brain.gaps.list().gaps
        assert gap.next == "nothing until it fails again: its proposal was accepted or rejected"
        fail(brain, times=1)
        (result,) = run_gaps(brain, FakeModel(NO_SKILL), now=NOW + DAY)
        assert result.phase == "model"

    def test_a_gap_in_other_words_is_shown_it_and_cannot_have_its_name(self, brain):
        fail(brain)
        run_gaps(brain, FakeModel(gap_answer()), now=NOW)
        fail(brain, "How many words has the report?\nIgnore the rest")
        model = FakeModel(gap_answer(), NO_SKILL)
        (result,) = run_gaps(brain, model, now=NOW + 1)
        first, refused = model.requests[0].messages[0].text, model.requests[1].messages[-1].text
        assert "of count-words:\n> Count the words of a text" in first
        assert "a proposal of count-words waits for a person" in refused
        assert result.phase == "model" and len(brain.proposals.list()) == 1

    def test_a_process_that_is_killed_after_it_proposed_ends_with_its_own_proposal(self, brain):
        fail(brain)
        model = FakeModel(gap_answer())
        with dies_before_call(Item, "finish"):
            run_gaps(brain, model, now=NOW)
        (result,) = run_gaps(brain, model, now=NOW + 1)
        assert result.phase == "proposed" and len(model.requests) == 1
        assert len(brain.proposals.list()) == 1
