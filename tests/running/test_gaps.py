"""Skills for goals that fail: written by a scripted model, tried in the sandbox, and remembered."""

import json
import os
import signal
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from brain import Brain, evolve
from brain.errors import Conflict, Locked, ModelError, StoreError
from brain.evolve import gaps as gaps_module
from brain.evolve.gaps import GAPS_AGENT, find_base
from brain.experience.gaps import GAP_LIMITS, GAPS
from brain.experience.store import Item
from brain.gating.case_files import Expectation
from brain.gating.held_out import is_held_out
from brain.models.paid_once import MAX_STORED_BYTES
from brain.repo.learning.program_runs import _limit_generated
from brain.results import GapResult
from brain.sandbox.job import DEFAULT_LIMITS
from tests.support.gap_answers import NO_SKILL, SEED_SKILL, gap_answer, seed_answer, words_code
from tests.support.gap_brains import (
    DAY,
    GOAL,
    HOUR,
    NOW,
    RecordingGate,
    add_cases,
    fail,
    phases,
    run_gaps,
    set_evolution,
)
from tests.support.process_death import dies_before_call
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.refusals import raises_code
from tests.support.scripted_model import Asked, FakeModel, ScriptedAnswer

PROCESSES = 32


@pytest.fixture
def brain(tmp_path, sandbox, monkeypatch):
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    with Brain.init(tmp_path / "agent", author="tester") as made:
        yield made


class TestASkillForAGap:
    def test_it_becomes_callable_where_a_person_wrote_cases_beforehand(self, brain):
        set_evolution(brain, "{mode: gated}")
        add_cases(brain)
        for _ in range(3):
            with pytest.raises(ValueError, match="no such tool"), brain.task(GOAL):
                raise ValueError("no such tool")
        assert brain.gaps.wait(TIMEOUT_SECONDS) == []
        model = FakeModel(gap_answer())
        (result,) = run_gaps(brain, model, now=NOW)
        assert (result.phase, result.result, result.slug) == ("complete", "success", "count-words")
        assert result.outcome is not None and result.outcome.gate == "admit"
        assert brain.skills.view("count-words").path == "skills/generated/count-words/SKILL.md"
        assert brain.programs.run("count-words", {"text": "a b c d"}).output == {"words": 4}
        (version,) = brain.history.why("count-words").versions
        assert version.work is not None and version.work.agent == GAPS_AGENT
        assert phases(brain) == [("complete", "success")]
        assert brain.verify().ok

    def test_the_model_sees_practice_cases_alone(self, brain):
        add_cases(brain)
        fail(brain)
        model = FakeModel(NO_SKILL)
        run_gaps(brain, model, now=NOW)
        shown = model.requests[0].messages[0].text
        assert "> count-words" in shown
        for case in brain.gate.cases("count-words"):
            given = json.dumps(dict(case.input))  # type: ignore[arg-type]
            assert (given in shown) <= (not case.is_held_out)

    def test_a_goal_that_is_a_held_out_case_is_left_alone(self, brain):
        texts = (f"Count the words of report {number}" for number in range(100))
        held_out = next(text for text in texts if is_held_out(text))
        brain.gate.add_case("count-words", held_out, Expectation(contains=("words",)))
        fail(brain, f"Do this at once:\n{held_out.upper()}")
        model = FakeModel(NO_SKILL)
        (result,) = run_gaps(brain, model, now=NOW)
        assert (result.phase, result.result, model.requests) == ("model", "skipped", [])
        assert "held-out case" in result.reason
        counts = brain.gaps.open_store().counts(GAPS, GAP_LIMITS, NOW)
        assert counts == {"daily": 0, "hourly": 0}

    def test_what_repeats_a_held_out_case_is_left_out_of_the_prompt(self, brain):
        texts = ({"text": f"the report of agency {number}"} for number in range(100))
        held_out = next(payload for payload in texts if is_held_out(payload))
        brain.gate.add_case("count-words", held_out, Expectation(contains=("words",)))
        hidden = held_out["text"]
        brain.skills.upsert("count-pages", "Count.\n", description=f"Count pages of {hidden}")
        fail(brain, error=f"cannot read {held_out}", reflections=["no tool", f"not of {hidden}"])
        model = FakeModel(NO_SKILL)
        run_gaps(brain, model, now=NOW)
        shown = model.requests[0].messages[0].text
        assert hidden not in str(model.requests)
        assert GOAL in shown and "> The agent said: no tool" in shown and "Last error" not in shown

    def test_it_is_proposed_only_where_there_are_no_cases(self, brain):
        set_evolution(brain, "{mode: gated}")
        fail(brain)
        (result,) = run_gaps(brain, FakeModel(gap_answer()), now=NOW)
        assert (result.phase, result.result) == ("proposed", "skipped")
        assert brain.skills.list() == []
        (proposal,) = brain.proposals.list()
        assert brain.gaps.list().gaps[0].next == f"wait for a person: proposal {proposal.name}"
        assert run_gaps(brain, FakeModel(), now=NOW + DAY) == []

    def test_what_a_person_accepts_later_is_remembered_then(self, brain):
        fail(brain)
        run_gaps(brain, FakeModel(gap_answer()), now=NOW)
        assert brain.memory.read("meta.jsonl").entries == []
        (proposal,) = brain.proposals.list()
        brain.proposals.accept(proposal.snapshot)
        brain.programs.admit("count-words")
        for _ in range(2):
            run_gaps(brain, FakeModel(), now=NOW + HOUR)
        (entry,) = brain.memory.read("meta.jsonl").entries
        assert json.loads(entry)["capability_name"] == "count_words"
        assert phases(brain) == [("proposed", "skipped"), ("complete", "success")]

    def test_the_example_of_the_seed_passes_as_written(self, brain):
        fail(brain)
        (result,) = run_gaps(brain, FakeModel(seed_answer()), now=NOW)
        assert (result.phase, result.capability_name) == ("proposed", "my_capability")
        (proposal,) = brain.proposals.list()
        brain.proposals.accept(proposal.snapshot)
        assert (brain.root / "skills/generated/my-capability/skill.py").read_text() == SEED_SKILL
        brain.programs.admit("my-capability")
        assert brain.programs.run("my-capability", {}).output == "computed output"

    def test_one_that_is_worse_than_its_cases_say_is_rejected_with_its_numbers(self, brain):
        set_evolution(brain, "{mode: gated}")
        add_cases(brain)
        fail(brain)
        wrong = gap_answer(words_code("text.count(' ') + 1"), check="def check(p, o): pass")
        (result,) = run_gaps(brain, FakeModel(wrong), now=NOW)
        assert (result.phase, result.result) == ("gate", "rejected")
        assert brain.skills.list() == []
        assert brain.programs.attempts("count-words")


class TestMemory:
    def test_a_success_is_remembered_and_shown_in_the_next_prompt(self, brain):
        secret = "ghp_" + "a1B2c3D4e5" * 4
        fail(brain, f"{GOAL} with {secret}\n" + "x" * 900)
        run_gaps(brain, FakeModel(gap_answer()), now=NOW, gate=RecordingGate("admitted"))
        (entry,) = brain.memory.read("meta.jsonl").entries
        record = json.loads(entry)
        context = record.pop("task_context")
        assert record == {
            "capability_name": "count_words",
            "gap_score": 0.6,
            "timestamp": "2027-01-15T08:00:00+00:00",
            "source": "capability_evolution_engine",
            "tags": ["generated_skill", "capability_evolution", "count_words"],
        }
        assert context.startswith(GOAL) and secret not in context and len(context) <= 300
        assert '"capability_name": "count_words"' in brain.prompt.build().prompt

    def test_the_newest_records_are_shown_within_the_limit(self, brain):
        for number in range(90):
            brain.memory.add("meta.jsonl", json.dumps({"capability_name": f"skill_{number:02}"}))
        prompt = brain.prompt.build()
        assert prompt.cut == ["memory/meta.jsonl"]
        assert "skill_89" in prompt.prompt and "skill_00" not in prompt.prompt


class TestChecks:
    @pytest.mark.parametrize(
        ("code", "fault"),
        [
            (words_code() + "def", "line 19"),
            ("import socket\n" + words_code(), "it uses socket, which is on the blocklist"),
            (words_code().replace("GeneratedSkill", "Other"), "there is no class GeneratedSkill"),
            (words_code().replace('"count_words"', '"other"'), "does not stand in the code"),
            (words_code().replace("(SkillBase)", ""), "SkillBase as its base"),
            (words_code().replace('"safe"', '"privileged"'), "the capability level must be safe"),
            (words_code().replace("10.0", "30"), "timeout_seconds must be at most 10"),
            (
                words_code().replace('category="generated"', 'category="tools"'),
                "the category must be generated",
            ),
        ],
    )
    def test_a_model_is_asked_again_with_the_fault(self, brain, code, fault):
        fail(brain)
        gate = RecordingGate()
        model = FakeModel(gap_answer(code), gap_answer())
        (result,) = run_gaps(brain, model, now=NOW, gate=gate)
        assert fault in model.requests[1].messages[-1].text
        assert (result.requests, len(gate.changes)) == (2, 1)

    def test_a_model_that_writes_nonsense_for_ever_ends_and_leaves_a_rejected_attempt(self, brain):
        fail(brain)
        bad = gap_answer("import socket\n" + words_code())
        model = FakeModel(*[bad] * 9)
        (result,) = run_gaps(brain, model, now=NOW, gate=RecordingGate())
        assert (result.phase, result.result, result.requests) == ("validation", "rejected", 3)
        (attempt,) = brain.programs.attempts()
        assert (attempt.slug, attempt.reason) == (
            "count-words",
            "line 1: it uses socket, which is on the blocklist",
        )
        assert phases(brain) == [("validation", "rejected")]
        assert run_gaps(brain, model, now=NOW + DAY) == []

    @pytest.mark.parametrize(
        "answer", ["", "nonsense", "[]", "{" * 10_000, '{"decision": 1}', "x" * 2_000_000, "\ud800"]
    )
    def test_what_is_no_answer_is_refused(self, brain, answer):
        fail(brain)
        (result,) = run_gaps(brain, FakeModel(*[answer] * 3), now=NOW, gate=RecordingGate())
        asked = 1 if len(answer) > MAX_STORED_BYTES else 3
        assert (result.phase, result.result, result.requests) == ("validation", "rejected", asked)

    def test_a_model_may_say_that_no_skill_would_help(self, brain):
        fail(brain)
        (result,) = run_gaps(brain, FakeModel(NO_SKILL), now=NOW)
        assert (result.phase, result.result, result.reason) == (
            "model",
            "skipped",
            "The server was down.",
        )
        assert run_gaps(brain, FakeModel(), now=NOW + DAY) == []

    def test_what_it_did_not_make_is_never_overwritten(self, brain):
        brain.skills.upsert("count-words", "# Mine\n", description="By a person")
        fail(brain)
        model = FakeModel(*[gap_answer()] * 3)
        (result,) = run_gaps(brain, model, now=NOW)
        assert "there is a skill count-words already" in result.reason
        assert brain.skills.view("count-words").body.strip() == "# Mine"

    def test_what_it_made_may_be_improved_until_a_person_writes_it(self, brain):
        set_evolution(brain, "{mode: gated}")
        add_cases(brain)
        fail(brain)
        run_gaps(brain, FakeModel(gap_answer()), now=NOW)
        assert find_base(brain, "count-words") == "1"
        code = brain.root / "skills/generated/count-words/skill.py"
        code.write_text(code.read_text() + "# by a person\n")
        brain.snapshot()
        assert find_base(brain, "count-words") is None
        brain.programs.admit("count-words")
        brain.skills.upsert("count-words", "# Better\n")
        assert find_base(brain, "count-words") is None

    def test_a_generated_skill_has_ten_seconds(self, brain):
        set_evolution(brain, "{mode: gated}")
        add_cases(brain)
        fail(brain)
        run_gaps(brain, FakeModel(gap_answer()), now=NOW)
        runnable = brain.programs.find_runnable("count-words")
        assert _limit_generated(runnable, DEFAULT_LIMITS).wall_seconds == 10
        moved = runnable.skill._replace(path="skills/count-words/SKILL.md")
        other = replace(runnable, skill=moved)
        assert _limit_generated(other, DEFAULT_LIMITS) == DEFAULT_LIMITS


class TestLimits:
    def test_attempts_count_whatever_becomes_of_them(self, brain):
        for number in range(9):
            fail(brain, f"{GOAL} {number}")
        made = [self.attempt(brain, NOW + hour * HOUR) for hour in (0, 0, 1, 2, 3)]
        assert made == [2, 0, 2, 1, 0]
        assert self.attempt(brain, NOW + DAY) == 2
        assert phases(brain).count(("rate_limit", "skipped")) > 0

    def attempt(self, brain: Brain, now: int) -> int:
        results = run_gaps(brain, FakeModel(*[NO_SKILL] * 9), now=now)
        return sum(one.phase == "model" for one in results)

    def test_a_clock_that_is_set_back_gives_no_hour_more_than_its_limit(self, brain):
        for number in range(9):
            fail(brain, f"{GOAL} {number}")
        times = (0, HOUR, 0, HOUR, -HOUR, 0, -HOUR)
        made = [self.attempt(brain, NOW + DAY + one) for one in times]
        assert made == [2, 2, 0, 0, 1, 0, 0]

    def test_a_gap_waits_where_attempts_cannot_be_counted(self, brain, monkeypatch):
        fail(brain)
        self.break_rates(brain, monkeypatch)
        model = FakeModel(NO_SKILL)
        with pytest.raises(StoreError, match="the server does not answer"):
            run_gaps(brain, model, now=NOW)
        assert model.requests == [] and phases(brain) == []

    def test_a_manifest_that_lets_it_go_on_uncounted_is_ignored_by_name(self, brain, monkeypatch):
        set_evolution(brain, "{gaps: {when_rates_fail: allow}}")
        fail(brain)
        self.break_rates(brain, monkeypatch)
        with pytest.raises(StoreError, match="the server does not answer"):
            run_gaps(brain, FakeModel(NO_SKILL), now=NOW)
        said = [one.message for one in brain.doctor() if one.check == "manifest"]
        assert said == ["unknown key in evolution.gaps, ignored: when_rates_fail"]

    def break_rates(self, brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
        def count(*_: object) -> str:
            raise StoreError("the server does not answer", code="experience_unavailable")

        monkeypatch.setattr(Item, "count", count)

    def test_processes_at_once_with_one_killed_keep_to_the_limits(
        self, brain, tmp_path, monkeypatch
    ):
        for number in range(4):
            fail(brain, f"{GOAL} {number}")
        monkeypatch.setattr(gaps_module, "_find_obstacle", lambda model: "")
        log = tmp_path / "asked"
        children = [self.fork_attempt(brain.root, log, number == 0) for number in range(PROCESSES)]
        killed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
        assert killed <= 1
        assert len(log.read_text().splitlines()) == 2 + killed
        counts = brain.gaps.open_store().counts(GAPS, GAP_LIMITS, NOW)
        assert counts == {"hourly": 2, "daily": 2}
        assert self.attempt(brain, NOW + 1) == 0

    def fork_attempt(self, root: Path, log: Path, dies: bool) -> int:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with Brain.open(root) as opened:
                    while status:
                        with suppress(Locked):
                            evolve.run_gaps(opened, LoggingModel(log, dies), now=NOW)
                            status = 0
            finally:
                os._exit(status)
        return child


class LoggingModel(FakeModel):
    """Writes a line for each request; `dies` kills its process instead of answering."""

    def __init__(self, log: Path, dies: bool) -> None:
        super().__init__(name="logging")
        self._log = log
        self._dies = dies

    def answer(self, request: Asked) -> ScriptedAnswer:
        with self._log.open("a") as file:
            file.write("asked\n")
        if self._dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return NO_SKILL


class TestAKilledProcess:
    def resume(self, brain: Brain, model: FakeModel, gate: RecordingGate) -> list[GapResult]:
        return run_gaps(brain, model, now=NOW + 1, gate=gate)

    def test_while_the_model_answers_asks_again(self, brain):
        fail(brain)
        model, gate = FakeModel(gap_answer()), RecordingGate("admitted")
        with dies_before_call(FakeModel, "answer"):
            run_gaps(brain, model, now=NOW, gate=gate)
        (result,) = self.resume(brain, model, gate)
        assert (result.result, len(model.requests), len(gate.changes)) == ("success", 2, 1)
        assert run_gaps(brain, model, now=NOW + DAY, gate=gate) == []

    def test_before_the_gate_goes_on_with_the_answer_that_was_paid(self, brain):
        fail(brain)
        model, gate = FakeModel(gap_answer()), RecordingGate("admitted")
        with dies_before_call(RecordingGate, "propose"):
            run_gaps(brain, model, now=NOW, gate=gate)
        (result,) = self.resume(brain, model, gate)
        assert (result.result, len(model.requests), len(gate.changes)) == ("success", 1, 1)
        assert brain.gaps.open_store().counts(GAPS, GAP_LIMITS, NOW)["daily"] == 1

    def test_after_the_gate_proposes_nothing_twice(self, brain):
        fail(brain)
        model, gate = FakeModel(gap_answer()), RecordingGate("admitted")
        with dies_before_call(gaps_module, "remember_capability"):
            run_gaps(brain, model, now=NOW, gate=gate)
        (result,) = self.resume(brain, model, gate)
        assert (result.result, len(model.requests), len(gate.changes)) == ("success", 1, 1)
        assert len(brain.memory.read("meta.jsonl").entries) == 1

    def test_before_the_end_remembers_once(self, brain):
        fail(brain)
        model, gate = FakeModel(gap_answer()), RecordingGate("admitted")
        with dies_before_call(Item, "finish"):
            run_gaps(brain, model, now=NOW, gate=gate)
        (result,) = self.resume(brain, model, gate)
        assert result.result == "success"
        assert len(brain.memory.read("meta.jsonl").entries) == 1


class TestTheQueue:
    def test_a_goal_that_succeeded_meanwhile_is_left_alone(self, brain):
        fail(brain)
        brain.gaps.report_success(GOAL.lower())
        brain.gaps.wait(TIMEOUT_SECONDS)
        assert run_gaps(brain, FakeModel(), now=NOW) == []
        assert brain.gaps.list().gaps == []

    def test_of_a_goal_that_failed_often_only_the_last_failure_is_attempted(self, brain):
        fail(brain, times=7)
        assert len(run_gaps(brain, FakeModel(NO_SKILL), now=NOW)) == 1

    def test_a_further_failure_is_a_further_attempt(self, brain):
        fail(brain)
        run_gaps(brain, FakeModel(NO_SKILL), now=NOW)
        fail(brain, times=1)
        assert len(run_gaps(brain, FakeModel(NO_SKILL), now=NOW)) == 1

    def test_a_model_that_does_not_answer_is_asked_again_later_a_few_times(self, brain):
        fail(brain)
        down = ModelError("the endpoint is down")
        for hour in range(3):
            with pytest.raises(ModelError):
                run_gaps(brain, FakeModel(down), now=NOW + hour * HOUR)
            assert phases(brain) == [("model", "failed")][: hour // 2]
        assert run_gaps(brain, FakeModel(down), now=NOW + 3 * HOUR) == []
        assert brain.gaps.log()[-1].trigger_reason.endswith("reason=the endpoint is down")
        assert brain.gaps.open_store().counts(GAPS, GAP_LIMITS, NOW)["daily"] == 1

    def test_after_a_failure_of_the_model_the_paid_answers_are_used_and_no_other_gap_is_tried(
        self, brain
    ):
        fail(brain)
        fail(brain, f"{GOAL} 2")
        bad = gap_answer("import socket\n" + words_code())
        model = FakeModel(bad, ModelError("the endpoint is down"), gap_answer())
        gate = RecordingGate("admitted")
        with pytest.raises(ModelError):
            run_gaps(brain, model, now=NOW, gate=gate)
        assert len(model.requests) == 2 and gate.changes == []
        stopped = iter([False, True])
        (result,) = run_gaps(
            brain, model, now=NOW + 1, gate=gate, should_stop=lambda: next(stopped)
        )
        assert (result.result, result.requests, len(model.requests)) == ("success", 1, 3)
        assert phases(brain) == [("complete", "success")]

    def test_without_a_model_gaps_wait_and_the_results_say_why(self, brain):
        fail(brain)
        (result,) = run_gaps(brain, None, now=NOW)
        assert result.result == "skipped" and "no model is configured" in result.reason
        assert brain.gaps.list().gaps[0].next == "attempt: it is queued"

    def test_the_mode_off_attempts_and_notes_nothing(self, brain):
        set_evolution(brain, "{mode: off}")
        fail(brain)
        assert brain.gaps.list().gaps == []
        with raises_code("evolution_off", Conflict):
            run_gaps(brain, FakeModel(), now=NOW)

    def test_without_the_periodic_search_what_the_hook_queued_is_attempted_alone(self, brain):
        set_evolution(brain, "{gaps: {periodic: false}}")
        for number in range(3):
            fail(brain, f"{GOAL} {number}")
        results = run_gaps(brain, FakeModel(NO_SKILL, NO_SKILL), now=NOW)
        assert [one.phase for one in results] == ["model", "model", "rate_limit"]
        (result,) = run_gaps(brain, FakeModel(NO_SKILL), now=NOW + HOUR)
        assert result.phase == "model"
        assert run_gaps(brain, FakeModel(), now=NOW + DAY) == []

    def test_the_audit_says_once_that_a_gap_waits_for_the_limits(self, brain):
        set_evolution(brain, "{gaps: {periodic: false}}")
        for number in range(9):
            fail(brain, f"{GOAL} {number}")
        for hour in range(20):
            run_gaps(brain, FakeModel(*[NO_SKILL] * 2), now=NOW + hour * HOUR)
            if hour == 15:  # the last one of the day
                assert phases(brain).count(("model", "skipped")) == 5
                gaps = brain.gaps.list(now=NOW + hour * HOUR).gaps
                nexts = [one.next for one in gaps]
                assert nexts.count("attempt: it waits for the daily limit") == 4
        assert phases(brain).count(("model", "skipped")) == 9
        assert phases(brain).count(("rate_limit", "skipped")) == 7

    def test_a_gap_can_be_attempted_as_soon_as_it_is_due(self, brain):
        asked = threading.Event()

        class Telling(FakeModel):
            def answer(self, request: Asked) -> ScriptedAnswer:
                asked.set()
                return super().answer(request)

        evolve.attempt_gaps_at_once(brain, Telling(NO_SKILL))
        fail(brain, times=2)
        assert not asked.is_set()
        fail(brain, times=1)
        assert asked.wait(TIMEOUT_SECONDS)
        evolve.attempt_gaps_at_once(brain, None)
