"""Nothing is destroyed by a word that means something else, or without a person's consent."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from brain_cli.registry import ALIASES, GROUP_COMMANDS, ROOT_COMMANDS

from brain import Brain
from tests.cli.conftest import Call, agent, cli, folder, keys

__all__ = ["agent", "cli", "folder", "keys"]


DESTROYS = set(
    "delete gc redact redo reject remove repair restore retire revert revoke"
    " undo unpin commit deploy accept owner".split()
)
WORDS = (
    "edit react retract reduct reject0 carted traced record rest store restart rename remote"
    " retry return retrieve review reverse revise revive invoke evoke end sent spend sand seed"
    " undone"
    " under unbound undo-all bind bound pin untie deleted deletion select clear clean drop discard"
    " erase destroy purge prune forget hide move copy get set put patch update change modify write"
    " show help find open-all close stop start kill abort cancelled exit quit pay offer accepted"
    " except concept comment commits commute converse deployed transform transferred go git"
    " report respond present rend red read redraft reedit direct rescue repay repairs prepare super"
    " superset speed threshold0 sign signed single"
).split()
SLIPS = {"redcat": "redact", "reddact": "redact", "udno": "undo", "restroe": "restore"}


def suggested(cli: Call, *words: str) -> set[str]:
    told = cli(*words)
    assert told.status == 2, words
    _, _, asked = told.err.partition("Did you mean")
    return {name.split()[-1] for name in re.findall(r"'([^']+)'", asked.partition("\n")[0])}


@pytest.mark.parametrize("group", ["", *GROUP_COMMANDS])
def test_no_natural_word_is_taken_for_a_command_that_destroys_or_pays(group, cli):
    table = GROUP_COMMANDS[group] if group else ROOT_COMMANDS
    own = {name for part in table.values() for name in part}
    aliases = ALIASES.get(group, {}) | ({} if group else {"help": "help"})
    for word in WORDS:
        if word in aliases:
            assert not {*aliases[word].split()} & DESTROYS, word
        elif word not in own:
            assert not suggested(cli, *group.split(), word) & DESTROYS, word


def test_slips_of_the_fingers_are_still_understood(cli):
    assert [name for word, name in SLIPS.items() if name not in suggested(cli, word)] == []


def test_redact_needs_a_yes_at_the_terminal_or_as_an_option(agent, cli, monkeypatch):
    redact = ("redact", "memory/notes.md", "--reason", "r")
    told = cli("--json", *redact)
    assert (told.status, told.error["code"]) == (1, "not_confirmed")
    assert "--yes" in told.error["hint"] and "for good" in told.error["message"]
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    for answer in ("n\n", "\n", ""):
        monkeypatch.setattr(sys.stdin, "readline", lambda said=answer: said, raising=False)
        monkeypatch.setattr("builtins.input", lambda *_, said=answer: said.strip())
        assert cli(*redact).status in (1, 130)
    assert (agent / "memory/notes.md").exists() and cli("verify").status == 0
    assert cli(*redact, "--yes").status == 0
    assert not (agent / "memory/notes.md").exists()


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
