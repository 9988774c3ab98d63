"""Branches, merges, forks and history, as people and programs see them."""

import json
from pathlib import Path

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.serve.tools import Toolbox
from tests.cli.conftest import Call
from tests.cli.test_commands import learn, masked
from tests.support.cases import read_cases

CASES = read_cases(__file__)


def prompts(cli: Call) -> None:
    """Write the system prompt differently on two branches; end on main."""
    assert cli("branch", "idea").status == 0
    for name in ("main", "idea"):
        cli("switch", name)
        Path("prompts/system.md").write_text(f"Be {name}.\n")
        cli("snapshot", "-m", name)
    cli("switch", "main")


def test_branches_are_listed_with_the_current_one_marked(agent, cli):
    assert masked(cli("branch", "try-idea")) == "* ID12 main\n  ID12 try-idea\n"
    assert masked(cli("switch", "try-idea")) == (
        "On try-idea at ID12; 0 files written, 0 removed\n"
    )
    assert masked(cli("branch")) == "  ID12 main\n* ID12 try-idea\n"
    told = cli("branch", "--delete", "main")
    assert (told.status, told.err) == (0, "Removed main\n")


def test_a_switch_can_make_its_branch(agent, cli):
    assert cli("switch", "--new", "idea").status == 0
    assert (
        "* " in cli("branch").out.split("idea")[0].splitlines()[-1] or "idea" in cli("status").out
    )


def test_a_skill_changed_on_both_sides_is_merged_in_words(agent, cli):
    learn(cli, "shared", "one\n\ntwo\n\nthree")
    cli("branch", "idea")
    learn(cli, "shared", "ONE\n\ntwo\n\nthree")
    cli("switch", "idea")
    learn(cli, "shared", "one\n\ntwo\n\nTHREE")
    cli("switch", "main")
    told = cli("merge", "idea")
    assert (told.status, told.err) == (0, "")
    assert masked(told) == (
        "shared merged 2 + 2 → 3\nMerged as ID12; 0 added, 1 modified, 0 removed\n"
    )
    assert "ONE\n\ntwo\n\nTHREE" in cli("skill", "view", "shared").out
    log = cli("log", "--graph", "-n", "4").out
    assert "Merge idea" in log and "|\\" in log


def test_a_conflict_ends_with_12_and_is_decided_step_by_step(agent, cli):
    prompts(cli)
    told = cli("merge", "idea")
    assert told.status == 12
    assert told.out == (
        "C prompts/system.md: content, markers in .brain/conflicts/prompts/system.md\n"
    )
    assert "Error: 1 conflict to resolve; nothing was merged yet" in told.err
    assert "Merging idea: 1 conflict to resolve" in cli("status").out
    assert cli("merge", "--continue").status == 12
    assert (
        cli("resolve", "prompts/system.md", "--theirs")
        .out.splitlines()[-1]
        .startswith("All resolved")
    )
    assert cli("merge", "--continue").status == 0
    assert Path("prompts/system.md").read_text() == "Be idea.\n"
    assert cli("verify").status == 0


def test_a_conflict_in_json_is_one_document_and_an_error(agent, cli):
    prompts(cli)
    told = cli("merge", "idea", "--json")
    assert told.status == 12
    assert told.document["changed"] is False
    assert told.document["conflicts"][0]["path"] == "prompts/system.md"
    assert json.loads(told.err)["error"]["code"] == "merge_conflict"
    assert len(cli("status", "--json").document["conflicts"]) == 1


def test_a_text_with_markers_left_is_not_taken(agent, cli):
    prompts(cli)
    cli("merge", "idea")
    told = cli("resolve", "prompts/system.md", "--edited")
    assert told.status == 1 and "markers left" in told.err
    Path(".brain/conflicts/prompts/system.md").write_text("Be both.\n")
    assert cli("resolve", "prompts/system.md", "--edited").status == 0
    assert cli("merge", "--continue").status == 0
    assert Path("prompts/system.md").read_text() == "Be both.\n"


def test_a_merge_is_given_up_without_a_trace(agent, cli):
    prompts(cli)
    before = cli("show", "--json").out
    cli("merge", "idea")
    assert cli("merge", "--abort").status == 0
    assert cli("show", "--json").out == before
    assert "Merging" not in cli("status").out


@pytest.mark.parametrize("call", CASES["test_a_call_that_does_not_add_up_is_a_usage_error"])
def test_a_call_that_does_not_add_up_is_a_usage_error(agent, cli, call):
    assert cli(*call).status == 2


def test_a_fork_descends_from_its_parent_and_says_so(agent, cli):
    origin = cli("show", "--json").document["snapshot"]
    told = cli("fork", "../child")
    assert masked(told) == f"Brain ID12 in {agent.parent / 'child'}\nIt descends from ID12\n"
    assert cli("-C", "../child", "prove", "--ancestor", origin, "-o", "proof.json").status == 0
    told = cli("-C", "../child", "verify", "proof.json")
    assert told.status == 0 and "the snapshot descends from the ancestor" in told.out
    assert "brain forked from" in cli("-C", "../child", "log").out


def test_blame_names_who_wrote_each_line(agent, cli):
    learn(cli, "shared", "one")
    learn(cli, "shared", "one\ntwo")
    lines = cli("blame", "shared").out.splitlines()
    assert [line.split()[1] for line in lines[-2:]] == ["ada", "ada"]
    assert lines[-1].endswith("two") and lines[-1].split()[0] != lines[-2].split()[0]


# What a person sees of proposals, and how it is decided.
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


def test_the_list_names_files_beside_the_skills(agent, cli):
    with Brain.open(".") as brain, brain.proposals.open("claude", author="claude") as proposing:
        proposing.skills.upsert("Fresh", "Proposed.\n")
        proposing.memory.add("memory", "The feed is slow")
    (line,) = cli("proposal").out.splitlines()
    assert "  claude  fresh added at version 1, " in line and " memory/" in line


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


def propose_three() -> str:
    """Change one skill, rename another and add a third; return the snapshot."""
    with Brain.open(".") as brain, brain.proposals.open("claude", author="claude") as agent:
        agent.skills.upsert("oracle-manipulation", "Better.\n")
        agent.skills.rename("reentrancy", "re-entry")
        return agent.skills.upsert("Fresh", "Proposed.\n").snapshot


def test_a_line_of_the_log_names_the_skill_and_its_versions(agent, cli):
    with Brain.open(".") as brain:
        manage = Toolbox(brain).call
        created = {"action": "create", "name": "csv", "content": "One."}
        manage("skill_manage", {**created, "description": "Read tables"})
        patch = {"action": "patch", "name": "csv", "old_string": "One.", "new_string": "Two."}
        manage("skill_manage", patch)
        write = {"action": "write_file", "name": "csv", "file_path": "scripts/new.py"}
        manage("skill_manage", {**write, "file_content": "print(1)\n"})
        manage("skill_manage", {"action": "delete", "name": "csv", "absorbed_into": ""})
    words = [line.split("  ", 3)[-1] for line in cli("log", "-n", "4").out.splitlines()]
    assert words == [
        "csv removed: Pruned: nothing took its place",
        "csv 2 → 3: Write scripts/new.py",
        "csv 1 → 2: Patch the text",
        "csv added at version 1",
    ]
    assert [one["message"] for one in cli("log", "-n", "3", "--json").document["snapshots"]] == [
        "Pruned: nothing took its place",
        "Write scripts/new.py",
        "Patch the text",
    ]


def test_a_merge_of_an_id_names_it_short(agent, cli):
    prompts(cli)
    head = cli("show", "idea", "--json").document["snapshot"]
    assert cli("merge", head).status == 12
    assert f"Merging {head[:12]}: 1 conflict" in cli("status").out
    assert cli("resolve", "prompts/system.md", "--ours").status == 0
    assert cli("merge", "--continue").status == 0
    assert cli("show", "--json").document["message"] == f"Merge {head[:12]}"


def test_a_proposal_is_accepted_in_part_and_the_rest_stays_proposed(agent, cli):
    snapshot = propose_three()
    told = cli("--author", "ada", "proposal", "accept", snapshot, "oracle-manipulation")
    assert told.status == 0 and masked(told).startswith("Merged as ID12; 0 added, 1 modified")
    assert Path("skills/oracle-manipulation/SKILL.md").read_text().endswith("Better.\n")
    assert Path("skills/reentrancy").exists() and not Path("skills/fresh").exists()
    merged = cli("show", "--json").document
    assert merged["author"] == "ada"
    assert merged["message"] == "Accept oracle-manipulation of the proposal claude"
    assert "claude" in cli("blame", "oracle-manipulation").out
    (rest,) = cli("proposal", "list", "--json").document["proposals"]
    assert [one["slug"] for one in rest["skills"]] == ["fresh", "re-entry"]
    assert "Better." not in cli("proposal", "show", "claude").out
    assert cli("--author", "ada", "proposal", "accept", rest["snapshot"], "re-entry").status == 0
    assert Path("skills/re-entry").exists() and not Path("skills/reentrancy").exists()
    (rest,) = cli("proposal", "list", "--json").document["proposals"]
    assert [one["slug"] for one in rest["skills"]] == ["fresh"]
    assert cli("--author", "ada", "proposal", "accept", rest["snapshot"]).status == 0
    assert cli("proposal", "list").out == "No proposals.\n"
    assert cli("verify", "--deep").status == 0


def test_what_is_accepted_in_part_is_what_was_shown_also_after_a_conflict(agent, cli):
    snapshot = propose_three()
    with Brain.open(".") as brain, brain.proposals.open("claude", author="claude") as agent:
        agent.skills.upsert("oracle-manipulation", "Not what was shown.\n")
    learn(cli, "oracle-manipulation", "Ours.")
    told = cli("proposal", "accept", snapshot, "oracle-manipulation")
    assert told.status == 12
    assert cli("resolve", "skills/oracle-manipulation/SKILL.md", "--theirs").status == 0
    assert cli("merge", "--continue").status == 0
    assert Path("skills/oracle-manipulation/SKILL.md").read_text().endswith("Better.\n")
    assert not Path("skills/fresh").exists()
    assert "+Not what was shown." in cli("proposal", "show", "claude").out
    assert cli("verify", "--deep").status == 0


@pytest.mark.parametrize(
    "skill, code", [("reentrancy", "not_proposed"), ("no-such-skill", "no_skill")]
)
def test_a_skill_that_is_not_proposed_is_not_accepted(agent, cli, skill, code):
    before = propose()
    told = cli("proposal", "accept", before, skill, "--json")
    assert told.status == 1 and told.error["code"] == code
    (found,) = cli("proposal", "list", "--json").document["proposals"]
    assert found["snapshot"] == before


def test_nobody_accepts_a_part_of_what_they_proposed(agent, cli):
    snapshot = propose_three()
    told = cli("--author", "claude", "proposal", "accept", snapshot, "fresh", "--json")
    assert told.status == 12 and told.error["code"] == "own_proposal"
    (found,) = cli("proposal", "list", "--json").document["proposals"]
    assert found["snapshot"] == snapshot


def test_a_rejected_proposal_comes_back_with_undo(agent, cli):
    propose()
    told = cli("proposal", "reject", "claude")
    assert masked(told) == "Rejected claude, which was at ID12\n"
    assert cli("proposal", "reject", "claude").status == 1
    assert cli("undo").status == 0
    assert "fresh added" in cli("proposal", "list").out


def test_the_reason_of_a_rejection_is_in_the_log_without_secrets(agent, cli):
    propose()
    token = "AKIAIOSFODNN7EXAMPLQ"
    reason = f"Name the source, not {token}"
    told = cli("--author", "ada", "proposal", "reject", "claude", "-m", reason)
    assert told.status == 0
    (entry,) = cli("log", "--ops", "-n", "1", "--json").document["operations"]
    assert entry["author"] == "ada"
    assert entry["description"].startswith("reject proposed/claude: Name the source, not ")
    assert token not in entry["description"]
    with Brain.open(".") as brain:
        (found,) = brain.proposals.list_rejections("claude")
        assert (found.author, found.message[:15]) == ("ada", "Name the source")
        assert brain.undo() and brain.proposals.list_rejections("claude") == []


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
    assert cli("fork", str(agent.parent / "look"), snapshot).status == 0
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
