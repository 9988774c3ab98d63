"""How a provisional change goes on: admitted, taken back, or proposed to be taken back."""

from itertools import islice
from pathlib import Path

import pytest

from brain import Brain, evolve
from brain.errors import Conflict
from brain.evolve.scheduler import JOBS, Scheduler
from brain.gating.case_files import Case, Expectation, encode_case
from brain.receipts import Receipt
from brain.receipts.receipt import own_sources
from brain.repo.learning import recheck
from brain.repo.learning.change import FileEdit, ProposedChange, SkillsAt
from brain.repo.learning.provisional import TERM_DAYS
from brain.results import GateOutcome
from brain.verdicts import verdict
from tests.support.gate_decisions import inputs_of_half
from tests.support.gated_brains import (
    GREETING,
    SKILL,
    ScriptedRunner,
    add_cases,
    make_gated_brain,
    propose,
    set_mode,
)

BETTER = "# Greet\n\nSay hello to guests.\n"
DAY_MS = 86_400_000


def greet(skills: SkillsAt, case: Case, number: int) -> str:
    """Answer by the name of a case: some with the change, some without it, some never."""
    is_new = "Say hello" in (skills.text(SKILL) or "")
    helped = case.name.startswith("won") or case.name.endswith(("-0", "-1", "-2", "-3"))
    hurt = case.name.startswith("lost")
    return GREETING if (helped and is_new) or (hurt and not is_new) else "go away"


def make_live(folder, policy: str = "allow") -> Brain:
    """Return a brain whose skill a provisional change has changed, on eight cases."""
    brain = make_gated_brain(folder, cases=8)
    set_mode(brain, "gated", provisional=policy)
    outcome = propose(brain, BETTER, greet)
    if policy != "allow":
        brain.proposals.accept(outcome.snapshot)
    return brain


def add_more(brain: Brain, name: str, number: int) -> None:
    taken = len(brain.gate.cases(SKILL))
    tasks = islice(inputs_of_half(held_out=True), taken, taken + number)
    for at, task in enumerate(tasks):
        brain.gate.add_case(
            SKILL, task, Expectation(contains=(GREETING,)), name=f"{name}.{taken + at}"
        )


def go_on(brain: Brain, *, days: int = 0, answer=greet, runner=None) -> GateOutcome:
    (live,) = brain.gate.list_provisional()
    gate = brain.gate.open(runner=runner or ScriptedRunner(answer))
    return gate.go_on(live, live.since + days * DAY_MS)


def body(brain: Brain) -> str:
    return brain.skills.view(SKILL).body


def assert_sound(brain: Brain, *targets: str) -> None:
    assert brain.verify(deep=True).findings == []
    for target in targets:
        found = brain.gate.recheck(target)
        assert (found.differences, found.unknown) == ([], [])


def test_cases_that_were_added_admit_it(tmp_path):
    with make_live(tmp_path) as brain:
        assert go_on(brain).reason == "no held-out case was added since"
        add_more(brain, "won", 3)
        outcome = go_on(brain)
        assert (outcome.done, outcome.gate, outcome.numbers.cases) == ("admitted", "admit", 11)
        assert (outcome.version, outcome.previous_version) == (2, 2)
        assert brain.gate.list_provisional() == [] and "Say hello" in body(brain)
        newest, first, *_ = brain.history.why(SKILL).decisions
        assert newest.summary.startswith("admitted, no longer provisional, the gate admits it: 11")
        assert newest.verdict["continues"] == first.blob
        stream = brain.gate.read_stream()
        assert (stream.attempts, stream.admitted, stream.provisional) == (1, 1, 0)
        assert_sound(brain, SKILL)


def test_evidence_is_recorded_and_no_case_counts_twice(tmp_path):
    with make_live(tmp_path) as brain:
        add_more(brain, "tie", 1)
        runner = ScriptedRunner(greet)
        assert go_on(brain, runner=runner).done == "provisional"
        assert runner.runs == 2 * 12  # one case, as many rounds as the first
        assert go_on(brain).done == "nothing"
        (live,) = brain.gate.list_provisional()
        assert live.verdict.count_cases("held_out") == 9
        add_more(brain, "won", 4)
        assert go_on(brain).done == "admitted"
        summaries = [one.summary for one in brain.history.why(SKILL).decisions]
        assert summaries[1].startswith("still provisional, the gate is undecided")
        assert_sound(brain, SKILL)


def test_cases_that_got_worse_take_it_back(tmp_path):
    with make_live(tmp_path) as brain:
        add_more(brain, "lost", 1)
        outcome = go_on(brain)
        assert (outcome.done, outcome.gate) == ("taken back", "reject")
        assert "got worse" in outcome.reason
        assert "Welcome guests" in body(brain) and brain.gate.list_provisional() == []
        assert brain.history.why(SKILL).decisions[0].summary.startswith("taken back, the gate rej")
        assert_sound(brain, SKILL)


def test_a_skill_that_it_made_is_retired(tmp_path):
    with Brain.init(tmp_path, author="ada") as brain:
        set_mode(brain, "gated", provisional="allow")
        add_more(brain, "won", 4)
        change = ProposedChange(
            name=SKILL, evolver="synthesis", description="Greet", body=BETTER, message="Try it"
        )
        assert brain.gate.open(runner=ScriptedRunner(greet)).propose(change).done == "provisional"
        add_more(brain, "lost", 3)
        assert go_on(brain, answer=lose).done == "taken back"
        assert brain.skills.list() == []
        assert_sound(brain)


def lose(skills: SkillsAt, case: Case, number: int) -> str:
    has_skill = skills.text(SKILL) is not None
    return GREETING if has_skill is not case.name.startswith("lost") else "go away"


def test_after_its_term_a_person_is_asked_to_take_it_back(tmp_path):
    with make_live(tmp_path) as brain:
        assert go_on(brain, days=TERM_DAYS - 1).done == "nothing"
        outcome = go_on(brain, days=TERM_DAYS)
        assert (outcome.done, outcome.reason) == (
            "proposed",
            f"it was not admitted in {TERM_DAYS} days; no held-out case was added since",
        )
        assert "Say hello" in body(brain)
        assert go_on(brain, days=TERM_DAYS).reason == "to take it back is proposed"
        assert_sound(brain)
        brain.proposals.accept(outcome.snapshot)
        assert "Welcome guests" in body(brain) and brain.gate.list_provisional() == []
        assert_sound(brain)


@pytest.mark.parametrize("keeps", ["accepted", "pinned"])
def test_what_a_person_keeps_is_only_proposed_to_be_taken_back(tmp_path, keeps):
    with make_live(tmp_path, "propose" if keeps == "accepted" else "allow") as brain:
        if keeps == "pinned":
            brain.programs.pin(SKILL)
        add_more(brain, "lost", 1)
        outcome = go_on(brain)
        assert (outcome.done, outcome.gate) == ("proposed", "reject")
        assert "Say hello" in body(brain)
        assert_sound(brain)
        brain.proposals.accept(outcome.snapshot)
        assert "Welcome guests" in body(brain)
        assert_sound(brain)


def test_another_runner_and_an_edit_end_the_question(tmp_path):
    with make_live(tmp_path) as brain:
        add_more(brain, "won", 3)
        other = ScriptedRunner(greet)
        other.name = "another"
        assert "would be another question" in go_on(brain, runner=other).reason
        brain.skills.upsert(SKILL, "# Greet\n\nSay hello, and smile.\n")
        assert brain.gate.list_provisional() == []


def test_a_change_of_several_files_is_for_a_person(tmp_path):
    with make_gated_brain(tmp_path, cases=8) as brain:
        set_mode(brain, "gated", provisional="allow")
        note = FileEdit(path="memory/guests.md", content="Guests like it.\n")
        change = ProposedChange(
            name=SKILL, evolver="synthesis", body=BETTER, message="Try it", also=(note,)
        )
        outcome = brain.gate.open(runner=ScriptedRunner(greet)).propose(change)
        assert (outcome.done, outcome.numbers.provisional) == ("proposed", "yes")


def test_the_scheduler_asks_a_person_once(tmp_path):
    with make_live(tmp_path) as brain:
        (live,) = brain.gate.list_provisional()
        clock = {"now": live.since}
        scheduler = Scheduler(brain, now=lambda: clock["now"], jobs=JOBS[-1:])

        def run_job() -> list[str]:
            steps = scheduler.run_due()
            return [step.outcome.done for step in steps if step.outcome]

        assert run_job() == []
        clock["now"] = live.ends
        assert run_job() == ["proposed"]
        (proposal,) = brain.proposals.list()
        brain.proposals.reject(proposal.name)
        clock["now"] += DAY_MS
        assert run_job() == [] and "Say hello" in body(brain)
        (status,) = [
            one for one in evolve.read_status(brain, "").evolvers if one.evolver == "provisional"
        ]
        assert status.reason == "" and status.waiting == 1
        assert status.names[0].startswith(f"{SKILL}@2: E 11.1 of 20 over 8 cases, until 2")


def test_index_data_names_it(tmp_path):
    with make_live(tmp_path) as brain:
        found = brain.prompt.build_index()
        assert list(found.provisional) == [SKILL] and "provisional" not in found.index
        brain.skills.upsert(SKILL, "# Greet\n\nWave.\n")
        assert not brain.prompt.build_index().provisional


@pytest.mark.parametrize("name", ["won", "lost"])
def test_what_goes_on_is_run_again_as_it_was_before_the_change(tmp_path, monkeypatch, name):
    with make_gated_brain(tmp_path, cases=8) as brain:
        set_mode(brain, "gated", provisional="allow")
        runner = ScriptedRunner(greet, repeats_itself=True)
        runner.name = "sandbox"
        change = ProposedChange(name=SKILL, evolver="synthesis", body=BETTER, message="Try it")
        assert brain.gate.open(runner=runner).propose(change).done == "provisional"
        add_more(brain, name, 1)
        assert go_on(brain, runner=runner).done == ("taken back" if name == "lost" else "admitted")
        monkeypatch.setattr(recheck, "SandboxRunner", lambda _sandbox: runner)
        found = brain.gate.recheck(SKILL, run=True)
        assert (found.differences, found.unknown) == ([], [])
        assert "".join(case.ran_after for case in found.cases).count("p") == 4 + (name == "won")


def lose_and(action):
    """Return answers by which the change loses its new case, after an action once."""
    todo = [action]

    def answer(skills: SkillsAt, case: Case, number: int) -> str:
        while todo:
            todo.pop()()
        return greet(skills, case, number)

    return answer


def edit_text(folder: Path, old: str, new: str) -> None:
    path = folder / "skills" / SKILL / "SKILL.md"
    path.write_text(path.read_text().replace(old, new))


EDITS = {
    "its text, in the folder": lambda brain, folder: edit_text(folder, "hello", "hello, smile"),
    "another file of it": lambda brain, _: brain.files.edit(
        f"skills/{SKILL}/notes.md", lambda _: b"Mine.\n"
    ),
    "a case": lambda brain, _: brain.files.edit(
        f"skills/{SKILL}/cases/lost.8.yaml", lambda old: (old or b"") + b"# mine\n"
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_a_person_edits_meanwhile_is_not_overwritten(tmp_path, edit):
    with make_live(tmp_path) as brain:
        add_more(brain, "lost", 1)
        with pytest.raises(Conflict) as refused:
            go_on(brain, answer=lose_and(lambda: EDITS[edit](brain, tmp_path)))
        assert refused.value.code == "stale_base" and "Say hello" in body(brain)
        brain.snapshot()
        assert bool(brain.gate.list_provisional()) is (edit == "a case")
        assert brain.verify(deep=True).ok


@pytest.mark.parametrize("name", ["tie", "lost"])
def test_nothing_goes_on_twice_with_one_verdict(tmp_path, name):
    with make_live(tmp_path) as brain:
        (stale,) = brain.gate.list_provisional()
        add_more(brain, "tie", 1)
        go_on(brain)
        add_more(brain, name, 1)
        with pytest.raises(Conflict, match="was changed"):
            brain.gate.open(runner=ScriptedRunner(greet)).go_on(stale, stale.since)
        assert "Say hello" in body(brain)
        assert_sound(brain)


def test_what_comes_back_is_the_text_before_and_not_another_of_its_version(tmp_path):
    with make_gated_brain(tmp_path, cases=8) as brain:
        first = "# Greet\n\nWelcome guests first.\n"
        assert propose(brain, first, answer_after("first")).done == "admitted"
        edit_text(tmp_path, "Welcome", "Warmly welcome")
        brain.snapshot()
        set_mode(brain, "gated", provisional="allow")
        assert propose(brain, BETTER, greet).done == "provisional"
        add_more(brain, "lost", 1)
        assert go_on(brain).done == "taken back"
        assert "Warmly welcome" in body(brain) and brain.verify(deep=True).ok


def answer_after(word: str):
    return lambda skills, *_: GREETING if word in (skills.text(SKILL) or "") else "go away"


def test_a_case_that_is_edited_or_of_the_same_run_does_not_stop_what_goes_on(tmp_path):
    with make_gated_brain(tmp_path, cases=8) as brain:
        set_mode(brain, "gated", provisional="allow")
        receipt = Receipt(run="r1")
        change = ProposedChange(
            name=SKILL, evolver="synthesis", body=BETTER, message="Try it", receipt=receipt
        )
        assert brain.gate.open(runner=ScriptedRunner(greet)).propose(change).done == "provisional"
        add_more(brain, "own", 4)
        add_more(brain, "won", 4)
        (source,) = own_sources(receipt)
        for case in brain.gate.cases(SKILL):
            if case.name.startswith("own"):
                line = f"source: {source}\n".encode()
                brain.files.edit(case.path, lambda old, line=line: line + (old or b""))
        tasks = list(islice(inputs_of_half(held_out=True), 40))[-4:]
        for at, task in enumerate(tasks):
            document = encode_case(task, Expectation(contains=(GREETING,)), "")
            brain.files.edit(f"skills/{SKILL}/cases/{SKILL}-{at}.yaml", lambda _, new=document: new)
        outcome = go_on(brain)
        assert (outcome.done, outcome.numbers.cases) == ("admitted", 12)
        assert_sound(brain)


def test_a_person_who_keeps_a_change_is_asked_once(tmp_path):
    with make_live(tmp_path, "propose") as brain:
        add_more(brain, "lost", 1)
        (live,) = brain.gate.list_provisional()
        clock = {"now": live.since}
        scheduler = Scheduler(brain, now=lambda: clock["now"], jobs=JOBS[-1:])
        runner = ScriptedRunner(greet)
        opened = brain.gate.open(runner=runner)
        brain.gate.open = lambda **_: opened  # type: ignore[method-assign]
        for done in (["proposed"], [], []):
            steps = scheduler.run_due()
            assert [step.outcome.done for step in steps if step.outcome] == done
            assert runner.runs == 24
            for proposal in brain.proposals.list():
                brain.proposals.reject(proposal.name)
            clock["now"] += DAY_MS


def test_what_cannot_go_on_does_not_stop_the_others(tmp_path):
    with make_live(tmp_path) as brain:
        (live,) = brain.gate.list_provisional()
        (task,) = islice(inputs_of_half(held_out=True), 20, 21)
        document = encode_case(task, Expectation(contains=(GREETING,)), "")
        for name in ("one", "two"):
            brain.files.edit(f"skills/{SKILL}/cases/{name}.yaml", lambda _: document)
        (step,) = Scheduler(brain, now=lambda: live.since, jobs=JOBS[-1:]).run_due()
        assert "have the same input" in step.reason and step.slug == SKILL


def test_copies_that_both_went_on_agree_on_the_last_decision(tmp_path):
    with make_live(tmp_path) as brain:
        add_more(brain, "tie", 1)
        brain.branches.create("other")
        assert go_on(brain).done == "provisional"
        brain.branches.switch("other")
        assert go_on(brain, answer=lambda *_: "go away").done == "provisional"
        brain.merge.start("main")
        add_more(brain, "tie-too", 1)
        assert go_on(brain).done == "provisional"
        assert_sound(brain)


def test_the_index_reads_no_verdict_of_what_is_not_provisional(tmp_path, monkeypatch):
    with make_gated_brain(tmp_path, cases=8) as brain:
        assert propose(brain, BETTER).done == "admitted"
        brain.prompt.build_index()
        monkeypatch.setattr(verdict, "read_verdict", None)
        assert not brain.prompt.build_index().provisional


def test_attempts_of_copies_count_each_although_they_have_one_number(tmp_path):
    with make_gated_brain(tmp_path, cases=8) as brain:
        brain.skills.upsert("part", "# Part\n\nBe short.\n", description="Part from a guest")
        add_cases(brain, "part", 8)
        brain.branches.create("other")
        assert propose(brain, BETTER).done == "admitted"
        brain.branches.switch("other")
        change = ProposedChange(name="part", evolver="grind", body="Say hello.\n")
        runner = ScriptedRunner(
            lambda skills, *_: GREETING if "Say" in (skills.text("part") or "") else ""
        )
        assert brain.gate.open(runner=runner).propose(change).done == "admitted"
        assert brain.gate.read_stream().attempts == 1
        brain.merge.start("main")
        assert brain.gate.read_stream().attempts == 2
