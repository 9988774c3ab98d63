"""Skills that fail in use are rolled back or retired, with a verdict that says why."""

import pytest

from brain import Brain
from brain.errors import Conflict
from brain.experience.usage import SkillUse
from brain.objects import operation
from brain.repo.derive import read_decision_verdict
from brain.repo.find_skill import Skills
from brain.repo.learning import health
from brain.repo.learning.health import read_versions
from brain.results import HealthChange
from brain.verdicts.verdict import Verdict
from tests.support.skill_programs import admit_program, use_state_folder

SLUG = "news"
PATH = "skills/news/SKILL.md"


@pytest.fixture
def brain(tmp_path, monkeypatch):
    use_state_folder(monkeypatch, tmp_path / "state")
    with Brain.init(tmp_path / "brain", author="tester") as made:
        yield made


def use_program(brain: Brain, outcomes: str) -> list[HealthChange]:
    """Use the present version of the skill: `+` succeeds, `-` fails; return what followed."""
    changes = []
    for outcome in outcomes:
        runnable = brain.programs.find_runnable(SLUG)
        use = SkillUse(
            path=runnable.skill.path,
            version=runnable.skill.card.version,
            program=runnable.program.id,
            outcome={"+": "success", "-": "failure", "?": "unknown"}[outcome],
            at=1000,
            took=10,
            failure="KeyError: 'length'" if outcome == "-" else "",
        )
        if (change := brain._locked.run(health.count_use, use)) is not None:
            changes.append(change)
    return changes


def read_last_verdict(brain: Brain) -> Verdict:
    session = brain._locked.session
    verdict = read_decision_verdict(session, session.load_snapshot(session.head()))
    assert verdict is not None
    return verdict


def numbers_of(verdict: Verdict) -> dict[str, int]:
    return {number.name: number.value for number in verdict.numbers}


def test_a_fix_that_is_worse_is_rolled_back_to_the_version_before(brain):
    admit_program(brain, SLUG, "print(1)\n")
    assert use_program(brain, "+" * 20) == []
    admit_program(brain, SLUG, "print(2)\n")
    (change,) = use_program(brain, "---")
    assert (change.action, change.from_version, change.restored_version, change.version) == (
        "roll_back",
        2,
        1,
        3,
    )
    assert brain.programs.find(SLUG).code == b"print(1)\n"
    verdict = read_last_verdict(brain)
    assert (verdict.decision, verdict.decider, verdict.decided_by) == (
        "reinstate",
        "rule",
        health.ROLLBACK_RULE,
    )
    assert verdict.reason == (
        "version 2 failed with 3 of 3 inputs; version 1 did better: 20 of 20 succeeded;"
        " last failure: KeyError: 'length'"
    )
    assert numbers_of(verdict) == {
        "present_uses": 3,
        "present_successes": 0,
        "present_failures": 3,
        "present_inputs_succeeded": 0,
        "present_inputs_failed": 3,
        "present_lower_bound_millionths": 0,
        "present_upper_bound_millionths": 561498,
        "earlier_uses": 20,
        "earlier_successes": 20,
        "earlier_failures": 0,
        "earlier_inputs_succeeded": 20,
        "earlier_inputs_failed": 0,
        "earlier_lower_bound_millionths": 838874,
        "earlier_upper_bound_millionths": 1000000,
    }
    assert brain.verify(deep=True).ok


def test_a_skill_without_a_better_version_is_retired_and_comes_back_by_one_command(brain):
    admit_program(brain, SLUG, "print(1)\n")
    (change,) = use_program(brain, "+--+----")
    assert (change.action, change.version, change.snapshot) == ("retire", 1, brain.status().head)
    assert brain.skills.list() == []
    verdict = read_last_verdict(brain)
    assert (verdict.decision, verdict.decided_by) == ("retire", health.RETIREMENT_RULE)
    assert brain.programs.reinstate(SLUG).version == 2
    assert use_program(brain, "--+-") == []
    assert brain.verify(deep=True).ok


def test_the_last_earlier_version_that_did_better_comes_back(brain):
    for number, outcomes in enumerate(("+" * 30, "+" * 20 + "--", "+" * 20, "+-+")):
        admit_program(brain, SLUG, f"print({number})\n")
        assert use_program(brain, outcomes) == []
    admit_program(brain, SLUG, "print('worse')\n")
    (change,) = use_program(brain, "---")
    assert change.restored_version == 3
    assert brain.programs.find(SLUG).code == b"print(2)\n"


def test_two_versions_that_both_fail_do_not_replace_each_other_for_ever(brain):
    for number in (1, 2):
        admit_program(brain, SLUG, f"print({number})\n")
        assert use_program(brain, "+" * 200) == []
    admit_program(brain, SLUG, "print(3)\n")
    actions = []
    while brain.skills.list():
        actions += [change.action for change in use_program(brain, "---")]
    assert actions == ["roll_back", "roll_back", "retire"]


def test_a_pinned_skill_stays_and_is_degraded(brain):
    admit_program(brain, SLUG, "print(1)\n")
    brain.programs.pin(SLUG)
    head = brain.status().head
    (change,) = use_program(brain, "---")
    assert (change.action, change.reason, change.snapshot) == ("degraded", "pinned", "")
    assert brain.status().head == head
    brain.programs.unpin(SLUG)
    assert [change.action for change in use_program(brain, "-")] == ["retire"]


@pytest.mark.parametrize("by", ["command", "verdict"])
def test_what_a_person_wrote_stays(brain, by):
    if by == "command":
        admit_program(brain, SLUG, "print(1)\n", by_agent=False)
    else:
        admit_program(brain, SLUG, "print(1)\n", decider="person")
    (change,) = use_program(brain, "---")
    assert (change.action, change.reason) == ("degraded", "written by a person")


def test_a_skill_that_changed_meanwhile_is_not_touched(brain, monkeypatch):
    """Two processes see the third failure: one acts, and the other finds nothing to do."""
    admit_program(brain, SLUG, "print(1)\n")
    use_program(brain, "--")
    judge = health.judge_skill

    def judge_late(*args: object) -> object:
        decided = judge(*args)  # type: ignore[arg-type]
        monkeypatch.setattr(health, "judge_skill", judge)
        with Brain.open(brain.root) as other:
            admit_program(other, SLUG, "print('fixed')\n")
        return decided

    monkeypatch.setattr(health, "judge_skill", judge_late)
    assert use_program(brain, "-") == []
    assert brain.programs.find(SLUG).code == b"print('fixed')\n"
    assert next(brain.history.log()).operation["kind"] == "task"


def test_a_skill_that_another_process_retired_first_is_left_to_it(brain, monkeypatch):
    admit_program(brain, SLUG, "print(1)\n")
    use_program(brain, "--")
    judge = health.judge_skill

    def judge_late(*args: object) -> object:
        decided = judge(*args)  # type: ignore[arg-type]
        monkeypatch.setattr(health, "judge_skill", judge)
        with Brain.open(brain.root) as other:
            other.programs.retire(SLUG, "it fails")
        return decided

    monkeypatch.setattr(health, "judge_skill", judge_late)
    assert use_program(brain, "-") == []
    assert brain.skills.list() == []


def test_uses_go_on_under_a_new_name(brain):
    admit_program(brain, SLUG, "print(1)\n")
    use_program(brain, "+" * 20)
    with brain.task("Rename it") as task:
        task.record_tool_call("rename")
        brain.skills.rename(SLUG, "headlines")
    session = brain._locked.session
    bundle = session.at()
    skill = Skills(bundle).find("headlines")
    assert [one.uses for one in read_versions(bundle, skill)] == [20, 0]


def test_actions_are_known_to_the_log(brain):
    admit_program(brain, SLUG, "print(1)\n")
    use_program(brain, "---")
    assert next(brain.history.log()).operation["kind"] in operation.DECISION_KINDS
    brain.undo()
    assert [skill.slug for skill in brain.skills.list()] == [SLUG]


def test_a_skill_that_cannot_be_retired_is_named_with_the_reason(brain):
    admit_program(brain, SLUG, "print(1)\n")
    brain.files.write("skills/news/skills/more/SKILL.md", "---\nname: more\ndescription: x\n---\n")
    use_program(brain, "--")
    head = brain.status().head
    with pytest.raises(Conflict) as error:
        use_program(brain, "-")
    assert error.value.message.startswith("news failed with 3 of 3 inputs, but stays: ")
    assert (error.value.code, brain.status().head) == ("holds_skills", head)
