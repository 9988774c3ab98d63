"""Nothing is destroyed by a word that means something else, or without a person's consent."""

from __future__ import annotations

import re
import sys

import pytest
from brain_cli.registry import GROUP_COMMANDS, ROOT_COMMANDS

from tests.cli.conftest import Call, agent, cli, folder, keys

__all__ = ["agent", "cli", "folder", "keys"]

DESTROYS = set(
    "cancel delete gc redact redo reject remove repair resend restore retire revert revoke send"
    " speed-up supersede transfer undo unbind unpin commit deploy accept".split()
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
    for word in WORDS:
        if word not in own:
            assert not suggested(cli, *group.split(), word) & DESTROYS, word


def test_edit_means_upsert_and_slips_of_the_fingers_are_still_understood(cli):
    assert suggested(cli, "edit") == {"upsert"}
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
