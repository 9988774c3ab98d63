"""A folder into which the brain has published, with a record that somebody wrote by hand."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.adopting import publish
from brain.adopting.publish_manifest import RECORD_NAME
from brain.digest import blob_id
from brain.errors import InvalidInput
from tests.support.agent_homes import skill_text, write_files
from tests.support.refusals import raises_code

OTHERS = ("trust.json", "MEMORY.md", "manifest.yaml", "SOUL.md")


@pytest.fixture
def brain(tmp_path):
    """A brain with a skill, and with what belongs to the brain itself."""
    files = {
        "MEMORY.md": "Two cores.\n",
        "SOUL.md": "Be kind.\n",
        "trust.json": "threshold: 1\n",
        "skills/notes.md": skill_text("notes", "Notes."),
    }
    made = Brain.init(write_files(tmp_path / "brain", files), author="Ada")
    made.snapshot("All")
    return made


def forge(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the one record in a folder."""
    record = json.loads((folder / RECORD_NAME).read_text())
    change(record["published"][0])
    (folder / RECORD_NAME).write_text(json.dumps(record))


def add(home: str, row: dict[str, str], record: dict[str, Any]) -> None:
    """Add a row to a record."""
    record["files"][home] = row


@pytest.mark.parametrize("there", [False, True], ids=["removed", "replaced"])
def test_a_row_that_publishing_never_wrote_changes_nothing_of_the_brain(tmp_path, brain, there):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    before = {path: brain.files.read(path) for path in OTHERS}
    for number, path in enumerate(OTHERS):
        home, blob = f"evil-{number}/SKILL.md", blob_id(before[path]).hex()
        row = {"path": path, "blob": blob, "form": "1:agentskills:kept", "state": blob, "was": ""}
        forge(out, partial(add, home, row))
        if there:
            write_files(out, {home: skill_text(f"evil-{number}", "EVIL")})
    Brain.adopt(out, brain.root)
    assert {path: brain.files.read(path) for path in OTHERS} == before
    assert {path: (brain.root / path).read_bytes() for path in OTHERS} == before


def test_a_row_removes_nothing_whose_content_it_does_not_know(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    forge(out, lambda record: record["files"]["notes/SKILL.md"].update(blob="0" * 64))
    (out / "notes/SKILL.md").unlink()
    write_files(out, {"other/SKILL.md": skill_text("other", "Other.")})
    Brain.adopt(out, brain.root)
    assert {row.slug for row in brain.skills.list()} == {"notes", "other"}


def test_a_record_brings_in_no_snapshot_that_the_head_did_not_come_from(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    brain.branches.create("proposed")
    brain.branches.switch("proposed")
    write_files(brain.root, {"trust.json": "threshold: 9\n"})
    proposed = brain.snapshot("Trust all").snapshot
    brain.branches.switch("main")
    forge(out, lambda record: record.update(snapshot=proposed))
    head = brain.head
    with raises_code("not_of_head", InvalidInput) as caught:
        Brain.adopt(out, brain.root)
    assert RECORD_NAME in caught.value.hint
    assert brain.head == head and b"1" in brain.files.read("trust.json")


@pytest.mark.parametrize("rev", ["main", "0" * 64])
def test_a_snapshot_is_named_by_its_whole_id(tmp_path, brain, rev):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    forge(out, lambda record: record.update(snapshot=rev))
    (out / "notes/SKILL.md").unlink()
    write_files(out, {"other/SKILL.md": skill_text("other", "Other.")})
    Brain.adopt(out, brain.root)
    assert {row.slug for row in brain.skills.list()} == {"notes", "other"}
