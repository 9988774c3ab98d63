"""What a model does wrong fails a case; a model that fails as a whole ends the attempt."""

import pytest

from brain import Brain
from brain.errors import ModelError
from brain.evolve.evolver import ModelRunner
from brain.gating.decision import DEFAULT_RULES
from brain.models.calls import ANSWER_FAULTS
from brain.repo.learning.change import ProposedChange
from brain.results import GateOutcome
from tests.support.gated_brains import GREETING, SKILL, make_gated_brain
from tests.support.refusals import raises_code
from tests.support.scripted_model import Asked, FakeModel, ScriptedAnswer

CASES = 6
CHANGE = ProposedChange(
    name=SKILL, evolver="synthesis", body="# Greet\n\nSay hello to guests.\n", message="Try it"
)


class FailingModel(FakeModel):
    """Greets as its skill says; each request from number `first` on fails, if `fails` says so."""

    def __init__(self, code: str, *, first: int = 0, before: bool = True) -> None:
        super().__init__()
        self._code, self._first, self._before = code, first, before

    def answer(self, request: Asked) -> ScriptedAnswer:
        has_change = "Say hello" in request.system
        if len(self.requests) > self._first and (self._before or has_change):
            raise ModelError("it does not answer", code=self._code, hint="try again")
        return GREETING if has_change else "go away"


def propose(brain: Brain, model: FailingModel) -> GateOutcome:
    return brain.gate.open(runner=ModelRunner(model)).propose(CHANGE)


@pytest.mark.parametrize("mode", ["gated", "propose"])
@pytest.mark.parametrize("code", ["unreachable", "rate_limited", "key_refused", "model_timeout"])
@pytest.mark.parametrize("first", [0, 2 * CASES + 3])
def test_a_model_that_cannot_be_asked_ends_the_attempt_with_its_error(tmp_path, mode, code, first):
    with make_gated_brain(tmp_path, mode=mode, cases=CASES) as brain:
        head, model = brain.head, FailingModel(code, first=first)
        with raises_code(code, ModelError):
            propose(brain, model)
        assert len(model.requests) == first + 1
        assert brain.head == head and brain.proposals.list() == []
        assert brain.gate.earlier_attempts(SKILL) == []
        again = propose(brain, FailingModel(code, first=10**6))
        assert again.done == ("admitted" if mode == "gated" else "proposed")


@pytest.mark.parametrize("code", ANSWER_FAULTS)
def test_an_answer_that_cannot_be_used_fails_its_case_alone(tmp_path, code):
    with make_gated_brain(tmp_path, cases=CASES) as brain:
        model = FailingModel(code, first=10**6)
        model._first, model._before = 0, False
        outcome = propose(brain, model)
        assert (outcome.gate, outcome.done) == ("reject", "rejected")  # no gain
        assert outcome.numbers.ties == CASES * DEFAULT_RULES.min_rounds
        assert brain.verify(deep=True).findings == []


def test_a_model_that_gives_nothing_usable_is_not_asked_for_ever(tmp_path):
    with make_gated_brain(tmp_path, cases=CASES) as brain:
        model = FailingModel("bad_answer")
        outcome = propose(brain, model)
        assert (outcome.gate, outcome.done) == ("undecided", "kept")
        assert len(model.requests) == 2 * CASES and "ended in an error" in outcome.reason
        again = propose(brain, FailingModel("bad_answer", first=10**6))
        assert again.done == "admitted"  # nothing was seen of the change before
