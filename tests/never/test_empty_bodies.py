"""A write that carries no text is refused, whichever way it comes, and nothing is lost."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from brain import Brain
from brain.errors import InvalidInput
from tests.cli.conftest import cli, keys
from tests.support.refusals import raises_code

__all__ = ["cli", "keys"]

HEAD = "---\nname: oracle\ndescription: Checks oracles\n---\n"
BLANKS = {"nothing": "", "blanks": " \n\t\r\n\u00a0", "empty head": "---\n---\n \n"}
BLANKS_OVER_A_BODY = {**BLANKS, "head alone": HEAD}


@pytest.fixture
def brain(tmp_path):
    """A brain with the skill `oracle`; its folder."""
    with Brain.init(tmp_path / "b", author="ada") as made:
        made.skills.upsert("oracle", "Check freshness.\n", description="Checks oracles")
        made.memory.add("memory", "One lesson")
    return tmp_path / "b"


def state(folder: Path) -> tuple[str, bytes]:
    with Brain.open(folder) as opened:
        return opened.head, (folder / "skills/oracle/SKILL.md").read_bytes()


@pytest.mark.parametrize("text", BLANKS_OVER_A_BODY.values(), ids=BLANKS_OVER_A_BODY)
def test_no_command_and_no_method_replaces_a_text_by_blanks(brain, cli, monkeypatch, text):
    before = state(brain)
    (brain.parent / "empty.md").write_text(text)
    (brain.parent / "folder").mkdir()
    (brain.parent / "folder/SKILL.md").write_text(text)
    for file in ("empty.md", "folder"):
        for verb in (["upsert", "oracle"], ["upsert", "oracle", "-d", "New"]):
            told = cli("-C", str(brain), "--json", "skill", *verb, "-f", str(brain.parent / file))
            assert (told.status, told.error["code"]) == (1, "no_content"), (file, verb)
            assert told.error["hint"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    told = cli("-C", str(brain), "--json", "skill", "upsert", "oracle", "-f", "-")
    assert (told.status, told.error["code"]) == (1, "no_content")
    with Brain.open(brain) as opened:
        for write in (
            lambda: opened.skills.upsert("oracle", text),
            lambda: opened.skills.upsert("oracle", text, description="d", base=1),
            lambda: opened.skills.edit("oracle", lambda _: text.encode()),
        ):
            with raises_code("no_content", InvalidInput):
                write()
    assert state(brain) == before


@pytest.mark.parametrize("text", BLANKS.values(), ids=BLANKS)
def test_no_skill_begins_as_blanks(brain, text):
    with Brain.open(brain) as opened:
        for description in (None, " ", "A description"):
            with raises_code("no_content", InvalidInput):
                opened.skills.upsert("fresh", text, description=description)
        with pytest.raises(InvalidInput):
            opened.skills.upsert("fresh", description=" ")
    assert not (brain / "skills/fresh").exists()


@pytest.mark.parametrize(
    "tool, arguments",
    [
        ("skill_manage", {"action": "edit", "name": "oracle", "content": " \n"}),
        ("skill_manage", {"action": "edit", "name": "oracle", "content": "", "description": "x"}),
        ("skill_manage", {"action": "create", "name": "fresh", "content": "\n\n"}),
        (
            "skill_manage",
            {
                "action": "patch",
                "name": "oracle",
                "old_string": "Check freshness.",
                "new_string": "",
            },
        ),
        ("create_skill", {"name": "fresh", "description": "d", "python_code": " \n"}),
        ("memory", {"action": "add", "target": "memory", "content": " \n"}),
        ("memory", {"action": "replace", "target": "memory", "old_text": "One", "content": ""}),
    ],
)
def test_no_tool_writes_blanks(brain, cli, tool, arguments):
    before = state(brain)
    told = cli("-C", str(brain), "tools", "call", tool, json.dumps(arguments))
    assert told.status == 1 and "Traceback" not in told.err
    assert state(brain) == before and not (brain / "skills/fresh").exists()


def test_a_description_alone_is_still_changed_and_files_of_a_bare_skill_still_written(brain, cli):
    assert cli("-C", str(brain), "skill", "upsert", "oracle", "-d", "New line").status == 0
    assert cli("-C", str(brain), "skill", "upsert", "bare", "-d", "Only this").status == 0
    with Brain.open(brain) as opened:
        assert "Check freshness." in opened.skills.view("oracle").body
        written = opened.skills.edit("bare", lambda _: b"", file="scripts/__init__.py")
        assert written.version == 2
        opened.skills.upsert("head", HEAD)
