"""What models may cost: forecast before each request, counted after it, kept over kills."""

import json
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from brain import Brain, evolve
from brain.errors import InvalidInput, ModelError
from brain.evolve import Learner
from brain.evolve.budget import BudgetSpent, open_budget
from brain.experience.store import Item, Store
from brain.gating.case_files import Expectation
from brain.gating.held_out import is_held_out
from brain.models.ask import ask_text
from brain.models.config import Prices
from brain.repo.manifest import Bounds, parse_manifest
from brain.results import ScheduledStep
from tests.integration.evolve.schedule.test_scheduler import (
    HOUR,
    NOTHING,
    SKILL,
    Clock,
    set_manifest,
    waiting,
    work,
)
from tests.support.killed_steps import run_killed
from tests.support.scripted_model import Asked, FakeModel, ScriptedAnswer

DAY = 24 * HOUR
ROOM = 60_000
"""Tokens that pay one request of a hard run, and not two: 16,000 are those of an answer."""
NEVER = 1_000_000


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def brain(tmp_path, monkeypatch):
    monkeypatch.setenv("SKILL_EVOLUTION_ENABLED", "false")
    with Brain.init(tmp_path / "agent", author="tester") as made:
        yield made


def bound(brain: Brain, text: str) -> None:
    set_manifest(brain, f"evolution: {{budget: {{day: {{{text}}}}}}}\n")


def run(brain: Brain, model: Any, clock: Clock, **budget: int) -> list[ScheduledStep]:
    steps = evolve.run_due(brain, model, budget=Bounds(**budget), now=clock.now)
    return [step for step in steps if step.evolver == "synthesis"]


def used(brain: Brain, clock: Clock) -> float:
    budget = evolve.read_status(brain, "scripted", now=clock.now).budget
    assert budget is not None
    return budget.tokens.used


class Spending(FakeModel):
    """Says that each answer took 50,000 tokens, which is more than it may."""

    tokens = 50_000

    async def request(self, *asked: Any) -> Any:
        """Return an answer."""
        response = await super().request(*asked)
        response.usage.input_tokens = self.tokens
        response.usage.output_tokens = 0
        return response


def test_what_a_day_does_not_pay_waits_and_goes_on_the_next_day(brain, clock):
    bound(brain, f"tokens: {ROOM}")
    first, second = work(brain, "exit 1", ""), work(brain, "exit 1", "")
    model = Spending(NOTHING, NOTHING)
    steps = run(brain, model, clock)
    assert [(step.key, step.result) for step in steps] == [(first, "done"), (second, "waiting")]
    assert "the budget of a day is spent: 50000 tokens of 60000 tokens" in steps[1].reason
    status = evolve.read_status(brain, "scripted", now=clock.now)
    assert status.budget is not None and status.budget.reason == steps[1].reason
    assert status.budget.tokens == (50_000, 60_000, 10_000)
    assert status.evolvers[0].next == status.budget.renewed
    assert [step.result for step in run(brain, model, clock)] == ["waiting"]
    assert waiting(brain) == [second] and len(model.requests) == 1
    clock.ms += DAY
    assert [step.result for step in run(brain, model, clock)] == ["done"]
    assert used(brain, clock) == 50_000


def test_a_raised_budget_is_taken_up_at_once_and_a_lower_one_before_it_is_recorded(brain, clock):
    bound(brain, f"tokens: {ROOM}")
    work(brain, "exit 1", "")
    work(brain, "exit 1", "")
    assert [step.result for step in run(brain, Spending(NOTHING), clock)] == ["done", "waiting"]
    manifest = brain.root / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace(str(ROOM), str(NEVER)))
    assert [step.result for step in run(brain, Spending(), clock)] == ["waiting"]
    brain.snapshot()
    manifest.write_text(manifest.read_text().replace(str(NEVER), "100"))
    assert [step.result for step in run(brain, Spending(), clock)] == ["waiting"]
    manifest.write_text(manifest.read_text().replace("tokens: 100", f"tokens: {NEVER}"))
    assert [step.result for step in run(brain, Spending(NOTHING), clock)] == ["done"]


def test_a_run_ends_once_its_budget_is_spent_and_the_next_one_goes_on(brain, clock):
    for _ in range(3):
        work(brain, "exit 1", "")
    model = Spending(NOTHING, NOTHING, NOTHING)
    steps = run(brain, model, clock, tokens=ROOM)
    assert [step.result for step in steps] == ["done", "waiting"]
    assert "the budget of this run is spent" in steps[1].reason
    waits: list[float] = []
    steps = list(
        evolve.run(
            brain, model, Stop(), budget=Bounds(tokens=ROOM), now=clock.now, wait=waits.append
        )
    )
    assert [step.result for step in steps if step.evolver == "synthesis"] == ["done", "waiting"]
    assert waits == [] and len(waiting(brain)) == 1


class Stop:
    """Never says that it should stop."""

    def is_set(self) -> bool:
        return False

    wait: Callable[[float], object]


def test_one_request_that_no_day_pays_lets_the_others_go_on(brain, clock):
    long = work(brain, *(f"exit {number} {'x' * 900}" for number in range(30)), "")
    short = work(brain, "exit 1", "")
    bound(brain, "tokens: 26000")
    steps = run(brain, FakeModel(NOTHING), clock)
    assert [(step.key, step.result) for step in steps] == [(long, "failed"), (short, "done")]
    assert "more than the budget of a day" in steps[0].reason
    assert run(brain, FakeModel(), clock) == [] and waiting(brain) == [long]
    bound_again = brain.root / "manifest.yaml"
    bound_again.write_text(bound_again.read_text().replace("26000", "260000"))
    brain.snapshot()
    evolve.make_due(brain)
    assert [step.result for step in run(brain, FakeModel(NOTHING), clock)] == ["done"]


def test_a_run_waits_while_the_budget_cannot_be_read(brain, clock):
    class Typing(FakeModel):
        def answer(self, request: Asked) -> ScriptedAnswer:
            manifest.write_text("evolution: {budget: {day: {tokens: 5x}}}\n")
            return super().answer(request)

    one, manifest = work(brain, "exit 1", ""), brain.root / "manifest.yaml"
    with pytest.raises(InvalidInput, match=r"budget\.day\.tokens must be"):
        run(brain, Typing("no answer"), clock)
    manifest.unlink()
    assert waiting(brain) == [one]
    assert [step.result for step in run(brain, FakeModel(NOTHING), clock)] == ["done"]


def test_what_the_endpoint_does_not_report_counts_by_its_bytes(brain, clock):
    class Silent(FakeModel):
        async def request(self, *asked: Any) -> Any:
            response = await super().request(*asked)
            response.usage.input_tokens = response.usage.output_tokens = 0
            return response

    work(brain, "exit 1", "")
    model = Silent(NOTHING)
    run(brain, model, clock)
    (request,) = model.requests
    size = len(request.system) + len(request.messages[0].text)
    cost = evolve.read_status(brain, "scripted", now=clock.now).costs[0]
    assert (cost.requests, cost.unreported) == (1, 1)
    assert size < cost.tokens_in < 3 * size and cost.tokens_out == len(json.dumps(NOTHING))
    before = used(brain, clock)
    assert before == cost.tokens_in + cost.tokens_out
    metered = open_budget(brain, None, now=clock.now).meter(Silent(""), "x", lambda _: None)
    assert ask_text(metered, "", "Well?", 10) == ""
    assert used(brain, clock) > before + len("Well?")


@pytest.mark.parametrize(
    ("code", "lost", "counts"), [("rejected", 0, False), ("model_timeout", 1, True)]
)
def test_a_request_whose_answer_may_have_been_made_counts_at_its_most(
    brain, clock, code, lost, counts
):
    work(brain, "exit 1", "")
    error = ModelError("no answer", code=code)
    error.lost = lost
    run(brain, FakeModel(error), clock)
    assert (used(brain, clock) > 16_000) == counts


def test_money_counts_by_the_prices_of_the_model(brain, clock):
    bound(brain, "cost: 0.5")
    work(brain, "exit 1", "")
    work(brain, "exit 1", "")
    (step,) = run(brain, FakeModel(), clock)
    assert step.result == "waiting" and "needs to know what tokens cost" in step.reason
    hard, *_, provisional = evolve.read_status(brain, "scripted", now=clock.now).evolvers
    assert (hard.next, hard.reason) == (None, step.reason)
    assert provisional.next is not None and not provisional.reason  # it needs no model
    model = Spending(NOTHING, NOTHING)
    model.prices = Prices(5_000_000, 25_000_000)
    steps = run(brain, model, clock)
    assert [step.result for step in steps] == ["done", "waiting"]
    assert "a cost of 0.2500 of a cost of 0.5000 are counted" in steps[1].reason
    model.prices = Prices(1_000_000, 5_000_000)
    assert [step.result for step in run(brain, model, clock)] == ["done"]
    budget = evolve.read_status(brain, "scripted", prices=model.prices, now=clock.now).budget
    assert budget is not None
    assert (budget.cost.used, budget.cost.left, budget.reason) == (0.3, 0.2, "")


def test_it_holds_for_what_is_not_scheduled_too(brain, clock):
    bound(brain, "tokens: 100")
    learner = Learner(brain, FakeModel())
    run_id = work(brain, "exit 1", "", on_success=learner)
    assert isinstance(learner.error, BudgetSpent) and waiting(brain) == [run_id]
    with pytest.raises(BudgetSpent) as caught:
        evolve.synthesize(brain, brain.receipts.read_run(), FakeModel())
    assert caught.value.code == "budget_spent"


def test_it_holds_while_the_gate_asks_cases_and_the_next_day_pays_the_rest(brain, clock):
    texts = [text for n in range(40) if is_held_out(text := f"Read price {n}")][:6]
    for text in texts:
        brain.gate.add_case("oracle-manipulation", text, Expectation(contains=("two feeds",)))
    work(brain, "exit 1", "")

    class Answering(Spending):
        tokens = 2_000

        def answer(self, request: Asked) -> ScriptedAnswer:
            if request.system.startswith("You keep the skills"):
                return super().answer(request)
            return "two feeds" if "Ask two feeds" in request.system else "one feed"

    bound(brain, f"tokens: {ROOM}")
    model, days = Answering(SKILL), 0
    while not (steps := run(brain, model, clock)) or steps[-1].result == "waiting":
        assert "the budget of a day is spent" in steps[-1].reason
        assert used(brain, clock) <= ROOM
        clock.ms += DAY
        days += 1
    assert days and steps[-1].outcome is not None and steps[-1].outcome.gate == "admit"
    asked = [one for one in model.requests if one.system.startswith("You keep the skills")]
    assert len(asked) == 1


def test_a_gap_that_is_not_paid_waits(brain, clock):
    bound(brain, "tokens: 100")
    for _ in range(3):
        brain.gaps.report("Draw a map", "no skill registered")
    brain.gaps.wait()
    model = FakeModel()
    steps = list(evolve.run_due(brain, model, now=clock.now))
    assert [(step.evolver, step.result) for step in steps] == [("gaps", "waiting")]
    assert "more than the budget of a day" in steps[0].reason and model.requests == []
    store = brain.gaps.open_store()
    assert store.items("gaps")[-1].result is None


def test_a_kill_at_any_step_loses_no_count(tmp_path, clock, monkeypatch):
    monkeypatch.setenv("SKILL_EVOLUTION_ENABLED", "false")
    with Brain.init(tmp_path / "template", author="tester") as brain:
        bound(brain, f"tokens: {NEVER}")
        work(brain, "exit 1", "")
    steps = [(Store, "add_count"), (Item, "keep"), (Paying, "answer"), (Item, "finish")]
    for number in count():
        folder, log = tmp_path / f"agent{number}", tmp_path / f"paid{number}"
        shutil.copytree(tmp_path / "template", folder)
        log.touch()

        def attempt(folder: Path = folder, log: Path = log) -> None:
            with Brain.open(folder, author="tester") as brain:
                run(brain, Paying(log), clock)

        step = run_killed(attempt, steps, number)
        attempt()
        with Brain.open(folder, author="tester") as brain:
            paid = Paying.tokens * len(log.read_text())
            counted, cost = used(brain, clock), evolve.read_status(brain).costs[0]
            where = f"killed before {step} {number}: {counted} of {paid}"
            assert paid <= counted, where
            assert counted == paid or step in ("answer", "keep", "add_count"), where
            assert cost.requests == 1 and waiting(brain) == [], where
        if not step:
            break


class Paying(Spending):
    """Writes a letter for each answer."""

    tokens = 9_000

    def __init__(self, log: Path) -> None:
        super().__init__(NOTHING)
        self._log = log

    def answer(self, request: Asked) -> ScriptedAnswer:
        with self._log.open("a") as file:
            file.write("x")
        return super().answer(request)


def test_without_a_budget_a_store_that_does_not_answer_stops_no_request(brain, clock):
    model = open_budget(brain, None).meter(FakeModel("yes", "yes"), "x", lambda _: None)
    file = brain.root / ".brain/evolution.db"
    file.write_bytes(b"no database" * 100)
    assert ask_text(model, "", "Well?", 10) == "yes"
    bound(brain, "tokens: 1000")
    with pytest.raises(Exception, match=r"evolution\.db"):
        ask_text(model, "", "Well?", 10)


@pytest.mark.parametrize(
    "text",
    [
        "budget: 5",
        "budget: {}",
        "budget: {hour: {tokens: 5}}",
        "budget: {day: 5}",
        "budget: {day: {}}",
        "budget: {day: {token: 5}}",
        "budget: {day: {tokens: 5, costs: 1}}",
        "budget: {day: {tokens: }}",
        "budget: {day: {tokens: 5, cost: null}}",
        *(
            f"budget: {{day: {{tokens: {bad}}}}}"
            for bad in ("0", "-5", "1.5", "many", "true", "1e400", ".nan", "99999999999999999999")
        ),
        *(
            f"budget: {{day: {{cost: {bad}}}}}"
            for bad in ("0", "-5", "many", "true", ".nan", ".inf", "0.0000001", "99999999999")
        ),
    ],
)
def test_a_budget_that_bounds_nothing_is_refused(text):
    with pytest.raises(InvalidInput, match="budget") as caught:
        parse_manifest(f"evolution: {{{text}}}".encode())
    assert caught.value.code == "bad_manifest"


def test_a_budget_is_read():
    manifest = parse_manifest(b"evolution: {budget: {day: {tokens: 200000, cost: 2.5}}}")
    assert manifest.day == Bounds(200_000, 2_500_000)
