"""Names that a source can hold, being no folder, and the folder of a brain cannot."""

import json
import os
from pathlib import Path

import pytest

from brain import Brain
from brain.adopting import preview_adoption
from brain.errors import InvalidInput
from tests.support.git_repositories import GitRepository
from tests.support.refusals import raises_code

TEXT = "---\nname: a\ndescription: A\n---\n"


def repository(place: Path, names: list[str]) -> Path:
    repo = GitRepository(place)
    files = {f"skills/a/{name}": b"x" for name in names}
    one = repo.commit({"skills/a/SKILL.md": TEXT.encode(), **files})
    repo.commit({"skills/a/SKILL.md": TEXT.encode() + b"More.\n", **files}, one)
    return place


def agent_file(place: Path, names: list[str]) -> Path:
    skill = {"name": "a", "files": {"SKILL.md": TEXT, **dict.fromkeys(names, "x")}}
    path = place.with_suffix(".af")
    path.write_text(json.dumps({"agents": [{"name": "Sam"}], "skills": [skill]}))
    return path


@pytest.mark.parametrize("make", [repository, agent_file])
@pytest.mark.parametrize("is_new", [True, False], ids=["a new brain", "a brain"])
def test_a_file_with_a_name_too_long_is_left_out_and_the_rest_is_taken(tmp_path, make, is_new):
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    fits, long = "n" * longest, "n" * (longest + 1)
    wide = "é" * (longest // 2 + 1)
    source = make(tmp_path / "source", [fits, long, f"{wide}/x.md"])
    target = tmp_path / "brain"
    if not is_new:
        Brain.init(target).close()
    seen = preview_adoption(source, target)
    done = Brain.adopt(source, target)
    assert {row.path for row in done.taken} == {"skills/a/SKILL.md", f"skills/a/{fits}"}
    assert seen.taken == done.taken and seen.left_out == done.left_out
    named = [row for row in done.left_out if row.code == "name_too_long"]
    assert len(named) == 2 and f"{longest} bytes" in named[0].message
    assert (target / "skills/a" / fits).exists()
    assert not Brain.adopt(source, target).changed
    with Brain.open(target) as brain:
        brain.skills.upsert("b", "Goes on.\n", description="B")
        assert brain.status().clean


def test_a_source_of_such_names_alone_makes_no_brain(tmp_path):
    long = "n" * (os.pathconf(tmp_path, "PC_NAME_MAX") + 1)
    source = tmp_path / "x.af"
    skill = {"name": "a", "files": {long: TEXT}}
    source.write_text(json.dumps({"agents": [{"name": "Sam"}], "skills": [skill]}))
    with raises_code("nothing_to_take", InvalidInput):
        Brain.adopt(source, tmp_path / "brain")
    assert not (tmp_path / "brain").exists()
