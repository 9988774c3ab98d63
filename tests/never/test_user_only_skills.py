"""A skill that its author keeps for the user is offered to no model, and else is as any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from brain import Brain
from brain.serve.mcp import resources
from brain.serve.mcp.brain_pool import BrainPool
from brain.serve.tools import Toolbox
from tests.cli.conftest import cli, folder
from tests.support.agent_homes import write_files

__all__ = ["cli", "folder"]


def text(name: str, field: str = "") -> str:
    return f"---\nname: {name}\ndescription: Publishes the {name}\n{field}---\nDo it.\n"


HIDDEN = text("release", "disable-model-invocation: true\n")


@pytest.fixture
def home(folder):
    """A home with a skill of each kind, adopted into `mind`."""
    files = {
        ".claude/skills/release/SKILL.md": HIDDEN,
        ".claude/skills/model/SKILL.md": text("model", "user-invocable: false\n"),
        ".claude/skills/all/SKILL.md": text("all", "disable-model-invocation: false\n"),
    }
    home = write_files(folder / "home", files)
    Brain.adopt(home, folder / "mind")
    return home


def shown_to_models(root: Path) -> dict[str, str]:
    """Return every text in which a model is offered skills."""
    with Brain.open(root) as brain:
        prompt, tools = brain.prompt, Toolbox(brain)
        shown = {
            "index": prompt.build_index().index,
            "prompt": prompt.build().prompt,
            "under a budget": prompt.build_index(budget=10_000, max_chars=80).index,
            "for a task": prompt.build_index(task="publishes release model all").index,
            "earlier": prompt.build_index(brain.head).index,
            "page": prompt.build_framed_page().text,
            "skills_list": tools.call("skills_list", {}).text,
            "list for a task": tools.call("skills_list", {"task": "publishes release"}).text,
        }
    desk = BrainPool(lambda author: Brain.open(root, author=author), "reads")
    try:
        page = resources.list_page(desk.list_skills("x"), "").resources
        shown["resources"] = " ".join(str(one.description) for one in page)
        shown["instructions"] = desk.instructions("x")
    finally:
        desk.close()
    return shown


def offered(root: Path, name: str) -> set[str]:
    return {what for what, text in shown_to_models(root).items() if f"the {name}" in text}


def test_no_list_for_a_model_has_it(home):
    assert offered(Path("mind"), "release") == set()
    assert offered(Path("mind"), "model") == set(shown_to_models(Path("mind")))


def test_its_user_still_sees_reads_and_publishes_it(home, cli):
    with Brain.open("mind") as brain:
        assert [one.slug for one in brain.skills.list() if one.user_only] == ["release"]
        assert brain.skills.history("release")
    assert "(user only) Publishes the release" in cli("-C", "mind", "skill", "list").out
    assert "Do it." in cli("-C", "mind", "skill", "view", "release").out
    listed = json.loads(cli("-C", "mind", "skill", "list", "--json").out)["skills"]
    assert {one["slug"]: one["user_only"] for one in listed} == {
        "all": False,
        "model": False,
        "release": True,
    }
    assert cli("-C", "mind", "publish", "--to", "claude", "copy").status == 0
    (published,) = Path("copy").rglob("release/SKILL.md")
    assert published.read_text() == HIDDEN


@pytest.mark.parametrize("value", ["true", "True", '"true"', "yes", "true  # by hand only"])
def test_it_comes_and_goes_with_the_field(home, value):
    with Brain.open("mind") as brain:
        path = next(one.path for one in brain.skills.list() if one.slug == "all")
        assert "▸ all" in brain.prompt.build_index().index
        write_files(Path("mind"), {path: text("all", f"disable-model-invocation: {value}\n")})
        brain.snapshot("Hide")
        assert "▸ all" not in brain.prompt.build_index().index
        assert brain.verify().ok
        write_files(Path("mind"), {path: text("all")})
        brain.snapshot("Show")
        assert "▸ all" in brain.prompt.build_index().index
        assert "▸ all" not in brain.prompt.build_index("@~1").index


def test_a_brain_of_nothing_else_says_that_it_has_no_skills(tmp_path):
    with Brain.init(tmp_path / "b") as brain:
        write_files(brain.root, {"skills/release/SKILL.md": HIDDEN})
        brain.snapshot("One")
        for options in ({}, {"budget": 50}, {"max_chars": 9}, {"task": "release"}):
            made = brain.prompt.build_index(**options)
            assert (made.index, made.skills) == ("(no skills yet)", 0)
