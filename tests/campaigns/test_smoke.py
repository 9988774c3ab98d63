"""The campaigns themselves work: each goes over a small collection, and sees what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from brain import Brain
from brain.skills.index_lines import parse_index
from tests.campaigns import front_matter, listed_skills, publish_back, secrets
from tests.support.agent_homes import skill_text, write_files

FOLDERS = ("skills/tax", "plugins/a/skills/tax", "plugins/b/skills/Tax: new", "_old/one", "two (2)")


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection with shared slugs, a folder that holds no skills, and a bad head."""
    root = tmp_path / "collection"
    for number, folder in enumerate(FOLDERS):
        name = folder.rpartition("/")[2].lower()
        write_files(root / folder, {"SKILL.md": skill_text(name, f"Purpose {number}.")})
    colon = "---\nname: colon\ndescription: Use it: often\n---\nDo.\n"
    write_files(root / "skills/colon", {"SKILL.md": colon, "notes.txt": "A fact.\n" * 9})
    return root


def test_every_skill_is_found_and_every_line_opens_its_own(
    collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert listed_skills.main(str(collection)) == 0
    rows = capsys.readouterr().out.splitlines()
    assert "init: _old/one/SKILL.md: hidden_folder" in rows
    numbers = {
        name: int(count)
        for count, _, name in (row.strip().partition("  ") for row in rows)
        if count.isdigit()
    }
    assert numbers["SKILL.md files"] == 6
    assert numbers["init: SKILL.md files that are skills"] == 5
    assert numbers["adopt: SKILL.md files that are skills"] == 6
    for kind in ("init, index", "adopt, index", "brain://index", "instructions"):
        assert numbers[f"{kind}: lines that open their skill"] == numbers[f"{kind}: lines"] > 4


def test_a_line_that_opens_another_skill_is_seen(collection: Path) -> None:
    with Brain.init(collection) as brain:
        brain.snapshot()
        entries = parse_index(brain.prompt.build_index().index)
        path = next(one.path for one in brain.skills.list() if one.address == entries[0].address)
        content = brain.files.read(path)
    assert listed_skills.compare_with_file(entries[0], path, content) == ""
    assert listed_skills.compare_with_file(entries[1], path, content)


def test_a_secret_in_each_text_is_found(
    collection: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["secrets", str(collection), "--plant", "3"])
    secrets.main()
    out = capsys.readouterr().out
    assert "0 findings in 0 files" in out and "7 of 7 planted secrets found" in out


def test_what_a_client_shows_is_compared(
    collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = collection.parent / "shown.json"
    texts = {"skills/colon": "Use it: often", "skills/tax": "Something else"}
    files = {str(collection / name / "SKILL.md"): text for name, text in texts.items()}
    shown.write_text(json.dumps(files))
    front_matter.main(str(collection), str(shown))
    out = capsys.readouterr().out
    assert f"1  {shown}: equal" in out and f"1  {shown}: different" in out


def test_a_home_is_published_back(
    collection: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["publish_back", str(collection), "--layout", "claude-home"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit, match="0"):
        publish_back.main()
    assert "0 others changed, 0 bytes" in capsys.readouterr().out
