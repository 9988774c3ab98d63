"""Who accepted a proposal, and why, belongs to the lineage; it is never who proposed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain import Brain
from brain.errors import Conflict
from tests.cli.conftest import Call, cli, keys

__all__ = ["cli", "keys"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A brain with one skill; its folder, which is current."""
    with Brain.init(tmp_path / "agent", author="ada") as brain:
        brain.skills.upsert("Oracle", "One.\n", description="Checks oracles")
    monkeypatch.chdir(tmp_path / "agent")
    return tmp_path / "agent"


def propose(folder: Path, text: str = "Two.\n") -> str:
    """Write a skill as the agent claude does; return the snapshot."""
    with Brain.open(folder) as brain, brain.proposals.open("claude-1a2b3c", author="claude") as one:
        return one.skills.upsert("Oracle", text, message="Patch the text").snapshot


def write_by_hand(folder: Path, text: str) -> None:
    (folder / "skills/oracle/SKILL.md").write_text(
        f"---\nname: oracle\ndescription: Checks oracles\nversion: 1\n---\n{text}"
    )
    with Brain.open(folder, author="ada") as brain:
        brain.snapshot("By hand")


def accept_at_once(folder: Path, cli: Call, *more: str) -> None:
    assert cli("--author", "eve", "proposal", "accept", propose(folder), *more).status == 0


def accept_after_another_write(folder: Path, cli: Call, *more: str) -> None:
    proposed = propose(folder)
    with Brain.open(folder, author="ada") as brain:
        brain.skills.upsert("Other", "O.\n", description="Another")
    assert cli("--author", "eve", "proposal", "accept", proposed, *more).status == 0


def accept_after_conflicts(folder: Path, cli: Call, *more: str) -> None:
    proposed = propose(folder)
    write_by_hand(folder, "Ours.\n")
    assert cli("--author", "eve", "proposal", "accept", proposed, *more).status == 12
    assert cli("resolve", "skills/oracle/SKILL.md", "--theirs").status == 0
    assert cli("--author", "claude", "merge", "--continue").status == 12
    assert cli("--author", "eve", "merge", "--continue").status == 0


@pytest.mark.parametrize(
    "way", [accept_at_once, accept_after_another_write, accept_after_conflicts]
)
def test_the_lineage_names_who_accepted_and_what_they_said(folder, cli, way):
    way(folder, cli, "-m", "Reviewed the feeds")
    with Brain.open(folder) as brain:
        head, *_ = brain.history.log()
        proposed = next(info for info in brain.history.log() if info.message == "Patch the text")
        assert (head.author, head.message) == ("eve", "Reviewed the feeds")
        assert head.operation["kind"] == "merge" and head.parents[1] == proposed.snapshot
        assert proposed.author == "claude"
        assert not brain.proposals.list()
        assert brain.verify(deep=True).ok
    for command in (["log"], ["show"], ["why", "oracle"]):
        said = cli(*command).out
        assert "eve" in said and "Reviewed the feeds" in said, command
    assert cli("undo").status == 0
    assert "claude-1a2b3c" in cli("proposal", "list").out


def test_without_a_message_it_says_which_proposal_was_accepted(folder, cli):
    accept_at_once(folder, cli)
    assert "eve  Accept the proposal claude-1a2b3c" in cli("log").out


def test_the_approval_is_signed_if_the_person_signs(folder, cli):
    key = cli("--json", "key", "new", "eve").document["key"]
    assert cli("key", "trust", key, "--as", "eve").status == 0
    assert cli("config", "sign", "eve").status == 0
    accept_at_once(folder, cli)
    with Brain.open(folder) as brain:
        assert [row.key for row in brain.signatures.list("@")] == [key]


def test_who_made_a_proposal_does_not_accept_it(folder, cli):
    proposed = propose(folder)
    told = cli("--author", "claude", "--json", "proposal", "accept", proposed)
    assert (told.status, told.error["code"]) == (12, "own_proposal")
    with Brain.open(folder, author="claude") as brain:
        before = brain.head
        with pytest.raises(Conflict):
            brain.proposals.accept(proposed)
        assert brain.head == before
    assert cli("--author", "claude", "merge", "proposed/claude-1a2b3c").status == 12


def test_a_reviewer_who_edited_a_proposal_accepts_it(folder, cli):
    propose(folder)
    with Brain.open(folder) as brain, brain.proposals.open("claude-1a2b3c", author="eve") as own:
        edited = own.skills.upsert("Oracle", "Two, edited.\n").snapshot
    assert cli("--author", "claude", "proposal", "accept", edited).status == 12
    assert cli("--author", "eve", "proposal", "accept", edited).status == 0


def test_what_a_person_wrote_before_on_a_branch_does_not_make_it_theirs(folder, cli):
    with Brain.open(folder, author="eve") as brain:
        brain.branches.create("side")
        brain.branches.switch("side")
        brain.skills.upsert("Other", "O.\n", description="Another")
        proposed = propose(folder)
        brain.branches.switch("main")
    assert cli("--author", "eve", "proposal", "accept", proposed).status == 0


def test_an_approval_by_python_or_by_a_merge_has_a_name_too(folder, cli):
    with Brain.open(folder) as brain:
        done = brain.proposals.accept(propose(folder))
        assert not done.fast_forward and next(iter(brain.history.log())).author
    propose(folder, "Three.\n")
    assert cli("--author", "eve", "merge", "proposed/claude-1a2b3c").status == 0
    with Brain.open(folder) as brain:
        head, *_ = brain.history.log()
        assert (head.author, head.operation["kind"]) == ("eve", "merge")


def test_a_part_of_a_proposal_is_accepted_as_the_whole_of_it(folder, cli):
    propose(folder)
    propose(folder, "Three.\n")
    assert cli("--author", "claude", "merge", "proposed/claude-1a2b3c~1").status == 12
    assert cli("--author", "eve", "merge", "proposed/claude-1a2b3c~1").status == 0
    with Brain.open(folder) as brain:
        head, *_ = brain.history.log()
        assert (head.author, head.operation["kind"]) == ("eve", "merge")


def test_who_proposed_does_not_finish_a_merge_of_what_was_rejected_meanwhile(folder, cli):
    propose(folder)
    write_by_hand(folder, "Ours.\n")
    assert cli("--author", "eve", "merge", "proposed/claude-1a2b3c").status == 12
    assert cli("resolve", "skills/oracle/SKILL.md", "--theirs").status == 0
    assert cli("proposal", "reject", "claude-1a2b3c").status == 0
    told = cli("--author", "claude", "--json", "merge", "--continue")
    assert (told.status, told.error["code"]) == (12, "own_proposal")
    assert cli("--author", "eve", "merge", "--continue").status == 0


def test_who_is_named_by_their_login_does_not_accept_their_own_either(folder, cli, monkeypatch):
    monkeypatch.setenv("LOGNAME", "claude")
    proposed = propose(folder)
    with Brain.open(folder) as brain, pytest.raises(Conflict):
        brain.proposals.accept(proposed)
