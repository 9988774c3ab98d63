"""The scheduler: what it does when, what it keeps, and what it does when something fails."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brain import Brain, evolve
from brain.errors import ModelError, StoreError
from brain.evolve import Learner
from brain.evolve.evolver import make_step
from brain.evolve.hard_runs import MAX_FAILURES, SYNTHESIS_LIMITS
from brain.evolve.scheduler import (
    JOBS,
    MAX_PROMPT_BYTES,
    PAUSE_MS,
    Job,
    Scheduler,
)
from brain.experience.gaps import GAP_LIMITS
from brain.gating.case_files import Expectation
from brain.gating.decision import DEFAULT_RULES
from brain.gating.held_out import is_held_out
from brain.models.ask import ask_text
from brain.results import ScheduledStep
from tests.support.scripted_model import Asked, FakeModel, ScriptedAnswer

BODY = "# Oracles\n\nAsk two feeds, and compare how old the answers are.\n"
SKILL = {
    "decision": "create",
    "name": "oracle-manipulation",
    "description": "Use when a contract reads a price.",
    "body": BODY,
    "reason": "One feed was stale.",
}
NOTHING = {"decision": "nothing", "reason": "Routine."}
SYNTHESIS = JOBS[:1]
HOUR = 3_600_000


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def now(self) -> int:
        return self.ms


@pytest.fixture
def clock():
    return Clock()


def work(brain: Brain, *errors: str, task: str = "Audit the vault", **more: Any) -> str:
    """Record a run with calls of a tool, one for each error, "" for one that worked."""
    with brain.task(task, **more) as run:
        for error in errors:
            run.record_tool_call("terminal", "forge test", error=error)
    return run.id


def schedule(brain: Brain, model: Any, clock: Clock, **more: Any) -> Scheduler:
    return Scheduler(brain, model, now=clock.now, **more)


def run_due(
    brain: Brain, model: Any, clock: Clock, jobs: tuple[Job, ...] = SYNTHESIS
) -> list[ScheduledStep]:
    return list(schedule(brain, model, clock, jobs=jobs).run_due())


def make_job(run: Any, name: str = "later", **more: Any) -> Job:
    """Return a job that runs so."""
    fields = {"evolver": name, "work_off": lambda _, scheduler: run(scheduler), **more}
    made: Job = type("Made", (Job,), fields)()
    return made


def set_manifest(brain: Brain, text: str) -> None:
    manifest = brain.root / "manifest.yaml"
    manifest.write_text(manifest.read_text() + text)
    brain.snapshot()


def waiting(brain: Brain) -> list[str]:
    """Return the runs in the queue that nobody has learned from."""
    store = schedule(brain, None, Clock()).store
    return [item.key for item in store.items("synthesis") if item.result is None]


class TestHardRunsAreQueued:
    def test_a_hard_task_is_queued_once_it_ends(self, brain):
        run = work(brain, "exit 1", "")
        work(brain, "")
        assert waiting(brain) == [run]

    def test_five_calls_are_hard(self, brain):
        run = work(brain, *[""] * 5)
        assert waiting(brain) == [run]

    def test_a_failed_run_is_not_queued(self, brain):
        with pytest.raises(RuntimeError), brain.task("Look") as run:
            run.record_tool_call("terminal", error="exit 1")
            run.record_tool_call("terminal")
            raise RuntimeError
        assert waiting(brain) == []

    def test_the_manifest_says_what_is_hard(self, brain):
        set_manifest(brain, "synthesis:\n  tools: 2\n  recovery: false\n")
        run = work(brain, "", "")
        assert waiting(brain) == [run]

    def test_in_the_mode_off_nothing_is_queued(self, brain):
        set_manifest(brain, "evolution:\n  mode: off\n")
        work(brain, "exit 1", "")
        assert waiting(brain) == []
        assert not (brain.root / ".brain/evolution.db").exists()

    def test_a_run_that_a_learner_learned_from_is_not_queued(self, brain):
        work(brain, "exit 1", "", on_success=Learner(brain, FakeModel(NOTHING)))
        assert waiting(brain) == []

    def test_a_run_whose_learner_failed_is_queued(self, brain):
        run = work(brain, "exit 1", "", on_success=Learner(brain, FakeModel()))
        assert waiting(brain) == [run]

    def test_a_broken_store_of_experience_fails_no_run(self, brain):
        (brain.root / ".brain/evolution.db").write_bytes(b"no database" * 100)
        with brain.task("Audit") as run:
            run.record_tool_call("terminal", error="exit 1")
            run.record_tool_call("terminal")
        brain._locked.wait_for_recorder()
        assert isinstance(run.learning_error, StoreError) and run.snapshot

    def test_a_bad_manifest_fails_no_run(self, brain):
        (brain.root / "manifest.yaml").write_text("synthesis:\n  tools: many\n")
        brain.snapshot()
        with brain.task("Audit") as run:
            run.record_tool_call("terminal", error="exit 1")
            run.record_tool_call("terminal")
        assert run.learning_error is not None and run.learning_error.code == "bad_manifest"

    def test_an_abandoned_run_that_wrote_nothing_is_queued_with_its_receipt(self, brain, clock):
        run = brain.task("A session of claude")
        for number in range(5):
            run.record_tool_call("terminal", f"step {number}")
        assert run.abandon("the session ended") is None
        assert waiting(brain) == [run.id]
        model = FakeModel(NOTHING)
        run_due(brain, model, clock)
        assert "step 4" in model.requests[0].messages[0].text

    def test_an_imported_run_is_queued_once(self, brain):
        work(brain, "exit 1", "")
        receipt = brain.receipts.read_run()._replace(run="imported")
        assert evolve.queue_run(brain, receipt)
        assert not evolve.queue_run(brain, receipt)
        assert "imported" in waiting(brain)


class TestQueuedRunsAreLearnedFrom:
    def test_each_run_goes_through_the_gate_and_is_done(self, brain, clock):
        first, second = work(brain, "exit 1", ""), work(brain, *[""] * 5)
        steps = run_due(brain, FakeModel(SKILL, NOTHING), clock)
        assert [(step.key, step.result, step.slug) for step in steps] == [
            (first, "done", "oracle-manipulation"),
            (second, "done", ""),
        ]
        assert steps[0].outcome is not None and steps[0].outcome.done == "proposed"
        assert brain.skills.list() == [] and len(brain.proposals.list()) == 1
        assert waiting(brain) == [] and run_due(brain, FakeModel(), clock) == []

    def test_what_became_of_it_is_in_the_audit(self, brain, clock):
        run = work(brain, "exit 1", "")
        run_due(brain, FakeModel(SKILL), clock)
        (event,) = schedule(brain, None, clock).store.events("synthesis")
        assert (event.name, event.phase, event.result) == (
            "oracle-manipulation",
            "proposed",
            "success",
        )
        assert f"recovery,run={run},reason=there are no held-out cases" in event.trigger_reason

    def test_without_a_model_runs_wait_and_it_says_so(self, brain, clock):
        run = work(brain, "exit 1", "")
        (step,) = run_due(brain, None, clock)
        assert step.result == "waiting" and "no model is configured" in step.reason
        assert waiting(brain) == [run]

    def test_in_the_mode_off_no_model_is_asked(self, brain, clock):
        work(brain, "exit 1", "")
        set_manifest(brain, "evolution:\n  mode: off\n")
        model = FakeModel(SKILL)
        (step,) = run_due(brain, model, clock)
        assert "off" in step.reason and model.requests == []

    def test_attempts_are_limited(self, brain, clock):
        most = SYNTHESIS_LIMITS[0].most
        for _ in range(most + 1):
            work(brain, "exit 1", "")
        steps = run_due(brain, FakeModel(*[NOTHING] * (most + 1)), clock)
        assert [step.result for step in steps] == ["done"] * most + ["waiting"]
        assert "per hour is reached" in steps[-1].reason
        clock.ms += HOUR
        assert [step.result for step in run_due(brain, FakeModel(NOTHING), clock)] == ["done"]

    def test_attempts_count_for_one_brain(self, brain, clock):
        work(brain, "exit 1", "")
        context = schedule(brain, None, clock)
        run_due(brain, FakeModel(NOTHING), clock)
        counted = context.store.counts("synthesis", SYNTHESIS_LIMITS, clock.ms)
        assert counted == {"hour": 1, "day": 1}

    def test_a_run_that_is_gone_is_given_up(self, brain, clock):
        store = schedule(brain, None, clock).store
        store.add("synthesis", "a", 1, {"trigger": "x", "receipt": "no JSON"})
        store.add("synthesis", "b", 1, {"trigger": "x", "snapshot": "ff00ff"})
        model = FakeModel()
        steps = run_due(brain, model, clock)
        assert [step.result for step in steps] == ["failed", "failed"]
        assert waiting(brain) == [] and model.requests == []


class TestFailuresOfTheModel:
    def test_it_is_asked_again_after_a_pause(self, brain, clock):
        work(brain, "exit 1", "")
        busy = ModelError("busy", code="unavailable")
        model = FakeModel(busy, busy, NOTHING)
        assert [step.result for step in run_due(brain, model, clock)] == ["failed", "waiting"]
        (step,) = run_due(brain, model, clock)
        assert "the model failed and is not asked before" in step.reason
        clock.ms += HOUR // 4
        assert run_due(brain, model, clock)[0].result == "failed"
        assert [step.result for step in run_due(brain, model, clock)] == ["waiting"]
        assert len(model.requests) == 2
        clock.ms += HOUR // 4
        assert [step.result for step in run_due(brain, model, clock)] == ["done"]

    def test_a_model_that_answers_nonsense_for_ever_is_asked_a_bounded_number_of_times(
        self, brain, clock
    ):
        work(brain, "exit 1", "")
        model = FakeModel(*["what?"] * 100)
        for _ in range(20):
            run_due(brain, model, clock)
            clock.ms += PAUSE_MS
        assert len(model.requests) == 6 and waiting(brain) == []
        (event,) = schedule(brain, None, clock).store.events("synthesis")
        assert event.result == "failed" and "gave no answer" in event.trigger_reason

    def test_a_model_that_never_answers_ends_the_item(self, brain, clock):
        work(brain, "exit 1", "")
        model = FakeModel()
        for _ in range(20):
            run_due(brain, model, clock)
            clock.ms += PAUSE_MS
        assert len(model.requests) == MAX_FAILURES and waiting(brain) == []

    def test_another_model_has_no_pause(self, brain, clock):
        work(brain, "exit 1", "")
        work(brain, "exit 1", "")
        run_due(brain, FakeModel(), clock)
        steps = run_due(brain, FakeModel(NOTHING, NOTHING, name="other"), clock)
        assert [step.result for step in steps] == ["done", "done"]

    def test_a_clock_that_is_set_back_does_not_prolong_a_pause(self, brain, clock):
        work(brain, "exit 1", "")
        work(brain, "exit 1", "")
        run_due(brain, FakeModel(), clock)
        clock.ms -= 365 * 24 * HOUR
        assert run_due(brain, FakeModel(NOTHING), clock)[0].result == "done"


class TestInterruptedAttempts:
    def test_a_stop_keeps_the_answers_for_the_next_attempt(self, brain, clock):
        work(brain, "exit 1", "")
        stopped: list[bool] = []

        class Stopping(FakeModel):
            def answer(self, request: Asked) -> ScriptedAnswer:
                stopped.append(True)
                return super().answer(request)

        stop = {"should_stop": lambda: bool(stopped), "jobs": SYNTHESIS}
        (step,) = schedule(brain, Stopping("what?"), clock, **stop).run_due()
        assert (step.result, step.reason) == ("waiting", "the scheduler ends")
        model = FakeModel(SKILL)
        (step,) = run_due(brain, model, clock)
        assert step.result == "done" and len(model.requests) == 1
        assert "That answer is refused" in model.requests[0].messages[-1].text

    def test_an_interrupted_item_is_free_at_once(self, brain, clock):
        work(brain, "exit 1", "")

        class Interrupting(FakeModel):
            def answer(self, request: Asked) -> ScriptedAnswer:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_due(brain, Interrupting(), clock)
        assert [step.result for step in run_due(brain, FakeModel(NOTHING), clock)] == ["done"]

    def test_an_item_that_is_gone_is_dropped_and_nothing_is_recorded(self, brain, clock):
        work(brain, "exit 1", "")
        schedule(brain, None, clock)

        class Deleting(FakeModel):
            def answer(self, request: Asked) -> ScriptedAnswer:
                for file in (brain.root / ".brain").glob("evolution.db*"):
                    file.unlink()
                return super().answer(request)

        (step,) = run_due(brain, Deleting(SKILL), clock)
        assert step.result == "busy" and brain.proposals.list() == []


class TestWhatWasPaidForIsNotAskedAgain:
    def test_an_error_in_a_conversation_with_tools_keeps_the_replies_before_it(self, brain, clock):
        work(brain, "exit 1", "")
        model = FakeModel(
            ("skills_list", {}),
            ModelError("busy", code="unavailable"),
            json.dumps(SKILL),
            tool_rounds=9,
        )
        assert run_due(brain, model, clock)[0].result == "failed"
        clock.ms += HOUR // 4
        (step,) = run_due(brain, model, clock)
        assert (step.result, step.slug) == ("done", "oracle-manipulation")
        first, failed, second = model.requests
        assert first != failed == second
        store = schedule(brain, None, clock).store
        counted = store.counts("synthesis", SYNTHESIS_LIMITS, clock.ms)
        assert counted["hour"] == 1

    def test_an_answer_that_is_too_long_to_store_ends_the_item(self, brain, clock, monkeypatch):
        monkeypatch.setattr("brain.models.paid_once.MAX_STORED_BYTES", 300)
        work(brain, "exit 1", "")
        model = FakeModel("x" * 300, SKILL)
        (step, *_) = run_due(brain, model, clock)
        assert step.result == "failed" and "given up: the answer has" in step.reason
        assert waiting(brain) == [] and len(model.requests) == 1
        assert evolve.read_status(brain).costs[0].tokens_out == 75

    @pytest.mark.parametrize("code", ["answer_cut", "answer_too_large"])
    def test_an_answer_that_came_and_cannot_be_used_is_not_asked_for_again(
        self, brain, clock, code
    ):
        work(brain, "exit 1", "")
        model = FakeModel(ModelError("it is cut", code=code), SKILL)
        for _ in range(3):
            run_due(brain, model, clock)
            clock.ms += PAUSE_MS
        assert waiting(brain) == [] and len(model.requests) == 1


class TestPeriodicJobs:
    @staticmethod
    def job(calls: list[int]) -> Job:
        def run(context: Scheduler) -> Iterator[ScheduledStep]:
            calls.append(context.now())
            yield make_step("later", "done", "ran")

        return make_job(run, period=HOUR, needs_model=False)

    def test_a_job_runs_once_in_its_period(self, brain, clock):
        calls: list[int] = []
        jobs = (self.job(calls),)
        for minutes in (0, 1, 30, 28):
            clock.ms += minutes * 60_000
            run_due(brain, None, clock, jobs)
        assert len(calls) == 1
        clock.ms += HOUR
        run_due(brain, None, clock, jobs)
        assert len(calls) == 2

    def test_two_schedulers_do_not_run_at_once(self, brain, clock):
        seen: list[ScheduledStep] = []

        def run(context: Scheduler) -> Iterator[ScheduledStep]:
            seen.extend(run_due(brain, None, clock, (self.job([]),)))
            yield make_step("later", "done", "ran")

        steps = run_due(brain, None, clock, (make_job(run, needs_model=False),))
        assert [step.result for step in steps] == ["done"]
        assert [step.result for step in seen] == ["busy"]
        assert "another process learns from this brain" in seen[0].reason

    def test_a_job_that_was_broken_off_is_due_at_once(self, brain, clock):
        calls: list[int] = []

        def die(context: Scheduler) -> Iterator[ScheduledStep]:
            yield make_step("later", "done", "begun")
            raise AssertionError("unreachable")

        begun = schedule(
            brain, None, clock, jobs=(make_job(die, period=HOUR, needs_model=False),)
        ).run_due()
        next(begun)
        begun.close()
        assert [step.result for step in run_due(brain, None, clock, (self.job(calls),))] == ["done"]

    @pytest.mark.parametrize("jump", [-400 * 24 * HOUR, 400 * 24 * HOUR])
    def test_a_clock_that_jumps_delays_no_job(self, brain, clock, jump):
        calls: list[int] = []
        jobs = (self.job(calls),)
        run_due(brain, None, clock, jobs)
        clock.ms += jump
        run_due(brain, None, clock, jobs)
        run_due(brain, None, clock, jobs)
        assert len(calls) == 2

    def test_a_failing_job_is_said_and_the_others_run(self, brain, clock):
        def fail(context: Scheduler) -> Iterator[ScheduledStep]:
            raise StoreError("the server does not answer")
            yield

        calls: list[int] = []
        failing = make_job(fail, "failing", period=HOUR, needs_model=False)
        steps = run_due(brain, None, clock, (failing, self.job(calls)))
        assert [(step.evolver, step.result) for step in steps] == [
            ("failing", "failed"),
            ("later", "done"),
        ]

    def test_a_failure_of_the_model_in_a_job_pauses_it_for_all(self, brain, clock):
        def ask(context: Scheduler) -> Iterator[ScheduledStep]:
            model = context.metered_model("asking")
            assert model is not None
            ask_text(model, "", "", 1)
            yield make_step("asking", "done", "answered")

        asking = make_job(ask, "asking", period=HOUR)
        model = FakeModel(ModelError("busy", code="unavailable"), "fine")
        (step,) = run_due(brain, model, clock, (asking,))
        assert step.result == "failed" and "is not asked before" in step.reason
        assert step.reason.endswith("busy")
        work(brain, "exit 1", "")
        assert [one.result for one in run_due(brain, model, clock)] == ["waiting"]
        clock.ms += HOUR
        assert [one.result for one in run_due(brain, model, clock, (asking,))] == ["done"]

    def test_all_jobs_of_the_table_run_on_a_new_brain(self, brain, clock):
        assert [job.evolver for job in JOBS] == ["synthesis", "patterns", "gaps", "provisional"]
        steps = run_due(brain, FakeModel(), clock, JOBS)
        assert [step for step in steps if step.result == "failed"] == []


class TestTheLoop:
    def test_it_waits_between_turns_and_ends_when_told(self, brain, clock):
        stop = threading.Event()
        waits: list[float] = []

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 3:
                stop.set()

        run = work(brain, "exit 1", "")
        steps = list(evolve.run(brain, FakeModel(NOTHING), stop, now=clock.now, wait=wait))
        assert [step.key for step in steps if step.evolver == "synthesis"] == [run]
        assert waits == [30.0] * 3

    def test_the_same_reason_is_said_once(self, brain, clock):
        work(brain, "exit 1", "")
        stop, waits = threading.Event(), iter(range(3))

        def wait(seconds: float) -> None:
            if next(waits) == 2:
                stop.set()

        scheduler = schedule(brain, None, clock, should_stop=stop.is_set, jobs=SYNTHESIS)
        steps = list(scheduler.run(wait))
        assert [step.result for step in steps] == ["waiting"]

    def test_while_the_store_is_broken_it_waits_longer_and_then_goes_on(self, brain, clock):
        work(brain, "exit 1", "")
        schedule(brain, None, clock).store.close()
        file = brain.root / ".brain/evolution.db"
        good = _checkpointed(file)
        file.write_bytes(b"no database" * 100)
        stop = threading.Event()
        waits: list[float] = []

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 3:
                file.write_bytes(good)
            if len(waits) == 4:
                stop.set()

        steps = [
            (step.evolver, step.result)
            for step in schedule(
                *(brain, FakeModel(NOTHING), clock), should_stop=stop.is_set, jobs=SYNTHESIS
            ).run(wait)
        ]
        assert steps == [("experience", "failed"), ("synthesis", "done")]
        assert waits == [60.0, 120.0, 240.0, 30.0]


def _checkpointed(file: Path) -> bytes:
    """Return the content of a database with all that its log holds."""
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    data = file.read_bytes()
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    return data


class TestStatus:
    def test_it_says_what_is_next_what_it_cost_and_why(self, brain, clock):
        work(brain, "exit 1", "")
        run_due(brain, FakeModel(SKILL), clock)
        work(brain, "exit 1", "")
        status = evolve.read_status(brain, "scripted", now=clock.now)
        assert (status.mode, status.model, status.problems) == ("propose", "scripted", [])
        synthesis = status.evolvers[0]
        assert (synthesis.waiting, synthesis.reason) == (1, "")
        assert synthesis.next is not None
        cost = status.costs[0]
        assert (cost.requests, cost.tokens_in > 0, cost.tokens_out > 0) == (1, True, True)
        hour = status.rates[0]
        most = SYNTHESIS_LIMITS[0].most
        assert (hour.limit, hour.attempts, hour.most, hour.left) == ("hour", 1, most, most - 1)
        assert hour.renewed.timestamp() * 1000 == (clock.ms // HOUR + 1) * HOUR
        (decision,) = status.decisions
        assert decision.name == "oracle-manipulation" and "no held-out" in decision.trigger_reason

    def test_it_has_the_limits_of_gaps_and_when_they_are_free_again(self, brain, clock):
        context = schedule(brain, None, clock)
        for _ in range(2):
            for limit in GAP_LIMITS:
                context.store.add_count("gaps", limit, clock.ms)
        status = evolve.read_status(brain, "scripted", now=clock.now)
        rates = [rate for rate in status.rates if rate.evolver == "gaps"]
        assert [(one.limit, one.attempts, one.most, one.left) for one in rates] == [
            ("hour", 2, 2, 0),
            ("day", 2, 5, 3),
        ]
        gaps = status.evolvers[2]
        assert "per hour is reached" in gaps.reason and gaps.next == rates[0].renewed

    def test_each_request_has_a_bound_of_its_cost(self, brain, clock):
        model = FakeModel("never")
        metered = schedule(brain, model, clock).metered_model("gaps")
        assert metered is not None
        with pytest.raises(ModelError, match="the prompt has"):
            ask_text(metered, "", "x" * (MAX_PROMPT_BYTES + 1), 1)
        assert model.requests == []

    @pytest.mark.parametrize(
        ("variable", "off"), [("SKILLS_ENABLED", "gaps"), ("SKILL_EVOLUTION_ENABLED", "patterns")]
    )
    def test_what_the_environment_turns_off_is_not_run_and_the_status_says_so(
        self, brain, clock, monkeypatch, variable, off
    ):
        monkeypatch.setenv(variable, "false")
        status = evolve.read_status(brain, "scripted", now=clock.now)
        (found,) = [one for one in status.evolvers if one.evolver == off]
        assert (found.next, found.reason) == (None, f"{variable} turns {off} off")
        assert all(one.reason == "" for one in status.evolvers if one.evolver != off)
        run_due(brain, FakeModel(), clock, JOBS)
        store = schedule(brain, None, clock).store
        assert store.fact(f"job/{off}") == {}

    def test_a_pause_is_why_all_wait_that_need_a_model_and_until_when(self, brain, clock):
        work(brain, "exit 1", "")
        run_due(brain, FakeModel(), clock)
        *need_a_model, provisional = evolve.read_status(brain, "scripted", now=clock.now).evolvers
        assert len(need_a_model) == 3 and not provisional.reason
        for one in need_a_model:
            assert "the model failed and is not asked before" in one.reason
            assert one.next is not None
            assert one.next.timestamp() * 1000 == clock.ms + PAUSE_MS

    def test_a_store_that_does_not_answer_is_a_problem(self, brain, clock):
        (brain.root / ".brain/evolution.db").write_bytes(b"no database" * 100)
        status = evolve.read_status(brain, now=clock.now)
        assert len(status.problems) == 1 and status.evolvers == []
        assert status.rates[0].attempts is None

    def test_without_a_model_and_off_it_says_why_nothing_happens(self, brain, clock):
        status = evolve.read_status(brain, now=clock.now)
        assert "no model is configured" in status.evolvers[0].reason
        set_manifest(brain, "evolution:\n  mode: off\n")
        status = evolve.read_status(brain, "scripted", now=clock.now)
        assert status.mode == "off"
        assert {(one.next, one.reason) for one in status.evolvers} == {(None, "evolution is off")}


class TestAModelThatFailsInTheGate:
    @pytest.mark.parametrize("chars", [0, 50_000])
    def test_no_case_fails_for_it_and_the_next_attempt_goes_on(self, brain, clock, chars):
        padding = "x" * chars
        texts = [text for n in range(40) if is_held_out(text := f"Read price {n}")][:6]
        for text in texts:
            brain.gate.add_case("oracle-manipulation", text, Expectation(contains=("two feeds",)))
        work(brain, "exit 1", "")

        class Answering(FakeModel):
            def answer(self, request: Asked) -> ScriptedAnswer:
                if len(self.requests) == 41:
                    raise ModelError("busy", code="unavailable")
                answer = super().answer(request)
                if request.system.startswith("You keep the skills"):
                    return answer
                has_skill = "Ask two feeds" in request.system
                return f"{'two' if has_skill else 'one'} feeds {padding}"

        model = Answering(SKILL, *["" for _ in range(200)])
        (step,) = run_due(brain, model, clock)
        assert (step.result, step.reason) == ("waiting", "busy")
        assert brain.proposals.list() == [] and len(model.requests) == 41
        clock.ms += HOUR // 4
        (step,) = run_due(brain, model, clock)
        assert step.outcome is not None and step.outcome.gate == "admit"
        assert step.outcome.done == "proposed"
        assert len(model.requests) == 2 + 2 * len(texts) * DEFAULT_RULES.min_rounds
