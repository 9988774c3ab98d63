"""The history of a skill through merges and renames: its own changes, all of them, once."""

import pytest

from brain import Brain


@pytest.fixture
def two_skills(tmp_path):
    """Skills alpha, at version 1, and beta, at version 5, and a branch idea."""
    with Brain.init(tmp_path / "agent", author="tester") as brain:
        brain.skills.upsert("alpha", "alpha 1\n", description="d")
        for number in range(5):
            brain.skills.upsert("beta", f"beta {number}\n", description="d")
        brain.branches.create("idea")
        yield brain


def versions(brain: Brain, slug: str) -> list[object]:
    """Return the versions in the history of a skill, oldest first."""
    return [row.version for row in reversed(brain.skills.history(slug))]


def test_a_merge_that_brings_one_skill_and_removes_another_renames_nothing(two_skills):
    brain = two_skills
    brain.skills.delete("alpha")
    brain.branches.switch("idea")
    brain.skills.delete("beta")
    brain.skills.upsert("alpha", "alpha 2\n")
    brain.branches.switch("main")
    brain.merge.start("idea", "theirs")
    found = brain.skills.history("alpha")
    assert {row.path for row in found} == {"skills/alpha/SKILL.md"}
    assert "renamed" not in {row.change for row in found}
    assert brain.skills.upsert("alpha", "alpha 3\n").version == 1 + max(
        row.version for row in found if isinstance(row.version, int)
    )


def test_the_front_matter_alone_makes_no_rename(two_skills):
    brain = two_skills
    content = (brain.root / "skills/beta/SKILL.md").read_text()
    (brain.root / "skills/beta/SKILL.md").unlink()
    (brain.root / "skills/gamma.md").write_text(
        content.replace("beta 4", "other text").replace("beta", "gamma")
    )
    brain.snapshot()
    changes = {row.slug: row.change for row in brain.history.diff("@~1", "@").skills}
    assert changes == {"beta": "removed", "gamma": "added"}
    assert versions(brain, "gamma") == [5]


def test_a_rename_by_command_is_followed_even_without_a_body(two_skills):
    brain = two_skills
    brain.skills.upsert("old", description="words of one line")
    brain.skills.rename("old", "new")
    assert versions(brain, "new") == [1, 2]


def test_a_skill_that_both_branches_renamed_has_the_history_of_both(two_skills):
    brain = two_skills
    brain.skills.rename("beta", "gamma")
    brain.branches.switch("idea")
    for number in (6, 7, 8):
        brain.skills.upsert("beta", f"beta {number}\n")
    brain.skills.rename("beta", "gamma")
    brain.branches.switch("main")
    brain.merge.start("idea", "theirs")
    found = [row.version for row in brain.skills.history("gamma")]
    assert {v for v in found if isinstance(v, int)} == set(range(1, 11))
    assert len(set(brain.skills.history("gamma"))) == len(found)


def test_a_rename_is_one_row_also_when_the_skill_is_renamed_back(two_skills):
    brain = two_skills
    brain.skills.rename("beta", "gamma")
    brain.skills.rename("gamma", "beta")
    rows = [(row.version, row.change) for row in brain.skills.history("beta")]
    assert rows[:3] == [(7, "renamed"), (6, "renamed"), (5, "upgraded")]
