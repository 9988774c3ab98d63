"""Gaps while something is wrong: clocks that jump, counts that fail, other schedulers, nonsense."""

from collections.abc import Callable

import pytest

from brain import Brain
from brain.errors import ModelError, StoreError
from brain.evolve import FakeModel
from brain.evolve.gaps.gap_limits import GAP_LIMITS, rate_key
from brain.evolve.gaps.run_gaps import LEASE_MS
from brain.evolve.schedule.job_types import Clocks
from brain.models.scripted import Asked, ScriptedAnswer
from brain.results import ScheduledStep
from tests.support.gap_answers import NO_SKILL
from tests.support.gap_brains import DAY, GOAL, HOUR, NOW, fail, phases, run_gaps

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
    """Says that no skill would help, after it did something."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(*[NO_SKILL] * 9)
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

    def test_ahead_a_year_and_back_delays_a_gap_by_a_lease_at_most(self, brain):
        fail_at(brain, 5)
        assert attempt(brain, NOW + YEAR) == 2
        assert attempt(brain, NOW) == 0
        assert attempt(brain, NOW + LEASE_MS) == 2

    def test_back_while_an_attempt_goes_on_gives_it_to_nobody_else(self, brain):
        fail(brain)
        others: list[int] = []
        model = Acting(lambda: others.append(attempt(brain, NOW - DAY)))
        assert len(run_gaps(brain, model, now=NOW)) == 1
        assert others == [0] and phases(brain) == [("model", "skipped")]


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


class TestCountsThatFail:
    def test_a_count_whose_answer_was_lost_is_not_taken_again(self, brain, monkeypatch):
        fail(brain)
        store = brain.gaps.open_stores().store
        take = store.take

        def lose(*args: object) -> str:
            take(*args)  # type: ignore[arg-type]
            raise StoreError("the server does not answer", code="experience_unavailable")

        with monkeypatch.context() as patched:
            patched.setattr(store, "take", lose)
            assert attempt(brain, NOW) == 0
        assert attempt(brain, NOW + LEASE_MS) == 1
        assert store.read(rate_key(brain.id), GAP_LIMITS, NOW)["daily"] == 1


def test_a_second_scheduler_leaves_the_gaps_to_the_first(brain):
    fail(brain)
    clocks = Clocks(now=lambda: NOW)
    seen: list[ScheduledStep] = []

    def run_second() -> None:
        with Brain.open(brain.root) as other:
            seen.extend(other.evolution.run_due(FakeModel(), clocks=clocks))

    (step,) = brain.evolution.run_due(Acting(run_second), clocks=clocks)
    assert (step.evolver, step.result) == ("gaps", "done")
    assert [one for one in seen if one.evolver == "gaps" and one.result == "done"] == []
    assert phases(brain) == [("model", "skipped")]


def test_the_lease_of_a_later_gap_begins_when_it_is_claimed(brain, monkeypatch):
    for goal in ("Count the words", "Count the lines"):
        fail(brain, goal)
    seconds = [0.0]
    monkeypatch.setattr("brain.evolve.held_work.time.monotonic", lambda: seconds[0])
    store = brain.gaps.open_stores().store
    others: list[object] = []

    class Slow(FakeModel):
        def answer(self, request: Asked) -> ScriptedAnswer:
            seconds[0] += LEASE_MS / 1000 - 60
            now = NOW + int(seconds[0]) * 1000
            others.append(store.claim_work("gaps", now, LEASE_MS, 9) if self.requests[1:] else None)
            return super().answer(request)

    assert len(run_gaps(brain, Slow(NO_SKILL, NO_SKILL), now=NOW)) == 2
    assert others == [None, None]


def test_a_stop_before_a_request_goes_on_with_it_at_once(brain):
    fail(brain)
    model = FakeModel("nonsense", NO_SKILL)
    clocks = Clocks(now=lambda: NOW)

    def run_due(should_stop: Callable[[], bool]) -> list[str]:
        steps = brain.evolution.run_due(model, clocks=clocks, should_stop=should_stop)
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
