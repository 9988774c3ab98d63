"""After "All resolved" a merge continues, whatever was recorded while it waited."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain import Brain
from tests.cli.conftest import cli, keys

__all__ = ["cli", "keys"]

PLACE = "notes/plan.txt"
SKILL = "skills/oracle/SKILL.md"
TOP = "".join(f"line {number}\n" for number in range(8))


@pytest.fixture
def waiting(tmp_path, cli, monkeypatch):
    """A brain in whose merge a text and a skill are in conflict; its folder is current."""
    root = tmp_path / "agent"
    monkeypatch.chdir(tmp_path)
    with Brain.init(root, author="ada") as brain:
        brain.skills.upsert("Oracle", "Base.\n", description="Checks oracles")
        _write(root, "base")
        brain.snapshot()
        brain.branches.create("side")
        _write(root, "ours")
        brain.skills.upsert("Oracle", "Ours.\n")
        brain.snapshot()
        brain.branches.switch("side")
        _write(root, "theirs")
        brain.skills.upsert("Oracle", "Theirs.\n")
        brain.snapshot()
        brain.branches.switch("main")
    monkeypatch.chdir(root)
    assert cli("merge", "side").status == 12
    return root


def _write(root: Path, last: str, first: str = "line 0") -> None:
    (root / PLACE).parent.mkdir(exist_ok=True)
    (root / PLACE).write_text(f"{TOP.replace('line 0', first)}{last}\n")


def _resolve_by_hand(root: Path, path: str, text: str) -> None:
    (root / ".brain/conflicts" / path).write_text(text)


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "in the folder"])
@pytest.mark.parametrize("choice", ["--ours", "--theirs", "--both", "--edited"])
def test_a_merge_continues_after_all_resolved_though_the_file_changed_before(
    waiting, cli, choice, recorded
):
    _write(waiting, "ours", first="changed since")
    skill = waiting / SKILL
    skill.write_text(skill.read_text().replace("Ours.", "Ours, by hand."))
    if recorded:
        assert cli("snapshot", "-m", "By hand").status == 0
    if choice == "--edited":
        _resolve_by_hand(waiting, PLACE, f"{TOP}both of them\n")
        _resolve_by_hand(waiting, SKILL, skill.read_text())
    told = cli("resolve", PLACE, SKILL, choice)
    assert told.status == 0 and "All resolved" in told.out, told
    told = cli("merge", "--continue")
    assert told.status == 0, told
    text = (waiting / PLACE).read_text()
    assert {
        "--ours": "changed since" in text and text.endswith("\nours\n"),
        "--theirs": text.endswith("\ntheirs\n"),
        "--both": "changed since" in text and "ours\n" in text and "theirs\n" in text,
        "--edited": "changed since" in text and text.endswith("\nboth of them\n"),
    }[choice], text
    assert ("Theirs." in skill.read_text()) == (choice in ("--theirs", "--both"))
    with Brain.open(waiting) as brain:
        assert brain.status().clean and brain.verify(deep=True).ok


def test_an_edited_text_that_lacks_a_later_change_is_not_taken(waiting, cli):
    _write(waiting, "ours, changed since")
    _resolve_by_hand(waiting, PLACE, f"{TOP}both of them\n")
    told = cli("--json", "resolve", PLACE, "--edited")
    assert (told.status, told.error["code"]) == (12, "stale_markers")
    assert cli("resolve", PLACE, SKILL, "--ours").status == 0
    assert cli("merge", "--continue").status == 0
    assert (waiting / PLACE).read_text().endswith("ours, changed since\n")
