"""SKILL@VERSION keeps its meaning on a branch, whatever is merged into it."""

import pytest

from brain import Brain
from tests.support.brains import write_file

SLUG = "debug-pods"


def names(brain: Brain) -> dict[str, str]:
    """Return the body of each name that the log lists."""
    found = [one.name for one in brain.skills.history(SLUG) if one.name]
    return {name: brain.skills.view(f"{SLUG}@{name}").body.split()[-1] for name in found}


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "b", author="ada") as made:
        made.skills.upsert(SLUG, "one\n", description="d")
        for name in ("ana", "ben", "cy"):
            made.branches.create(name)
        yield made


def write(brain: Brain, branch: str, text: str, *, is_by_hand: bool = False) -> None:
    brain.branches.switch(branch)
    if is_by_hand:
        path = brain.root / "skills" / SLUG / "SKILL.md"
        last = path.read_text().split()[-1]
        write_file(brain, f"skills/{SLUG}/SKILL.md", path.read_text().replace(last, text))
        brain.snapshot()
    else:
        brain.skills.upsert(SLUG, f"{text}\n")


def merge(brain: Brain, branch: str, into: str = "main") -> None:
    """Merge a branch; every name of before still names the same text."""
    brain.branches.switch(into)
    before = names(brain)
    result = brain.merge.start(branch)
    if result.conflicts:
        brain.merge.resolve([one.path for one in result.conflicts], "ours")
        brain.merge.resume()
    assert before.items() <= names(brain).items()


def test_a_version_that_other_branches_wrote_too_is_numbered_behind_that_of_this_branch(brain):
    write(brain, "cy", "cy")  # the first of all
    write(brain, "ben", "ben")
    write(brain, "ana", "ana")
    for name in ("ana", "ben", "cy"):
        merge(brain, name)
    found = names(brain)
    assert [found[name] for name in ("2", "2+1", "2+2")] == ["ana", "ben", "cy"]
    reasons = [one.name for one in brain.history.why(SLUG).versions]
    assert reasons == [one.name for one in brain.skills.history(SLUG)]
    (only,) = {one.author for one in brain.history.why(f"{SLUG}@2+2").versions}
    assert only == "ada"


def test_names_stay_when_branches_are_merged_that_merged_others(brain):
    write(brain, "ana", "ana")
    write(brain, "ana", "ana-edit", is_by_hand=True)
    write(brain, "ben", "ben")
    write(brain, "cy", "cy")
    write(brain, "cy", "cy-edit", is_by_hand=True)
    write(brain, "main", "main")
    merge(brain, "ben", into="cy")
    assert names(brain)["2"] == "cy"
    write(brain, "cy", "cy-later")
    merge(brain, "ana")
    merge(brain, "cy")
    merge(brain, "ben")
    found = names(brain)
    assert [found[f"2+{number}"] for number in range(1, 6)] == [
        *("ana", "ana-edit", "cy", "cy-edit", "ben")
    ]
    assert found["2"] == "main"
