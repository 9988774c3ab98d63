"""What of a grind comes to the head of the brain, and what is left to a person."""

import pytest

from brain import Brain
from brain.errors import Conflict
from tests.support.grinds import Script, draw_tasks, grind, set_mode, skill_text, texts_of

PRACTICE, HELD_OUT = draw_tasks(4, held_out=False), draw_tasks(10, held_out=True, name="h")
OLD, NEW, NOTES, STYLE = (
    *(f"skills/{name}/SKILL.md" for name in ("old", "new")),
    *("memory/notes.md", "prompts/style.md"),
)
BODY = "# Old\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n"


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "brain", author="ada") as made:
        set_mode(made, "gated")
        made.skills.upsert("old", BODY, description="Old work")
        made.files.write_all({NOTES: b"a\n", STYLE: b"a\n"}, message="Notes")
        yield made
        assert made.verify().ok


def promote(brain, change, score, meanwhile=lambda: None, tasks=PRACTICE[:1], **settings):
    """Grind tasks; a person does `meanwhile` what they want, just before the second cycle."""
    cycles = iter(range(99))

    def solve(task, front):
        if task in tasks and next(cycles) == len(tasks):
            meanwhile()
        return score(texts_of(front))

    settings = {"evolve_memory": True, "evolve_prompts": True, "is_deterministic": True, **settings}
    script = Script(solve, change)
    return grind(brain, tasks, script, holdout=HELD_OUT, settings=settings)


def is_good(text):
    return float("good" in text)


@pytest.mark.parametrize("by", ["upsert", "file"])
def test_what_a_person_does_on_the_head_meanwhile_is_merged_or_left_to_them(brain, by):
    def change(number, files):
        files[OLD] = files[OLD].replace(b"First.", b"First, good.")
        files[NEW] = skill_text("new", "new")
        files[NOTES] = files[STYLE] = b"b\n"

    def meanwhile():
        files = {STYLE: b"by hand\n", "skills/mine/SKILL.md": skill_text("mine", "mine")}
        text = brain.files.read(OLD).decode().replace("Second.", "Second, by hand.")
        if by == "upsert":
            brain.skills.upsert("old", text)
        else:
            files[OLD] = text.encode()
        brain.files.write_all(files, message="By hand")

    report = promote(brain, change, is_good, meanwhile)
    assert report["batches"][0]["gate"]["done"] == "admitted"
    head = brain.gate.read_workspace()
    assert b"First, good." in head[OLD] and b"Second, by hand." in head[OLD]
    assert head[STYLE] == b"by hand\n" and head[NOTES] == b"b\n"
    assert {NEW, "skills/mine/SKILL.md"} <= head.keys()


def test_lines_that_both_changed_stay_as_the_person_has_them(brain):
    def change(number, files):
        files[OLD] = files[OLD].replace(b"First.", b"First, good.")
        files[NEW] = skill_text("good", "new")

    def meanwhile():
        text = brain.files.read(OLD)
        brain.files.write_all({OLD: text.replace(b"First.", b"Mine.")}, message="By hand")

    report = promote(brain, change, is_good, meanwhile)
    assert report["batches"][0]["gate"]["done"] == "admitted"
    head = brain.gate.read_workspace()
    assert b"Mine." in head[OLD] and b"good" not in head[OLD] and b"good" in head[NEW]


def test_drafts_and_guides_stay_on_the_branch_when_the_rest_is_promoted(brain):
    def change(number, files):
        files[OLD] = skill_text("good", "old")
        files["skills/_drafts/more.md"] = skill_text("more", "more")
        files[f"task_skills/{PRACTICE[0].name}/SKILL.md"] = b"a guide\n"

    report = promote(brain, change, is_good, task_skills="retry_only")
    assert report["batches"][0]["gate"]["done"] == "admitted"
    head = brain.gate.read_workspace()
    assert not any(path.startswith("memory/grind/") for path in head)
    own = brain.gate.read_workspace(brain.proposals.show("grind").snapshot)
    assert {path for path in own if path not in head} == {
        "memory/grind/drafts/more.md",
        f"memory/grind/task_skills/{PRACTICE[0].name}.md",
    }


def test_what_harms_the_held_out_tasks_is_rejected_and_the_branch_goes_back(brain):
    def solve(task, front):
        is_new = "trick" in texts_of(front)
        return float(is_new if task in PRACTICE else not is_new)

    def change(number, files):
        files[OLD] = skill_text(f"trick {number}", "old")

    settings = {"is_deterministic": True, "batch_size": 1}
    script = Script(solve, change)
    before = brain.gate.read_workspace()
    report = grind(brain, PRACTICE[:2], script, holdout=HELD_OUT, settings=settings)
    gates = [one["gate"]["done"] for one in report["batches"]]
    assert gates == ["rejected", "rejected"]
    assert [one["skills_before"] for one in report["steps"]] == [1, 1]
    assert brain.gate.read_workspace() == before
    starts = {one["before"] for one in report["steps"]}
    assert all(brain.gate.read_workspace(at) == before for at in starts)


def test_a_person_finds_one_proposal_of_all_that_helped(brain):
    set_mode(brain, "propose")

    def change(number, files):
        files[OLD] = skill_text(f"good {number}", "old")

    before = brain.gate.read_workspace()
    report = promote(brain, change, is_good, tasks=PRACTICE[:2])
    found = [one.name for one in brain.proposals.list() if one.name != "grind"]
    gates = [one["gate"] for one in report["batches"]]
    assert gates[0]["done"] == "proposed" and found == [gates[-1]["proposal"]]
    assert brain.gate.read_workspace() == before
    brain.proposals.accept(brain.proposals.show(found[0]).snapshot)
    assert b"good 1" in brain.gate.read_workspace()[OLD]


def test_each_batch_leaves_what_is_best_so_far_in_the_one_proposal(brain):
    set_mode(brain, "propose")

    def change(number, files):
        files[f"skills/s{number}/SKILL.md"] = skill_text(f"good {number}", f"s{number}")

    tasks = PRACTICE[:3]
    shares = {task.name: at + 1 for at, task in enumerate(tasks)}

    def solve(task, front):
        count = texts_of(front).count("good")
        return float(count >= shares[task.name]) if task.name in shares else count / 3

    report = grind(
        brain, tasks, Script(solve, change), holdout=HELD_OUT, settings={"is_deterministic": True}
    )
    gates = [one["gate"] for one in report["batches"]]
    assert [one["done"] for one in gates] == ["proposed"] * 3
    found = [one.name for one in brain.proposals.list() if one.name != "grind"]
    assert found == [gates[-1]["proposal"]]
    brain.proposals.accept(brain.proposals.show(found[0]).snapshot)
    assert {"skills/s1/SKILL.md", "skills/s3/SKILL.md"} <= brain.gate.read_workspace().keys()


def test_where_nothing_may_evolve_no_step_is_paid(brain):
    set_mode(brain, "off")
    script = Script()
    with pytest.raises(Conflict) as caught:
        grind(brain, PRACTICE, script, holdout=HELD_OUT)
    assert caught.value.code == "evolution_off" and not script.paid


def test_without_held_out_tasks_nothing_is_promoted(brain):
    before = brain.gate.read_workspace()
    script = Script(
        lambda task, front: is_good(texts_of(front)),
        lambda number, files: files.update({OLD: skill_text("good", "old")}),
    )
    (batch,) = grind(brain, PRACTICE[:1], script)["batches"]
    assert batch["gate"] is None and brain.gate.read_workspace() == before
