"""Gaps while something is wrong: clocks that jump, counts that fail, other schedulers, nonsense."""

from collections.abc import Callable
from functools import partial

import pytest

from brain import Brain, evolve
from brain.errors import BrainError, Conflict, Locked, ModelError
from brain.results import ScheduledStep
from tests.support.gap_answers import NO_SKILL, gap_answer
from tests.support.gap_brains import DAY, GOAL, HOUR, NOW, fail, phases, run_gaps
from tests.support.refusals import raises_code
from tests.support.scripted_model import Asked, FakeModel, ScriptedAnswer

YEAR = 365 * DAY


@pytest.fixture
def brain(tmp_path, sandbox, monkeypatch):
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    with Brain.init(tmp_path / "agent", author="tester") as made:
        yield made


def fail_at(brain: Brain, count: int) -> None:
    for number in range(count):
        fail(brain, f"{GOAL} {number}")


def attempt(brain: Brain, now: int) -> int:
    """Return how many gaps were attempted."""
    results = run_gaps(brain, FakeModel(*[NO_SKILL] * 9), now=now)
    return sum(one.phase == "model" for one in results)


class Acting(FakeModel):
    """Says that no skill would help, or what it is given, after it did something."""

    def __init__(self, act: Callable[[], object], answer: str = NO_SKILL) -> None:
        super().__init__(*[answer] * 9)
        self._act = act

    def answer(self, request: Asked) -> ScriptedAnswer:
        self._act()
        return super().answer(request)


class TestAClockThatJumps:
    def test_back_a_day_frees_no_day_that_is_used_up_and_leaves_nothing_stuck(self, brain):
        fail_at(brain, 16)
        hours = (0, 1, 2, 3)
        assert [attempt(brain, NOW + hour * HOUR) for hour in hours] == [2, 2, 1, 0]
        assert [attempt(brain, NOW + DAY + hour * HOUR) for hour in hours] == [2, 2, 1, 0]
        for back in (NOW + 4 * HOUR, NOW + 5 * HOUR, NOW + DAY + 5 * HOUR):
            assert attempt(brain, back) == 0
        assert attempt(brain, NOW + 2 * DAY) == 2

    def test_ahead_a_year_and_back_delays_no_gap(self, brain):
        fail_at(brain, 5)
        assert attempt(brain, NOW + YEAR) == 2
        assert attempt(brain, NOW) == 2

    def test_back_while_an_attempt_goes_on_gives_it_to_nobody_else(self, brain):
        fail(brain)
        others: list[str] = []

        def run_another() -> None:
            with pytest.raises(Locked) as refused:
                evolve.run_gaps(brain, FakeModel(NO_SKILL), now=NOW - DAY)
            others.append(refused.value.code)

        assert len(evolve.run_gaps(brain, Acting(run_another), now=NOW)) == 1
        assert others == ["learning"] and phases(brain) == [("model", "skipped")]


class TestAGapThatWaits:
    def test_for_a_limit_is_attempted_when_its_hour_is_over(self, brain):
        fail_at(brain, 3)
        assert attempt(brain, NOW + HOUR - 60_000) == 2
        assert attempt(brain, NOW + HOUR - 1) == 0
        assert attempt(brain, NOW + HOUR) == 1

    def test_for_the_model_is_attempted_at_once_when_the_model_may_be_asked(self, brain):
        fail(brain)
        with pytest.raises(ModelError):
            run_gaps(brain, FakeModel(ModelError("the endpoint is down")), now=NOW)
        assert attempt(brain, NOW + 1) == 1


def test_an_attempt_goes_on_with_its_answer_if_evolution_was_turned_off_meanwhile(brain):
    fail(brain)
    manifest = brain.root / "manifest.yaml"
    text = manifest.read_text()
    turn_off = partial(manifest.write_text, f"{text}evolution: {{mode: off}}\n")
    with raises_code("evolution_off", Conflict):
        evolve.run_gaps(brain, Acting(turn_off, gap_answer()), now=NOW)
    manifest.write_text(text)
    (result,) = evolve.run_gaps(brain, FakeModel(), now=NOW)
    assert (result.phase, phases(brain)) == ("proposed", [("proposed", "skipped")])


def test_a_question_that_was_not_asked_since_evolution_was_off_is_no_lost_answer(brain):
    fail(brain)
    manifest = brain.root / "manifest.yaml"
    text = manifest.read_text()
    for bad in ("mode: off", "mode: of"):  # the second is a manifest that nobody can read
        turn_off = partial(manifest.write_text, f"{text}evolution: {{{bad}}}\n")
        with pytest.raises(BrainError):
            evolve.run_gaps(brain, Acting(turn_off, "no answer"), now=NOW)
        manifest.write_text(text)
    (result,) = evolve.run_gaps(brain, FakeModel(gap_answer()), now=NOW)
    assert (result.phase, phases(brain)) == ("proposed", [("proposed", "skipped")])


def test_a_second_scheduler_leaves_the_gaps_to_the_first(brain):
    fail(brain)
    seen: list[ScheduledStep] = []

    def run_second() -> None:
        with Brain.open(brain.root) as other:
            seen.extend(evolve.run_due(other, FakeModel(), now=lambda: NOW))

    (step,) = evolve.run_due(brain, Acting(run_second), now=lambda: NOW)
    assert (step.evolver, step.result) == ("gaps", "done")
    assert [one.result for one in seen] == ["busy"]
    assert "another process learns" in seen[0].reason
    assert phases(brain) == [("model", "skipped")]


def test_a_stop_before_a_request_goes_on_with_it_at_once(brain):
    fail(brain)
    model = FakeModel("nonsense", NO_SKILL)

    def run_due(should_stop: Callable[[], bool]) -> list[str]:
        steps = evolve.run_due(brain, model, now=lambda: NOW, should_stop=should_stop)
        return [f"{step.result}: {step.reason}" for step in steps if step.evolver == "gaps"]

    assert run_due(lambda: len(model.requests) == 1) == ["waiting: the scheduler ends"]
    assert run_due(lambda: False) == ["done: skipped in model: The server was down."]
    first, second = (request.messages for request in model.requests)
    assert second[: len(first)] == first and len(second) > len(first)


def test_the_longest_answers_fit_into_what_is_kept(brain):
    fail(brain)
    model = FakeModel(*["\U0001f600" * 100_000] * 3)
    (result,) = run_gaps(brain, model, now=NOW)
    assert (result.phase, result.result, len(model.requests)) == ("validation", "rejected", 3)


def test_a_model_that_answers_nonsense_for_ever_costs_what_the_limits_say(brain):
    fail(brain, times=2)
    model = FakeModel(*["nonsense"] * 1_000)
    for hour in range(16):
        fail(brain, times=1)
        run_gaps(brain, model, now=NOW + hour * HOUR)
    assert len(model.requests) == 5 * 3
    assert phases(brain).count(("validation", "rejected")) == 5
    assert len(model.requests[-1].messages[0].text) < 8_000
