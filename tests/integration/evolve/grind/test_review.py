"""What a grind does where others get in its way: persons, other grinds, and untrusted parts."""

import math

import pytest

from brain import Brain
from brain.evolve.grind.solve import MemoryItem
from tests.support.grinds import (
    Files,
    Script,
    branch_files,
    draw_tasks,
    grind,
    make_row,
    set_mode,
    skill_text,
    texts_of,
)

PRACTICE, HELD_OUT = draw_tasks(3, held_out=False), draw_tasks(8, held_out=True, name="h")


@pytest.fixture
def brain(tmp_path):
    Brain.init(tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as opened:
        yield opened


def write_good(number: int, left: Files) -> None:
    left["skills/a/SKILL.md"] = skill_text(f"good {number}")


def score_good(task, front) -> float:
    return float("good" in texts_of(front))


def test_a_grind_that_was_interrupted_takes_no_step_of_another_for_its_own(brain):
    item = MemoryItem()

    def interrupt(number: int, left: Files) -> None:
        if number == 2:
            raise KeyboardInterrupt
        write_good(number, left)

    with pytest.raises(KeyboardInterrupt):
        grind(brain, PRACTICE, Script(change=interrupt), item=item, name="one")
    grind(brain, PRACTICE, Script(change=write_good), name="two")
    tags = {tag.name: tag.snapshot for tag in brain.tags.list()}
    report = grind(brain, PRACTICE, Script(change=write_good), item=item, name="one")
    for step in report["steps"]:
        assert tags.get(f"evo-{step['number']}", step["snapshot"]) == step["snapshot"]
    assert {f"evo-{step['number']}" for step in report["steps"][2:]}.isdisjoint(tags)


def test_what_a_person_records_on_the_branch_meanwhile_is_built_upon(brain):
    def change(number: int, left: Files) -> None:
        write_good(number, left)
        with brain.proposals.open("grind", author="a person") as proposal:
            proposal.skills.upsert("mine", description="Mine", body="Kept.")

    def score(task, front) -> float:
        if "good" in texts_of(front):
            with brain.proposals.open("grind", author="a person") as proposal:
                proposal.skills.upsert("later", description="Later", body="Kept too.")
        return score_good(task, front)

    grind(brain, PRACTICE, Script(score, change), holdout=HELD_OUT)
    assert {"skills/mine/SKILL.md", "skills/later/SKILL.md"} <= branch_files(brain).keys()


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_skill_that_a_person_changed_in_the_same_lines_stays_theirs_at_the_head(
    brain, is_removed
):
    set_mode(brain, "gated")
    brain.skills.upsert("a", description="A", body="line one")

    def score(task, front) -> float:
        if "good" in texts_of(front) and brain.skills.list():
            if is_removed:
                brain.skills.delete("a")
            else:
                brain.skills.upsert("a", body="a person's line")
        return score_good(task, front)

    def change(number: int, left: Files) -> None:
        left["skills/a/SKILL.md"] = left["skills/a/SKILL.md"].replace(b"line one", b"good")

    report = grind(
        brain, PRACTICE, Script(score, change), holdout=HELD_OUT, settings={"batch_size": 3}
    )
    assert (report["result"], report["batches"][0]["gate"]) == ("done", None)
    assert "skills/a/SKILL.md" in branch_files(brain)
    assert b"good" not in brain.gate.read_workspace().get("skills/a/SKILL.md", b"")
    assert b"good" in branch_files(brain)["skills/a/SKILL.md"]


def test_a_flat_skill_is_promoted_on_cases_of_its_own(brain):
    set_mode(brain, "gated")
    brain.files.write("skills/flat.md", skill_text("text", "flat"))

    def change(number: int, left: Files) -> None:
        left["skills/flat.md"] += b"good\n"

    script = Script(score_good, change)
    report = grind(brain, PRACTICE, script, holdout=HELD_OUT, settings={"batch_size": 3})
    assert report["batches"][0]["gate"]["done"] == "admitted"
    assert len(brain.gate.cases("flat")) == len(HELD_OUT)


@pytest.mark.parametrize(
    "fields",
    [
        *({"was_read": 5}, {"skills": [1]}, {"skills": ["\udcff"]}, {"seconds": math.nan}),
        *({"requests": -5}, {"requests": True}, {"score": 2}, {"score": True}, {"reason": None}),
        {"task": "another"},
    ],
    ids=str,
)
def test_a_row_that_no_solve_returns_is_an_error_of_its_task(brain, fields):
    class Worker(Script):
        def solve(self, key, task, front):
            return {**make_row(task, 0.0), **fields}

    (task,) = grind(brain, PRACTICE[:1], Worker())["tasks"]
    assert task["result"] == "error"
    assert "its worker answered" in task["reason"]
