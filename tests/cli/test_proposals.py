"""What a person sees of proposals, and how it is decided."""

from pathlib import Path

from brain import Brain
from brain.digest import blob_id
from tests.cli.test_commands import masked


def propose(body: str = "Proposed.\n") -> str:
    """Write a skill as an agent in approval mode does; return the snapshot."""
    with Brain.open(".") as brain, brain.proposals.open("claude", author="claude") as agent:
        return agent.skills.upsert("Fresh", body).snapshot


def test_nothing_proposed_is_said_so(agent, cli):
    assert cli("proposal", "list").out == "No proposals.\n"


def test_a_proposal_is_shown_whole_and_accepted_by_what_was_shown(agent, cli):
    snapshot = propose()
    assert "claude  fresh added at version 1" in cli("proposal", "list").out
    shown = cli("proposal", "show", "claude").out
    assert "+Proposed." in shown and "by claude" in shown
    assert shown.splitlines()[-1] == f"To accept this: brain proposal accept {snapshot}"
    propose("Not what was shown.\n")
    assert masked(cli("proposal", "accept", snapshot)).startswith("Merged as ID12; 1 added")
    assert Path("skills/fresh/SKILL.md").read_text().endswith("Proposed.\n")
    assert "fresh upgraded 1 → 2" in cli("proposal", "list").out


def test_a_name_is_not_accepted(agent, cli):
    propose()
    told = cli("proposal", "accept", "claude", "--json")
    assert told.status == 1 and told.error["code"] == "not_an_id"
    assert not Path("skills/fresh").exists()
    told = cli("proposal", "accept", "5d1e2f3a9b0c", "--json")
    assert told.error["code"] == "no_revision" and "brain proposal list" in told.error["hint"]


def test_a_conflict_waits_to_be_decided(agent, cli):
    snapshot = propose("Theirs.\n")
    assert cli("skill", "upsert", "Fresh", "-d", "Ours").status == 0
    Path("skills/fresh/SKILL.md").write_text("---\nname: fresh\nversion: 1\n---\nOurs.\n")
    assert cli("snapshot").status == 0
    told = cli("proposal", "accept", snapshot, "--json")
    assert told.status == 12 and told.error["code"] == "merge_conflict"
    assert cli("merge", "--abort").status == 0


def test_a_rejected_proposal_comes_back_with_undo(agent, cli):
    propose()
    told = cli("proposal", "reject", "claude")
    assert masked(told) == "Rejected claude, which was at ID12\n"
    assert cli("proposal", "reject", "claude").status == 1
    assert cli("undo").status == 0
    assert "fresh added" in cli("proposal", "list").out


def propose_files(**files: bytes) -> str:
    """Propose what a skill of files becomes: recorded on another branch, then merged."""
    with Brain.open(".") as brain:
        brain.branches.create("proposed/tools")
        brain.branches.switch("proposed/tools")
        for name, content in files.items():
            file = Path("skills/reentrancy", name)
            file.write_bytes(content)
            file.chmod(0o755 if content.startswith(b"#!") else 0o644)
        done = brain.snapshot("tools")
        brain.branches.switch("main")
        return done.snapshot


def test_what_cannot_be_shown_as_text_is_told_and_not_accepted_unasked(agent, cli):
    snapshot = propose_files(logo=b"\0PNG", run=b"#!/bin/sh\n")
    shown = cli("proposal", "show", "tools")
    assert "new file mode 100755\n--- /dev/null\n+++ b/skills/reentrancy/run" in shown.out
    blob = blob_id(b"\0PNG").hex()
    told = f"  skills/reentrancy/logo: not text; added, a file of 4 bytes, blob {blob}"
    assert told in shown.out.splitlines()
    last = shown.out.splitlines()[-1]
    assert last == f"To accept this: brain proposal accept {snapshot} --binary"
    assert cli("fork", str(agent.parent / "look"), "--rev", snapshot).status == 0
    assert (agent.parent / "look/skills/reentrancy/logo").read_bytes() == b"\0PNG"
    refused = cli("proposal", "accept", snapshot, "--json")
    assert (refused.status, refused.error["code"]) == (1, "not_shown")
    assert not Path("skills/reentrancy/logo").exists()
    assert cli("proposal", "accept", snapshot, "--binary").status == 0
    assert Path("skills/reentrancy/logo").read_bytes() == b"\0PNG"


def test_content_that_goes_or_only_moves_hides_nothing(agent, cli):
    Path("skills/reentrancy/logo").write_bytes(b"\0PNG")
    Path("skills/reentrancy/gone").write_bytes(b"\0")
    assert cli("snapshot").status == 0
    with Brain.open(".") as brain:
        brain.branches.create("proposed/tools")
        brain.branches.switch("proposed/tools")
        Path("skills/reentrancy/gone").unlink()
        Path("skills/reentrancy/logo").rename("skills/reentrancy/moved")
        snapshot = brain.snapshot("tidy").snapshot
        brain.branches.switch("main")
    shown = cli("proposal", "show", "tools").out
    assert "  skills/reentrancy/gone: not text; removed, a file of 1 byte, blob " in shown
    assert (
        "rename to skills/reentrancy/moved" in shown
        and "Binary files a/skills/reentrancy/l" not in shown
    )
    assert shown.splitlines()[-1].endswith(snapshot)
    assert cli("proposal", "accept", snapshot).status == 0


def test_what_a_file_may_become_is_shown(agent, cli):
    Path("skills/reentrancy/run").write_text("x\n")
    assert cli("snapshot").status == 0
    Path("skills/reentrancy/run").chmod(0o755)
    changed = cli("diff", "--patch").out
    assert changed.splitlines() == ["old mode 100644", "new mode 100755"]
    assert cli("snapshot").status == 0
    assert cli("diff", "@~1", "@", "--patch").out == changed
