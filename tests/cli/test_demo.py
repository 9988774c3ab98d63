"""The demo tells the truth, and says so when it does not."""

import re

import pytest
from brain_cli.commands import demo

from tests.cli.conftest import run_command, validate


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo_with_settings(demo_folder):
    """A demo as JSON, with a setting of the user and a temporary folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAIN_DIR", "/nonexistent")
        patch.setenv("TMPDIR", str(demo_folder))
        return run_command(["demo", "--json"], cwd=demo_folder)


def test_every_step_of_the_story_is_as_said(demo_with_settings):
    document = demo_with_settings.document
    validate("demo", document)
    assert document["ok"] and demo_with_settings.err == ""
    assert [step["command"].split()[1] for step in document["steps"]][:3] == [
        "init",
        "snapshot",
        "skill",
    ]
    assert [step["status"] for step in document["steps"]] == [0] * 11 + [3] + [0] * 7
    shown = "".join(step["output"] for step in document["steps"])
    assert shown.count("oracle-manipulation upgraded 1 → 2") >= 2
    assert "▸ oracle-manipulation: Check oracle freshness and prefer TWAP over spot price" in shown
    assert len(set(re.findall(r"bundle +([0-9a-f]{12})", shown, re.IGNORECASE))) == 2
    flipped = next(step for step in document["steps"] if "flipped" in step["title"])
    assert "skills/oracle-manipulation/SKILL.md" in flipped["output"]


def test_a_step_that_does_not_do_what_it_says_fails_the_demo(cli, monkeypatch):
    monkeypatch.setattr(demo, "LESSON_BODY", "# Nothing about roll-ups\n")
    told = cli("demo")
    assert told.status == 1 and "\n2. " in told.out
    assert told.err.startswith("Error: the demo finds no text in the store of its example")


def test_the_user_s_settings_do_not_reach_the_demo(demo_with_settings):
    assert demo_with_settings.status == 0


def test_the_example_is_the_one_in_examples(project):
    assert demo.example_folder() == project / "examples/auditor"


def test_nothing_is_left_in_the_temporary_folder(demo_with_settings, demo_folder):
    assert demo_with_settings.status == 0
    assert list(demo_folder.iterdir()) == []
