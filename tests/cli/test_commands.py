"""What people read: short, in words, the same at a terminal and in a pipe but for colour."""

import io
import re
import shutil
import sys
from pathlib import Path

import pytest

from brain import Brain, limits
from tests.cli.conftest import Call, Outcome

OLD, NEW = "skills/oracle-manipulation/SKILL.md", "skills/re-entry/SKILL.md"


def masked(told: Outcome) -> str:
    """Return the output with ids and times made equal from run to run."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "ID64", told.out)
    text = re.sub(r"\b[0-9a-f]{12}\b", "ID12", text)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", text)


def learn(cli: Call, slug: str = "oracle-manipulation", text: str = "Better.") -> Outcome:
    Path("body.md").write_text(f"# {slug}\n\n{text}\n")
    told = cli("--author", "ada", "skill", "upsert", slug, "-f", "body.md")
    Path("body.md").unlink()
    assert told.status == 0, told.err
    return told


def test_init_says_which_brain_is_where(folder, cli):
    told = cli("init", "new")
    assert (told.status, told.err) == (0, "")
    assert masked(told) == f"Brain ID12 created in {folder / 'new'}\n"


def test_init_counts_the_skills_and_says_where_new_ones_go(folder, cli):
    write_skill(folder / ".agents/skills/oracle")
    write_skill(folder / ".agents/skills/seer")
    made = cli("init")
    assert made.out.split("\n", 1)[1] == (
        "2 skills found; 'brain snapshot' records the files\n"
        "New skills go to .agents/skills, where all of these are\n"
    )
    assert cli("snapshot").status == 0
    learned = learn(cli, "trader")
    assert "Note: .agents/skills/trader/SKILL.md: is in .agents/skills" in learned.err


def test_init_names_what_no_snapshot_can_hold(folder, cli):
    for name in ("a.md", "A.md"):
        (folder / name).write_text("x\n")
    made = cli("init")
    assert made.status == 0
    why = "left out: A.md and a.md cannot be in one folder on macOS or Windows"
    assert made.err == f"Note: A.md: {why}\nNote: a.md: {why}\n"


def write_skill(folder: Path) -> None:
    folder.mkdir(parents=True)
    text = f"---\nname: {folder.name}\ndescription: d\nversion: 1\n---\nx\n"
    (folder / "SKILL.md").write_text(text)


def test_skills_that_are_not_taken_are_counted_with_the_way_to_take_them(agent, tmp_path, cli):
    for name in ("near", "far"):
        write_skill(tmp_path / "home/skills" / name)
        link = agent / ".claude/skills" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(tmp_path / "home/skills" / name)
    write_skill(agent / "drafts/idea")
    (agent / ".brainignore").write_text("drafts\n")
    expected = (
        "Note: 3 SKILL.md files are not recorded: 2 behind links that lead outside the brain,"
        " 1 ignored by .brainignore\n"
        f"Hint: 'brain adopt {tmp_path}/home/skills .' copies the skills behind the links\n"
        "Hint: `brain adopt drafts .` copies its skills into the brain\n"
    )
    assert cli("snapshot").err == cli("status").err == expected
    found = cli("status", "--json").document["left_out_skills"]
    assert [(one["reason"], one["files"]) for one in found] == [
        ("link_outside", 1),
        ("link_outside", 1),
        ("ignored", 1),
    ]
    assert cli("adopt", str(tmp_path / "home/skills"), ".").status == 0
    assert cli("adopt", "drafts", ".").status == 0
    assert {"near", "far", "idea"} <= {
        one["slug"] for one in cli("skill", "list", "--json").document["skills"]
    }


def test_a_check_of_no_skills_says_so(folder, cli):
    cli("init")
    told = cli("skill", "check")
    assert (told.status, told.out.partition(":")[0]) == (0, "There are no skills to check")
    assert cli("skill", "check", "--json").document == {
        "ok": True,
        "skills": 0,
        "problems": [],
        "similar": {},
    }


def test_init_in_another_brain_says_which_of_the_two_commands_use(agent, cli):
    told = cli("init", "skills/inner")
    assert told.status == 0
    assert told.err == (
        f"Note: the brain in {agent} records the same files, and commands here use that one"
        f" unless -C names this one, or {agent / '.brainignore'} ignores it\n"
    )


def test_init_in_a_folder_that_another_brain_ignores_warns_of_nothing(agent, cli):
    (agent / ".brainignore").write_text("private/\n")
    told = cli("init", "private")
    assert (told.status, told.err) == (0, "")


def test_init_twice_is_an_error_that_changes_nothing(agent, cli):
    before = cli("log", "--json").out
    assert cli("init").status == 1
    assert cli("log", "--json").out == before


def test_a_clean_folder_is_said_to_be_clean(agent, cli):
    told = cli("status")
    assert masked(told) == (
        f"On main at ID12 in {agent}\nNothing changed since the last snapshot.\n"
    )


def test_status_lists_changes_by_letter(agent, cli):
    Path("memory/more.md").write_text("more\n")
    Path("memory/notes.md").write_text("one\n")
    Path("prompts/system.md").unlink()
    assert masked(cli("status")).split("\n", 1)[1] == (
        "A memory/more.md\nM memory/notes.md\nD prompts/system.md\n"
    )


def waiting(cli: Call) -> list[tuple[str, int, str]]:
    """Return what waits, after the lines and the document name the same commands."""
    document = cli("status", "--json").document
    found = [(one["kind"], one["count"], one["command"]) for one in document["waiting"]]
    last = cli("status").out.splitlines()[-len(found) :] if found else []
    assert all(f"`{row[2]}" in line for line, row in zip(last, found, strict=True))
    return found


def test_status_names_the_proposals_that_wait(agent, cli):
    assert waiting(cli) == []
    with Brain.open(".") as brain:
        for name in ("claude", "codex"):
            with brain.proposals.open(name, author=name) as proposing:
                proposing.skills.upsert(f"By {name}", "Body.\n")
    assert waiting(cli) == [("proposals", 2, "brain proposal")]
    assert "\n2 proposals to review: " in cli("status").out
    cli("proposal", "reject", "claude")
    assert waiting(cli) == [("proposals", 1, "brain proposal")]
    shown = cli("proposal", "list", "--json").document["proposals"]
    assert cli("proposal", "accept", shown[0]["snapshot"]).status == 0
    assert waiting(cli) == []


def test_status_names_a_head_that_lacks_a_signature(agent, cli):
    cli("key", "new", "ada")
    assert waiting(cli) == []
    cli("key", "trust", "ada", "--as", "Ada", "--key", "ada")
    assert waiting(cli) == []
    learn(cli)
    assert waiting(cli) == [("unsigned", 1, "brain sign")]
    cli("sign", "--key", "ada")
    assert waiting(cli) == []


def test_status_names_a_merge_to_finish(agent, cli):
    cli("branch", "idea")
    for branch in ("main", "idea"):
        cli("switch", branch)
        Path("prompts/system.md").write_text(f"Be {branch}.\n")
        cli("snapshot")
    assert cli("merge", "main").status == 12
    assert waiting(cli) == [("merge", 1, "brain resolve")]
    cli("resolve", "prompts/system.md", "--ours")
    assert waiting(cli) == [("merge", 0, "brain merge --continue")]
    assert cli("merge", "--continue").status == 0
    assert waiting(cli) == []


def test_what_is_left_out_is_noted_beside_the_answer(agent, cli):
    import os

    os.mkfifo("memory/pipe")
    told = cli("status")
    assert told.status == 0
    assert told.err.startswith("Note: memory/pipe: ")
    notices = cli("status", "--json").document["notices"]
    assert [notice["path"] for notice in notices] == ["memory/pipe"]


def test_a_snapshot_says_what_it_holds(agent, cli):
    Path("memory/more.md").write_text("more\n")
    told = cli("snapshot", "-m", "More")
    assert masked(told) == "Snapshot ID12: 1 added, 0 modified, 0 removed\nBundle   ID12\n"


def test_a_snapshot_of_a_named_path_leaves_the_rest_as_it_was(agent, cli):
    Path("memory/more.md").write_text("more\n")
    Path("memory/other.md").write_text("other\n")
    told = cli("snapshot", "memory/more.md", "-m", "More")
    assert masked(told) == "Snapshot ID12: 1 added, 0 modified, 0 removed\nBundle   ID12\n"
    assert cli("status", "--json").document["added"] == ["memory/other.md"]
    refused = cli("snapshot", "memory/none.md")
    assert refused.status == 1
    assert "nothing to record at memory/none.md" in refused.err


def test_a_snapshot_of_nothing_new_says_so(agent, cli):
    assert masked(cli("snapshot")) == "Nothing changed since snapshot ID12.\n"


def test_an_upsert_is_told_in_words(agent, cli):
    told = learn(cli)
    assert masked(told) == "oracle-manipulation upgraded 1 → 2\nSnapshot ID12, bundle ID12\n"
    told = cli("skill", "upsert", "Flash loans", "-d", "Count them")
    assert told.out.startswith("flash-loans added at version 1\n")


def test_an_upsert_takes_its_body_from_standard_input(agent, process):
    told = process("skill", "upsert", "reentrancy", "-f", "-", cwd=agent, input=b"# New\n")
    assert told.out.startswith("reentrancy upgraded 3 → 4\n")
    assert process("skill", "view", "reentrancy", cwd=agent).out.strip() == "# New"


def test_an_upsert_of_the_same_text_is_left_out_on_request(agent, cli):
    learn(cli)
    body = cli("skill", "view", "oracle-manipulation").out
    Path("body.md").write_text(body)
    told = cli("skill", "upsert", "oracle-manipulation", "-f", "body.md", "--if-changed")
    assert (told.status, told.out) == (0, "oracle-manipulation unchanged at version 2\n")


def test_a_new_skill_without_body_and_description_is_an_error(agent, cli):
    told = cli("skill", "upsert", "Flash loans")
    assert told.status == 1 and told.out == ""
    assert told.err.startswith("Error: ") and "\nHint: " in told.err
    assert not Path("skills/flash-loans").exists()


def test_a_body_that_is_too_large_is_refused_before_it_is_read(agent, cli):
    told = cli("skill", "upsert", "one", "-f", "/dev/zero", "--json")
    assert told.status == 1 and told.error["code"] == "too_large"


def test_a_receipt_is_kept_with_the_snapshot(agent, cli):
    Path("receipt.json").write_text("{}")
    cli("skill", "upsert", "reentrancy", "-d", "x", "--receipt", "receipt.json")
    assert re.fullmatch("[0-9a-f]{64}", cli("show", "--json").document["receipt"])
    assert "receipt " in cli("show").out


def test_the_list_of_skills_is_aligned(agent, cli):
    assert cli("skill", "list").out == (
        "oracle-manipulation  1  About oracle-manipulation\n"
        "reentrancy           3  About reentrancy\n"
    )


def test_a_pipe_gets_the_body_of_a_skill_and_nothing_else(agent, cli):
    told = cli("skill", "view", "reentrancy")
    assert told.out == "\n# reentrancy\n\nBody of reentrancy.\n"


def test_an_earlier_version_can_be_viewed(agent, cli):
    learn(cli)
    assert "Body of oracle" in cli("skill", "view", "oracle-manipulation@1").out
    assert "Better." in cli("skill", "view", "oracle-manipulation").out
    assert "Body of oracle" in cli("skill", "view", "oracle-manipulation", "@~1").out


def test_the_history_of_a_skill_is_newest_first(agent, cli):
    learn(cli)
    lines = masked(cli("log", "oracle-manipulation")).splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["ID12", "2", "TIME", "ada"],
        ["ID12", "1", "TIME", "ada"],
    ]
    document = cli("log", "oracle-manipulation", "--json").document
    assert [one["version"] for one in document["versions"]] == [2, 1]
    assert len(document["snapshots"]) == 2 and document["slug"] == "oracle-manipulation"


def test_a_revert_is_a_new_version_with_the_old_text(agent, cli):
    learn(cli)
    told = cli("restore", "oracle-manipulation@1")
    assert told.out.startswith("oracle-manipulation upgraded 2 → 3 with the text of version 1\n")
    assert "Body of oracle" in cli("skill", "view", "oracle-manipulation").out


def test_a_deleted_skill_is_gone_and_can_come_back(agent, cli):
    told = cli("skill", "delete", "reentrancy")
    assert told.out.startswith("reentrancy removed at version 3\n")
    assert "reentrancy" not in cli("skill", "list").out
    assert cli("undo").status == 0
    assert "reentrancy" in cli("skill", "list").out


def test_skills_in_order_pass_the_check(folder, project, cli):
    shutil.copytree(project / "examples/auditor", "auditor")
    assert cli("init", "auditor").status == 0
    assert cli("-C", "auditor", "snapshot").status == 0
    told = cli("-C", "auditor", "skill", "check", "--strict")
    assert (told.status, told.out) == (0, "All skills are valid.\n")


def test_a_warning_of_the_check_is_no_failure(agent, cli):
    told = cli("skill", "check", "reentrancy")
    assert told.status == 0
    assert re.match(r"skills/reentrancy/SKILL.md:4: warning: .*version", told.out)


def test_a_strict_check_names_file_rule_and_fails(agent, cli):
    told = cli("skill", "check", "reentrancy", "--strict")
    assert told.status == 1
    assert told.out.startswith("skills/reentrancy/SKILL.md")
    assert "error" in told.out and "version" in told.out
    assert told.err.startswith("Error: ")


def test_the_log_says_who_did_what(agent, cli):
    learn(cli)
    assert masked(cli("log")) == (
        "ID12  TIME  ada  oracle-manipulation upgraded 1 → 2\n"
        "ID12  TIME  ada  First\n"
        "ID12  TIME  ada  brain created\n"
    )


def test_the_log_can_be_drawn_and_limited(agent, cli):
    learn(cli)
    assert masked(cli("log", "--graph", "-n", "2")) == (
        "* ID12  TIME  ada  oracle-manipulation upgraded 1 → 2\n* ID12  TIME  ada  First\n"
    )
    assert cli("log", "-n", "0").out == ""


def test_the_log_of_a_skill_has_only_its_snapshots(agent, cli):
    learn(cli, "reentrancy")
    learn(cli)
    lines = cli("log", "oracle-manipulation").out.splitlines()
    assert len(lines) == 2 and "oracle-manipulation upgraded 1 → 2" in lines[0]


def test_a_message_of_many_lines_is_one_line_in_the_log(agent, cli):
    cli("skill", "upsert", "one", "-d", "x", "-m", "First line\n\nMore \x1b[2J")
    first = cli("log", "-n", "1").out
    assert first.endswith("First line …\n") and first.count("\n") == 1
    assert "  More \\x1b[2J" in cli("show").out


def test_show_tells_one_snapshot_in_full(agent, cli):
    learn(cli)
    text = masked(cli("show"))
    assert text.startswith("snapshot  ID64\nbundle    ID64\nparent    ID64\nauthor    ada\n")
    assert "action    oracle-manipulation upgraded 1 → 2\n" in text
    assert "0 added, 1 modified, 0 removed; 5 files, " in text
    assert re.search(r"^skills   ID12  2 files  \d+ B$", text, re.MULTILINE)


def test_a_difference_is_told_in_words(agent, cli):
    learn(cli)
    Path("memory/notes.md").write_text("one\nthree\nfour\n")
    Path("SOUL.md").write_text("x\n")
    assert cli("diff", "@~1", "@").out == "oracle-manipulation upgraded 1 → 2\n"
    assert cli("diff").out == "A SOUL.md\nM memory/notes.md  +2 -1\n"
    assert cli("diff", "@~1").out == (
        "oracle-manipulation upgraded 1 → 2\nA SOUL.md\nM memory/notes.md  +2 -1\n"
    )


def test_no_difference_is_said(agent, cli):
    assert cli("diff").out == "No differences.\n"
    assert cli("diff", "@", "@").out == "No differences.\n"


def test_stat_counts_lines_and_names_binary_files(agent, cli):
    Path("memory/notes.md").write_text("one\nthree\nfour\n")
    Path("memory/x.bin").write_bytes(b"\x00\x01")
    assert cli("diff", "--stat").out == (
        "memory/notes.md  +2 -1\nmemory/x.bin     binary\n2 files, +2 -1\n"
    )


def test_a_patch_is_unified_text(agent, cli):
    Path("memory/notes.md").write_text("one\nthree\n")
    assert "\n one\n-two\n+three\n" in cli("diff", "--patch").out


def test_a_restore_brings_back_what_was(agent, cli):
    Path("memory/notes.md").write_text("other\n")
    cli("snapshot")
    told = cli("restore", "@~1", "memory/notes.md")
    assert masked(told) == "Head is ID12; 1 file written, 0 removed\n"
    assert Path("memory/notes.md").read_text() == "one\ntwo\n"


def test_undo_and_redo_go_back_and_forth(agent, cli):
    learn(cli)
    undone = masked(cli("undo"))
    words = "upsert oracle-manipulation 1 → 2, on main\nHead is ID12; 1 file written, 0 removed\n"
    assert undone == f"Undid: {words}"
    assert cli("skill", "list").out.startswith("oracle-manipulation  1")
    assert masked(cli("redo")) == f"Redid: {words}"
    assert cli("skill", "list").out.startswith("oracle-manipulation  2")
    told = cli("redo")
    assert told.status == 1 and told.err.startswith("Error: ")


def test_the_operation_log_is_newest_first(agent, cli):
    learn(cli)
    cli("undo")
    rows = [line.split("  ") for line in cli("log", "--ops").out.splitlines()]
    assert [row[3].strip() for row in rows] == ["undo", "upsert", "snapshot", "init"]


def test_the_index_has_a_line_a_skill(agent, cli):
    assert cli("index").out == (
        "▸ oracle-manipulation: About oracle-manipulation\n▸ reentrancy: About reentrancy\n"
    )


def test_the_prompt_holds_the_system_text_and_the_index(agent, cli):
    told = cli("prompt")
    assert told.out.startswith("You are an auditor.\n")
    assert cli("index").out in told.out
    document = cli("prompt", "--json").document
    assert document["index"] in document["prompt"]


def test_a_memory_cut_at_its_limit_is_noted(agent, cli):
    with Path("manifest.yaml").open("a") as manifest:
        manifest.write("prompt:\n  memory:\n    - path: memory/notes.md\n      limit: 5\n")
    cli("snapshot")
    told = cli("prompt")
    assert told.err == "Note: memory/notes.md is cut at its limit\n"
    assert "two" not in told.out


def test_verify_says_how_far_it_went(agent, cli):
    told = cli("verify", "--deep")
    assert (told.status, told.err) == (0, "")
    assert re.fullmatch(
        r"Verified 2 snapshots and \d+ objects from ID12 back to ID12\nTrust level L0\n"
        r"No snapshot is signed: nothing shows who made them\.\n",
        masked(told),
    )


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_verify_names_what_is_damaged_with_status_3(agent, cli, form):
    from brain_cli.commands.demo import flip_bit

    flip_bit(agent / ".brain", b"Body of reentrancy.")
    told = cli("verify", "--deep", *form)
    assert told.status == 3
    assert "skills/reentrancy/SKILL.md" in told.out
    assert "verification" in told.err


def test_verify_of_a_store_that_does_not_open_is_status_3(agent, cli):
    store = Path(".brain/store.db")
    store.write_bytes(b"\xff" * store.stat().st_size)
    assert cli("verify").status == 3
    assert cli("log").status == 1


def test_the_doctor_lists_its_checks(agent, cli):
    told = cli("doctor")
    assert (told.status, told.err) == (0, "")
    assert all(line.startswith("ok    ") for line in told.out.splitlines())


def test_without_a_brain_every_command_says_so(folder, cli):
    for call in (["status"], ["log"], ["verify"], ["skill", "list"], ["undo"], ["doctor"]):
        told = cli(*call)
        assert told.status == 10 and told.out == ""
        assert told.err.startswith("Error: there is no brain in ") and "\nHint: " in told.err


def test_an_upsert_of_nothing_names_the_file_and_raises_no_version(agent, cli):
    head, file = Brain.open(agent).head, agent / "skills/reentrancy/SKILL.md"
    told = cli("skill", "upsert", "reentrancy", "--json")
    assert (told.status, told.error["code"]) == (1, "no_content")
    assert str(file) in told.error["hint"]
    assert str(file) in cli("edit", "reentrancy").err
    assert Brain.open(agent).head == head
    (file.parent / "notes.md").write_text("New.\n")
    assert cli("skill", "upsert", "reentrancy", "--json").document["version"] == 4
    file.write_text(file.read_text() + "By hand.\n")
    assert cli("skill", "upsert", "reentrancy", "--json").document["version"] == 5
    assert cli("skill", "upsert", "reentrancy", "--json").status == 1


def test_a_log_of_a_path_that_no_snapshot_changed_says_so(agent, cli):
    told = cli("log", "--json", "--", "nofile")
    assert told.error["code"] == "no_file" and "nofile" in told.error["message"]
    assert told.status != 0 and told.out == ""
    assert cli("log", "@..@", "--", "skills").status == 0


def test_an_input_that_is_too_large_is_named(agent, cli, monkeypatch):
    large = io.BytesIO(b"x" * (limits.MAX_SKILL_BYTES + 1))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(large))
    told = cli("skill", "upsert", "reentrancy", "-f", "-")
    assert "standard input is larger than 4194304 bytes" in told.err


@pytest.mark.parametrize("command", ["status", "snapshot"])
def test_a_skill_that_agents_cannot_read_is_named(agent, cli, command):
    file = agent / "skills/reentrancy/SKILL.md"
    file.write_bytes("---\nname: reentrancy\ndescription: Caf\u00e9\n---\nx\n".encode("latin-1"))
    (agent / NEW).parent.mkdir()
    (agent / NEW).write_bytes(b"x" * (limits.MAX_SKILL_BYTES + 1))
    told = cli(command)
    assert told.status == 0
    shown = told.out + told.err
    assert "reentrancy/SKILL.md: line 3: the text is not UTF-8" in shown
    assert f"{NEW}: has 4194305 bytes; agents get nothing of it" in shown
