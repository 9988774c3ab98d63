"""The gate: what a change does to held-out cases decides what becomes of it."""

import pytest

from brain import Brain, Conflict, InvalidInput
from brain.gating.case_files import Case, Expectation
from brain.receipts import Receipt
from brain.repo.learning.change import ProposedChange, SkillsAt
from brain.repo.learning.rounds import MAX_OUTPUT_BYTES, GateLimits
from tests.support.gated_brains import (
    GREETING,
    SKILL,
    ScriptedRunner,
    add_cases,
    greet_if_asked,
    make_gated_brain,
    propose,
    set_mode,
)
from tests.support.refusals import raises_code

BETTER = "# Greet\n\nSay hello to guests.\n"
SAME = "# Greet\n\nWelcome all guests.\n"


def answer_nothing(skills: SkillsAt, case: Case, number: int) -> str:
    raise RuntimeError("no answer")


def test_a_change_that_helps_is_admitted_with_its_numbers(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        outcome = propose(brain, BETTER)
        assert (outcome.gate, outcome.done, outcome.version) == ("admit", "admitted", 2)
        assert outcome.numbers.wins == 60 and outcome.numbers.rounds == 5
        assert "Say hello" in brain.skills.view(SKILL).body
        assert brain.head == outcome.snapshot and outcome.changed
        assert brain.verify(deep=True).findings == []


def test_by_default_a_person_decides_about_what_helps(tmp_path):
    with make_gated_brain(tmp_path, mode="propose") as brain:
        head = brain.head
        outcome = propose(brain, BETTER)
        assert (outcome.gate, outcome.done) == ("admit", "proposed") and brain.head == head
        (proposal,) = brain.proposals.list()
        assert (proposal.name, proposal.snapshot) == (outcome.proposal, outcome.snapshot)
        again = propose(brain, BETTER)
        assert again.proposal == outcome.proposal and not again.changed
        brain.proposals.accept(proposal.snapshot)
        assert "Say hello" in brain.skills.view(SKILL).body
        assert brain.verify(deep=True).findings == []


def test_a_change_without_gain_is_rejected_and_stays_visible(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        head = brain.head
        outcome = propose(brain, SAME)
        assert (outcome.gate, outcome.done) == ("reject", "rejected") and brain.head == head
        (attempt,) = brain.gate.earlier_attempts(SKILL)
        assert attempt.attempt == outcome.attempt and attempt.evolver == "synthesis"
        assert "+Welcome all guests." in attempt.edit and "no gain" in attempt.reason
        assert brain.verify(deep=True).findings == []


def test_the_same_change_is_not_tried_until_it_passes(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        first = propose(brain, SAME)
        runner = ScriptedRunner(greet_if_asked)
        change = ProposedChange(name=SKILL, evolver="gaps", body=SAME)
        again = brain.gate.open(runner=runner).propose(change)
        assert again.attempt == first.attempt and again.done == "rejected" and runner.runs == 0
        assert len(brain.gate.earlier_attempts(SKILL)) == 1
        add_cases(brain, SKILL, 13)  # another case: another question
        brain.gate.open(runner=runner).propose(change)
        assert runner.runs > 0


def test_a_change_that_harms_a_case_is_rejected_whatever_it_gains(tmp_path):
    def trade(skills: SkillsAt, case: Case, number: int) -> str:
        is_changed = "Say hello" in (skills.text(SKILL) or "")
        return GREETING if is_changed is not case.name.endswith("-3") else "go away"

    with make_gated_brain(tmp_path) as brain:
        outcome = propose(brain, BETTER, trade)
        assert outcome.gate == "reject" and len(outcome.numbers.worse) == 1
        (attempt,) = brain.gate.earlier_attempts(SKILL)
        assert attempt.cases_worse == 1
        shown = repr(attempt)
        assert "greet-3" not in shown and "guest" not in attempt.reason


def test_a_skill_that_harms_the_task_of_another_one_is_rejected(tmp_path):
    def follow(skills: SkillsAt, case: Case, number: int) -> str:
        assert isinstance(case.input, str)
        knows_rules = "Know the rules" in skills.prompt(case)
        return GREETING if knows_rules is (case.skill == "guest-rules") else "go away"

    with make_gated_brain(tmp_path) as brain:
        for number in range(20):
            task = f"Name rule {number} for a guest"
            brain.gate.add_case("guest-rules", task, Expectation(contains=(GREETING,)))
        change = ProposedChange(
            name="guest-rules",
            evolver="synthesis",
            description="Greet a guest by the rules",
            body="# Rules\n\nKnow the rules.\n",
        )
        outcome = brain.gate.open(runner=ScriptedRunner(follow)).propose(change)
        assert outcome.gate == "reject" and outcome.numbers.wins > 0
        assert {path.split("/")[1] for path in outcome.numbers.worse} == {SKILL}
        assert brain.verify(deep=True).findings == []


def test_without_cases_nothing_is_tried_and_a_person_is_asked(tmp_path):
    with make_gated_brain(tmp_path, cases=0) as brain:
        head = brain.head
        outcome = propose(brain, BETTER)
        assert (outcome.gate, outcome.done, outcome.numbers) == ("", "proposed", None)
        assert brain.head == head and brain.gate.earlier_attempts(SKILL) == []
        assert [one.name for one in brain.proposals.list()] == [outcome.proposal]


def test_too_few_cases_admit_nothing_but_keep_their_numbers(tmp_path):
    with make_gated_brain(tmp_path, cases=3) as brain:
        outcome = propose(brain, BETTER)
        assert (outcome.gate, outcome.done) == ("undecided", "proposed")
        assert outcome.numbers.more_cases > 0 and outcome.numbers.provisional == "yes"
        assert outcome.proposal and not outcome.attempt
        assert "Say hello" not in brain.skills.view(SKILL).body


def test_a_brain_that_learns_nothing_runs_nothing(tmp_path):
    with make_gated_brain(tmp_path, mode="off") as brain:
        runner = ScriptedRunner(greet_if_asked)
        change = ProposedChange(name=SKILL, evolver="synthesis", body=BETTER)
        with raises_code("evolution_off", Conflict):
            brain.gate.open(runner=runner).propose(change)
        assert runner.runs == 0


def test_an_equal_text_does_nothing(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        head = brain.head
        outcome = propose(brain, "# Greet\n\nWelcome guests.\n")
        assert (outcome.done, outcome.changed, brain.head) == ("nothing", False, head)


@pytest.mark.parametrize(
    "path",
    ["cases/greet-1.yaml", "../../manifest.yaml", "../../trust.json", "../other/SKILL.md", "a.md"],
)
def test_a_change_names_only_the_program_of_its_skill(tmp_path, path):
    with make_gated_brain(tmp_path) as brain:
        head = brain.head
        change = ProposedChange(
            name=SKILL, evolver="synthesis", files={"skill.py": b"", path: b"evil"}
        )
        with raises_code("bad_change", InvalidInput):
            brain.gate.open().propose(change)
        assert brain.head == head


def test_a_model_that_fails_ends_the_attempt_early(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        runner = ScriptedRunner(answer_nothing)
        change = ProposedChange(name=SKILL, evolver="synthesis", body=BETTER)
        outcome = brain.gate.open(runner=runner).propose(change)
        assert (outcome.gate, outcome.done) == ("undecided", "kept")
        assert "24 of 24 runs ended in an error" in outcome.reason and runner.runs == 24
        again = brain.gate.open(runner=ScriptedRunner(greet_if_asked)).propose(change)
        assert again.done == "admitted"  # errors are no reason not to try again
        assert brain.verify(deep=True).findings == []


def test_an_output_beyond_its_limit_is_an_error_of_the_case(tmp_path):
    def ramble(skills: SkillsAt, case: Case, number: int) -> str:
        if "Say hello" in (skills.text(SKILL) or ""):
            return GREETING * MAX_OUTPUT_BYTES
        raise RuntimeError("\ud800" * 5000)

    with make_gated_brain(tmp_path) as brain:
        outcome = propose(brain, BETTER, ramble)
        assert outcome.done == "kept" and outcome.numbers.wins == 0
        assert brain.verify(deep=True).findings == []


def test_limits_of_cases_runs_and_time_hold(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        runner = ScriptedRunner(greet_if_asked)
        few = GateLimits(cases=6, runs=24)
        change = ProposedChange(name=SKILL, evolver="synthesis", body=BETTER)
        outcome = brain.gate.open(runner=runner, limits=few).propose(change)
        assert runner.runs == 24 and outcome.numbers.cases == 6
        assert outcome.done == "kept" and "24 runs" in outcome.reason
        late = propose(brain, BETTER, limits=GateLimits(seconds=-1.0))
        assert (late.gate, late.done) == ("", "kept") and "no round" in late.reason


def test_a_skill_that_changes_meanwhile_is_tried_again_as_it_is_then(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        pending = ["# Greet\n\nMind the step.\n"]

        def interfere(skills: SkillsAt, case: Case, number: int) -> str:
            if pending:
                with Brain.open(tmp_path, author="bob") as other:
                    other.skills.upsert(SKILL, pending.pop())
            return greet_if_asked(skills, case, number)

        outcome = propose(brain, BETTER, interfere)
        assert (outcome.done, outcome.version, outcome.previous_version) == ("admitted", 3, 2)
        assert brain.verify(deep=True).findings == []


def test_manual_edits_are_recorded_before_a_change_is_tried(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        text = tmp_path / "skills" / SKILL / "SKILL.md"
        text.write_text(text.read_text().replace("Welcome", "Warmly welcome"))
        outcome = propose(brain, BETTER)
        assert outcome.done == "admitted"
        assert any(
            "Warmly" in piece for piece in brain.history.patch(brain.history.diff("@~1", "@"))
        )


def test_a_person_admits_what_the_gate_did_not(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        outcome = propose(brain, SAME)
        decided = brain.gate.accept(outcome.attempt, reason="It reads better")
        assert (decided.decision, decided.version) == ("admit", 2)
        assert "all guests" in brain.skills.view(SKILL).body
        assert brain.verify(deep=True).findings == []


def test_a_worse_case_is_accepted_only_if_that_is_said(tmp_path):
    def get_worse(skills: SkillsAt, case: Case, number: int) -> str:
        return "go away" if "all guests" in (skills.text(SKILL) or "") else GREETING

    with make_gated_brain(tmp_path) as brain:
        outcome = propose(brain, SAME, get_worse)
        with raises_code("case_worse", Conflict):
            brain.gate.accept(outcome.attempt)
        assert brain.gate.accept(outcome.attempt, although_worse=True).changed
        assert brain.verify(deep=True).findings == []


def test_an_attempt_at_an_older_text_is_not_accepted(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        outcome = propose(brain, SAME)
        brain.skills.upsert(SKILL, "# Greet\n\nOther.\n")
        with raises_code("stale_base", Conflict):
            brain.gate.accept(outcome.attempt)
        assert "Other." in brain.skills.view(SKILL).body


def test_a_broken_case_of_another_skill_stops_nothing(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        brain.files.edit("skills/other/cases/x.yaml", lambda _: b"input: [\nexpect: 1\n")
        assert propose(brain, BETTER).done == "admitted"


def test_modes_change_with_the_manifest(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        assert brain.gate.read_mode() == "gated"
        set_mode(brain, "off")
        assert brain.gate.read_mode() == "off"
        brain.files.edit("manifest.yaml", lambda _: b"name: x\n")
        assert brain.gate.read_mode() == "propose"


@pytest.mark.parametrize("mode", ["gated", "propose"])
def test_the_run_that_made_a_change_goes_with_it(tmp_path, mode):
    run = Receipt(run="1a2b", task="Learn", agent="brain evolve", outcome="success")
    with make_gated_brain(tmp_path, mode=mode) as brain:
        change = ProposedChange(name=SKILL, evolver="synthesis", body=BETTER, receipt=run)
        outcome = brain.gate.open(runner=ScriptedRunner(greet_if_asked)).propose(change)
        if mode == "propose":
            brain.proposals.accept(outcome.snapshot)
        assert brain.receipts.show(outcome.snapshot).run == "1a2b"
        assert brain.verify(deep=True).findings == []


def test_attempts_of_two_processes_leave_one_new_version(tmp_path):
    with make_gated_brain(tmp_path) as brain, Brain.open(tmp_path, author="bob") as other:
        started: list[bool] = []

        def race(skills: SkillsAt, case: Case, number: int) -> str:
            if not started:
                started.append(True)
                assert propose(other, BETTER).done == "admitted"
            return greet_if_asked(skills, case, number)

        assert propose(brain, BETTER, race).done == "nothing"  # it is so by then
        assert brain.skills.view(SKILL).version == 2
        assert brain.verify(deep=True).findings == []


def test_two_cases_of_one_input_are_refused_before_anything_runs(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        first = brain.gate.list_cases(SKILL)[0].path
        copied = brain.files.read(first)
        brain.files.edit(first.replace(".yaml", "-copy.yaml"), lambda _: copied)
        runner = ScriptedRunner(greet_if_asked)
        change = ProposedChange(name=SKILL, evolver="gaps", body=BETTER)
        with pytest.raises(InvalidInput, match="same input"):
            brain.gate.open(runner=runner).propose(change)
        assert runner.runs == 0


@pytest.mark.parametrize("mode", ["gated", "propose"])
@pytest.mark.parametrize("repeats_itself", [True, False])
def test_what_is_shown_to_help_these_very_cases_alone_waits_for_a_person(
    tmp_path, mode, repeats_itself
):
    def help_some(skills: SkillsAt, case: Case, number: int) -> str:
        is_hard = case.name.endswith(("-0", "-1", "-2"))
        return "go away" if is_hard else greet_if_asked(skills, case, number)

    with make_gated_brain(tmp_path, mode=mode, cases=6) as brain:
        runner = ScriptedRunner(help_some, repeats_itself=repeats_itself)
        change = ProposedChange(name=SKILL, evolver="synthesis", body=BETTER)
        outcome = brain.gate.open(runner=runner).propose(change)
        assert (outcome.gate, outcome.done) == ("undecided", "proposed")
        assert "these very cases gain" in outcome.reason
        assert outcome.numbers.rounds == (2 if repeats_itself else 12)
        again = brain.gate.recheck(outcome.snapshot)
        assert (again.found_provisional, again.differences) == ("yes", [])
        assert brain.skills.view(SKILL).version == 1 and len(brain.proposals.list()) == 1
        assert brain.verify(deep=True).findings == []


def test_a_program_that_gives_another_output_in_the_second_round_repeats_nothing(tmp_path):
    def flip(skills: SkillsAt, case: Case, number: int) -> str:
        is_flipped = number == 1 and case.name.endswith("-5")
        return "go away" if is_flipped else help_three(skills, case, number)

    def help_three(skills: SkillsAt, case: Case, number: int) -> str:
        is_hard = case.name.endswith(("-0", "-1", "-2"))
        return "go away" if is_hard else greet_if_asked(skills, case, number)

    with make_gated_brain(tmp_path, cases=6) as brain:
        runner = ScriptedRunner(flip, repeats_itself=True)
        change = ProposedChange(name=SKILL, evolver="synthesis", body=BETTER)
        outcome = brain.gate.open(runner=runner).propose(change)
        assert outcome.numbers.rounds > 2 and brain.verify(deep=True).findings == []
