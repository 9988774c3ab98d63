"""What is shown, published, signed, proven or committed is the folder as it is."""

from __future__ import annotations

import fcntl
import json
import os
import time

import pytest

from brain import Brain, limits
from brain.folder.scan import CandidateFile
from brain.repo import working_copy
from brain.serve.mcp.brain_pool import PROPOSE_MODE, READ_MODE, WRITE_MODE, BrainPool
from brain.store.writer import writer_lock
from brain.watching import is_watched
from tests.support.plain_rights import plain_rights

SKILL = "skills/oracle-manipulation/SKILL.md"
SHOWING = {
    "index": ("index",),
    "prompt": ("prompt",),
    "skill list": ("skill", "list"),
    "tools call": ("tools", "call", "skills_list"),
}


@pytest.fixture
def edited(agent):
    """A brain whose description of a skill somebody edited, with a new skill beside."""
    file = agent / SKILL
    file.write_text(file.read_text().replace("About oracle", "Written anew on oracle"))
    (agent / "skills/fresh").mkdir()
    (agent / "skills/fresh/SKILL.md").write_text("---\nname: fresh\ndescription: Fresh\n---\nx\n")
    return agent


@pytest.mark.parametrize("command", SHOWING.values(), ids=SHOWING)
def test_what_shows_the_state_records_edits_first(edited, cli, command):
    shown = cli(*command)
    assert shown.status == 0 and "Written anew" in shown.out and "fresh" in shown.out
    assert "Recorded 2 edited files first, as snapshot" in shown.err
    assert cli("status").out.endswith("Nothing changed since the last snapshot.\n")
    assert "fresh added at version 1; oracle-manipulation edited" in cli("log", "-n", "1").out
    again = cli(*command)
    assert again.out == shown.out and again.err == ""


@pytest.mark.parametrize("command", SHOWING.values(), ids=SHOWING)
def test_with_no_record_nothing_is_recorded(edited, cli, command):
    before = Brain.open(edited).head
    shown = cli(*command, "--no-record")
    assert "About oracle" in shown.out and "fresh" not in shown.out and shown.err == ""
    assert Brain.open(edited).head == before


@pytest.mark.parametrize(
    "command", [["status"], ["diff"], ["log"], ["show"], ["verify"], ["blame", "reentrancy"]]
)
def test_what_looks_back_records_nothing(edited, cli, command):
    before = Brain.open(edited).head
    assert cli(*command).status == 0
    assert Brain.open(edited).head == before


def test_a_skill_that_is_viewed_is_recorded_and_no_other(edited, cli):
    assert "Recorded 1 edited file first" in cli("skill", "view", "oracle-manipulation").err
    assert "A skills/fresh/SKILL.md" in cli("status").out
    assert cli("skill", "view", "fresh").out == "x\n"


def test_a_skill_that_somebody_deleted_is_gone_for_who_views_it(agent, cli):
    (agent / SKILL).unlink()
    assert "no_skill" in cli("skill", "view", "oracle-manipulation", "--json").err


def test_a_named_revision_is_shown_as_it_was(edited, cli):
    assert "About oracle" in cli("skill", "list", "@~0").out
    assert not cli("status").out.endswith("Nothing changed since the last snapshot.\n")


def test_a_proof_and_a_copy_are_of_the_folder(edited, cli, tmp_path):
    proof = tmp_path / "proof.json"
    assert cli("prove", "skills/fresh/SKILL.md", "-o", str(proof)).status == 0
    (edited / SKILL).write_text((edited / SKILL).read_text() + "\nOne more line.\n")
    assert cli("publish", "--to", "claude", str(tmp_path / "home")).status == 0
    copy = next((tmp_path / "home").rglob("oracle-manipulation/SKILL.md"))
    assert "One more line." in copy.read_text()


def test_a_commitment_is_of_the_folder(edited, cli):
    made = json.loads(cli("chain", "open", "--json").out)
    with Brain.open(edited) as brain:
        assert made["snapshot"] == brain.head
        assert brain.status().clean


def test_a_signature_is_of_the_folder_and_of_its_edits(edited, cli):
    assert cli("key", "new", "mine").status == 0
    assert cli("key", "trust", "mine", "--as", "mine").status == 0
    (edited / SKILL).write_text((edited / SKILL).read_text() + "\nAgain.\n")
    signed = cli("sign", "--key", "mine")
    assert signed.status == 0 and "Recorded 2 edited files first" in signed.err
    assert cli("status").out.endswith("Nothing changed since the last snapshot.\n")


def test_a_brain_that_needs_signatures_gets_none_that_lack_them(edited, cli):
    assert cli("key", "new", "mine").status == 0
    assert cli("key", "trust", "mine", "--as", "mine").status == 0
    before = Brain.open(edited).head
    shown = cli("index")
    assert shown.status == 0 and "they need a signature" in shown.err
    refused = cli("prove", "memory/notes.md", "--json")
    assert refused.status == 12 and json.loads(refused.err)["error"]["code"] == "unsigned_edits"
    assert Brain.open(edited).head == before


def test_while_another_process_writes_the_recorded_state_is_shown(edited, cli, monkeypatch):
    monkeypatch.setattr("brain.repo.transaction.LOCK_TIMEOUT_SECONDS", 0)
    with writer_lock(edited / ".brain", 0):
        shown = cli("index")
    assert shown.status == 0 and "About oracle" in shown.out
    assert "Warning: shown is what was recorded before: the brain is locked" in shown.err


def test_a_brain_that_cannot_be_written_is_shown_as_recorded(edited, cli):
    control = edited / ".brain"
    for place in (control, *control.iterdir()):
        place.chmod(place.stat().st_mode & ~0o222)
    with plain_rights():
        shown = cli("index")
    assert shown.status == 0 and "About oracle" in shown.out
    assert "the brain cannot be written" in shown.err


def test_a_message_for_edits_that_are_recorded_already_names_them(edited, cli):
    cli("index")
    first = Brain.open(edited).head
    (edited / SKILL).write_text((edited / SKILL).read_text() + "\nMore.\n")
    cli("index")
    second = Brain.open(edited).head
    assert "a message for edits that were recorded before" in cli("snapshot", "-m", "Why").out
    with Brain.open(edited) as brain:
        newest = brain.history.show("@")
        assert newest.info.message == f"Why\n\nNames {first[:12]} to {second[:12]}"
        assert brain.verify().ok
    assert cli("snapshot", "-m", "Again").out.startswith("Nothing changed")


def test_versions_that_edits_kept_have_names_of_their_own(agent, cli):
    texts = ["first\n", "second\n", "third\n"]
    cli("skill", "upsert", "csv", "-d", "Reads CSV.")
    file = agent / "skills/csv/SKILL.md"
    head = file.read_text()
    for text in texts[1:]:
        file.write_text(head + text)
        assert cli("skill", "view", "csv").out.strip() == text.strip()
    for name, text in (("csv@1", ""), ("csv@1+1", "second"), ("csv@1+2", "third")):
        assert cli("skill", "view", name).out.strip() == text
    assert (
        json.loads(cli("skill", "view", "csv@1+3", "--json").err)["error"]["code"] == "no_version"
    )
    error = json.loads(cli("skill", "view", "csv@1+7", "--json").err)["error"]
    assert error["hint"] == "it has 1, 1+1, 1+2"
    assert "second" in cli("blame", "csv@1+1").out and "third" not in cli("blame", "csv@1+1").out
    assert "no version 1+7" in cli("blame", "csv@1+7").err
    names = [line.split()[1] for line in cli("log", "csv").out.splitlines()]
    assert names == ["1+2", "1+1", "1"]
    assert cli("restore", "csv@1+1").status == 0
    assert cli("skill", "view", "csv@2").out.strip() == "second"


@pytest.mark.parametrize("mode", [WRITE_MODE, PROPOSE_MODE, READ_MODE])
def test_tools_answer_with_the_text_on_the_disk(edited, mode):
    pool = BrainPool(lambda author: Brain.open(edited, author=author or "person"), mode)
    try:
        listed = pool.call("hermes", "skills_list", {}).text
        viewed = pool.call("hermes", "skill_view", {"name": "oracle-manipulation"}).text
        told = pool.instructions("hermes")
        with Brain.open(edited) as brain:
            newest = brain.history.show("@").info
    finally:
        pool.close()
    for text in (listed, viewed, told):
        assert ("Written anew" in text) == (mode != READ_MODE)
    assert newest.author == "person" or mode == READ_MODE


def test_a_watcher_spares_the_scan_of_a_large_brain(edited, cli, monkeypatch):
    monkeypatch.setattr("brain.ops.manual_edits.MANY_FILES", 1)
    with Brain.open(edited) as brain:
        assert not brain.is_recorded_by_watcher()
        with brain.watch():
            assert "Written anew" not in cli("index").out
            assert not brain.status().clean
            assert cli("prove", SKILL).status == 0  # what acts on the state scans all the same
            assert brain.status().clean
        assert not brain.is_recorded_by_watcher()


def test_a_look_whether_there_is_a_watcher_is_not_taken_for_one(agent):
    with Brain.open(agent) as brain:
        brain.watch().__exit__(None, None, None)
        lock = agent / ".brain/watch/lock"
        with open(lock) as other:
            fcntl.flock(other, fcntl.LOCK_SH)
            assert not is_watched(agent)
        with brain.watch() as watch:
            assert watch and is_watched(agent)


def test_a_file_that_is_missing_since_it_was_redacted_is_no_edit(agent, cli):
    with Brain.open(agent) as brain:
        brain.branches.create("other")
        brain.files.redact(SKILL, reason="a key")
        brain.branches.switch("other")
        before = brain.head
    for command in (("skill", "view", "reentrancy"), ("index",), ("skill", "list")):
        assert "Recorded" not in cli(*command).err
    assert Brain.open(agent).head == before


def test_files_that_were_only_touched_are_read_once(agent, cli, monkeypatch):
    cli("index")
    for file in agent.rglob("*.md"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    read: list[list[CandidateFile]] = []
    real = working_copy.read_files

    def read_files(session, candidates, *rest):
        read.append(candidates)
        return real(session, candidates, *rest)

    monkeypatch.setattr(working_copy, "read_files", read_files)
    later = time.time_ns() + 10**12  # else the changes are too young to be relied upon
    monkeypatch.setattr("brain.folder.scan.Scan._start_time", lambda *_: later)
    cli("index")
    cli("index")
    assert len(read[0]) >= 4 and read[-1] == []


def test_what_is_left_out_is_said_of_what_is_proven(agent, cli):
    os.mkfifo(agent / "skills/reentrancy/pipe")
    proven = cli("prove", SKILL)
    assert proven.status == 0 and "skills/reentrancy/pipe" in proven.err


def test_a_long_message_keeps_all_its_words(edited, cli):
    cli("index")
    words = "w" * (limits.MAX_MESSAGE_BYTES - 1)
    with Brain.open(edited) as brain:
        assert brain.snapshot(words).changed
        assert brain.history.show("@").info.message == words
