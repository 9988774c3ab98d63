"""What a person sees of proposals, and how it is decided."""

from __future__ import annotations

from pathlib import Path

from brain import Brain

from .conftest import Call
from .test_commands import masked


def propose(body: str = "Proposed.\n") -> str:
    """Write a skill as an agent in approval mode does; return the snapshot."""
    with Brain.open(".") as brain, brain.proposal("claude", author="claude") as agent:
        return agent.upsert_skill("Fresh", body).snapshot


def test_nothing_proposed_is_said_so(agent: Path, cli: Call) -> None:
    assert cli("proposal", "list").out == "Nothing is proposed.\n"


def test_a_proposal_is_shown_whole_and_accepted_by_what_was_shown(agent: Path, cli: Call) -> None:
    snapshot = propose()
    assert "claude  fresh added at version 1" in cli("proposal", "list").out
    shown = cli("proposal", "show", "claude").out
    assert "+Proposed." in shown and "by claude" in shown
    assert shown.splitlines()[-1] == f"To accept this: brain proposal accept {snapshot}"
    propose("Not what was shown.\n")
    assert masked(cli("proposal", "accept", snapshot)).startswith("Went forward to ID12; 1 added")
    assert Path("skills/fresh/SKILL.md").read_text().endswith("Proposed.\n")
    assert "fresh upgraded 1 → 2" in cli("proposal", "list").out


def test_a_name_is_not_accepted(agent: Path, cli: Call) -> None:
    propose()
    told = cli("proposal", "accept", "claude", "--json")
    assert told.status == 1 and told.error["code"] == "not_an_id"
    assert not Path("skills/fresh").exists()


def test_a_conflict_waits_to_be_decided(agent: Path, cli: Call) -> None:
    snapshot = propose("Theirs.\n")
    assert cli("skill", "upsert", "Fresh", "-d", "Ours").status == 0
    Path("skills/fresh/SKILL.md").write_text("---\nname: fresh\nversion: 1\n---\nOurs.\n")
    assert cli("snapshot").status == 0
    told = cli("proposal", "accept", snapshot, "--json")
    assert told.status == 12 and told.error["code"] == "merge_conflict"
    assert cli("merge", "--abort").status == 0


def test_a_rejected_proposal_comes_back_with_undo(agent: Path, cli: Call) -> None:
    propose()
    told = cli("proposal", "reject", "claude")
    assert masked(told) == "Rejected claude, which stood at ID12\n"
    assert cli("proposal", "reject", "claude").status == 1
    assert cli("undo").status == 0
    assert "fresh added" in cli("proposal", "list").out
