"""`brain evolve stats`, `count`, `pin`, `unpin`, `retire` and `reinstate`."""

import os
from pathlib import Path

import pytest

from brain import Brain
from tests.support import agent_transcripts

SLUG = "reentrancy"


def use(outcome: str, times: int) -> None:
    with Brain.open(".") as brain:
        for number in range(times):
            with brain.task(f"Audit {outcome} {number}") as task:
                task.record_skill_load(SLUG)
                task.set_outcome(outcome, "2 tests fail")


def test_stats_list_what_is_used_first_and_what_never_was(agent, cli):
    use("success", 1)
    use("failure", 5)
    shown = cli("evolve", "stats")
    head, used, unused, _, summary = shown.out.splitlines()
    assert head.split() == "SKILL VERSION STATE USES FAILED MEAN LAST USE TOKENS".split()
    assert used.split()[:6] == [SLUG, "3", "degraded", "6", "5/5", "-"]
    assert used.endswith("2 tests fail")
    assert unused.split()[:7] == ["oracle-manipulation", "1", "ok", "0", "0", "-", "never"]
    index = cli("index", "--json").document
    assert summary == f"2 skills, 1 never used; the index takes {index['tokens']} tokens."
    skills = cli("evolve", "stats", "--json").document["skills"]
    assert [skill["protection"] for skill in skills] == ["written by a person", ""]


def test_an_empty_brain_has_no_stats(folder, cli):
    assert cli("init").status == 0
    assert cli("evolve", "stats").out == "There are no skills.\n"


def test_a_retired_skill_is_listed_and_comes_back_as_the_next_version(agent, cli):
    use("success", 2)
    retired = cli("evolve", "retire", SLUG, "--reason", "The compiler checks it")
    assert retired.out.startswith("reentrancy retired at version 3\nSnapshot ")
    assert SLUG not in cli("skill", "list").out
    shown = next(line for line in cli("evolve", "stats").out.splitlines() if SLUG in line)
    assert shown.split()[:4] == [SLUG, "3", "retired", "2"]
    back = cli("evolve", "reinstate", SLUG)
    assert back.out.startswith("reentrancy is back, as version 4\nSnapshot ")
    assert cli("skill", "view", SLUG).out.strip().endswith("Body of reentrancy.")
    assert cli("verify").status == 0


def test_an_earlier_version_comes_back_by_its_number(agent, cli):
    Path("body.md").write_text("# Worse\n")
    cli("skill", "upsert", SLUG, "-f", "body.md")
    assert cli("evolve", "reinstate", f"{SLUG}@3").out.startswith(f"{SLUG} is back, as version 5")
    assert "Body of reentrancy." in cli("skill", "view", SLUG).out


def test_a_retirement_needs_a_reason(agent, cli):
    assert cli("evolve", "retire", SLUG).status == 2
    assert cli("evolve", "retire", SLUG, "--reason", "").status == 2


def test_pinning_edits_the_manifest_and_keeps_the_rest_of_it(agent, cli):
    manifest = Path("manifest.yaml")
    manifest.write_text('name: "agent"  # mine\nsynthesis:\n  tools: 8\n')
    assert cli("snapshot").status == 0
    assert cli("evolve", "pin", SLUG).out.startswith("reentrancy pinned\nSnapshot ")
    text = 'name: "agent"  # mine\nsynthesis:\n  tools: 8\npinned: ["reentrancy"]\n'
    assert manifest.read_text() == text
    assert cli("evolve", "pin", SLUG).out == "reentrancy is pinned already\n"
    assert "3        ok, pinned  0" in cli("evolve", "stats").out
    assert cli("evolve", "unpin", SLUG).out.startswith("reentrancy unpinned\nSnapshot ")
    assert manifest.read_text() == text.replace('["reentrancy"]', "[]")


def test_only_known_skills_are_pinned_and_only_pinned_ones_unpinned(agent, cli):
    assert cli("evolve", "pin", "none", "--json").error["code"] == "no_skill"
    assert cli("evolve", "unpin", SLUG, "--json").error["code"] == "not_pinned"


def test_a_pinned_skill_that_was_deleted_can_be_unpinned(agent, cli):
    cli("evolve", "pin", SLUG)
    cli("skill", "delete", SLUG)
    assert cli("evolve", "unpin", SLUG, "--json").document["pinned"] == []


def test_a_transcript_is_counted_once(agent, cli):
    Path("session.jsonl").write_bytes(
        agent_transcripts.claude_transcript(agent_transcripts.EXAMPLE_RUN)
    )
    first, again = (cli("evolve", "count", "session.jsonl", "--json") for _ in range(2))
    assert [run["counted"] for run in first.document["runs"]] == [True]
    assert [run["counted"] for run in again.document["runs"]] == [False]


@pytest.mark.parametrize("command", [("evolve", "stats"), ("doctor",)])
def test_a_damaged_file_of_uses_is_named_with_the_way_out(agent, cli, command):
    use("success", 1)
    Path(".brain/evolution.db").write_bytes(b"half of a file")
    shown = cli(*command)
    assert shown.status == 1
    assert "delete .brain/evolution.db" in shown.err + shown.out
    Path(".brain/evolution.db").unlink()
    assert cli("evolve", "stats").status == 0


# `brain skill upsert NAME -f FOLDER` takes the files of a skill along.
TEXT = "---\nname: word-count\ndescription: Count words\n---\nRun it.\n"


def make_folder(*, text: str = TEXT) -> Path:
    folder = Path("../draft")
    (folder / "tests").mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    (folder / "skill.py").write_text("print(1)\n")
    (folder / "tests/cases.json").write_text("[]\n")
    return folder


def test_a_folder_becomes_one_snapshot(agent, cli):
    folder = make_folder()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/skill.pyc").write_bytes(b"\0")
    assert cli("skill", "upsert", "word-count", "-f", str(folder)).status == 0
    home = Path("skills/word-count")
    found = sorted(p.relative_to(home).as_posix() for p in home.rglob("*") if p.is_file())
    assert found == ["SKILL.md", "skill.py", "tests/cases.json"]
    assert (home / "SKILL.md").read_text().endswith("Run it.\n")
    log = cli("log", "-n", "1", "--json").document
    assert log["snapshots"][0]["operation"]["kind"] == "upsert"
    assert cli("verify", "--deep").status == 0


def test_the_same_folder_again_changes_nothing_with_if_changed(agent, cli):
    folder = make_folder()
    cli("skill", "upsert", "word-count", "-f", str(folder))
    again = cli("skill", "upsert", "word-count", "-f", str(folder), "--if-changed", "--json")
    assert again.document["changed"] is False
    (folder / "skill.py").write_text("print(2)\n")
    again = cli("skill", "upsert", "word-count", "-f", str(folder), "--if-changed", "--json")
    assert again.document["changed"] is True


def test_a_folder_that_is_no_skill_is_refused(agent, cli):
    folder = make_folder()
    (folder / "SKILL.md").unlink()
    told = cli("skill", "upsert", "word-count", "-f", str(folder))
    assert told.status == 1 and "has no SKILL.md" in told.err
    (folder / "SKILL.md").write_text(TEXT)
    (folder / "link").symlink_to("skill.py")
    told = cli("skill", "upsert", "word-count", "-f", str(folder))
    assert told.status == 1 and "link is a link" in told.err
    (folder / "link").unlink()
    (folder / "link").symlink_to("/etc/passwd")
    told = cli("skill", "upsert", "word-count", "-f", str(folder))
    assert told.status == 1 and "link" in told.err and "put the file itself there" in told.err
    (folder / "link").unlink()
    os.mkfifo(folder / "pipe")
    told = cli("skill", "upsert", "word-count", "-f", str(folder))
    assert told.status == 1 and "pipe is not a regular file" in told.err
    assert not Path("skills/word-count").exists()
