"""Files still to be written: only the head adds any, and none holds a brain up for good."""

import errno
import os
from pathlib import Path

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.errors import BrainError, StoreError
from brain.folder import handles
from brain.folder.write import write_all
from brain.skills.skill_metadata import SkillMetadata, encode_skill_metadata
from brain.store.blobs import CODEC_RAW
from tests.support.brains import write_file
from tests.support.refusals import raises_code
from tests.support.store_tampering import execute_in_store, pending_write_statement, query_store

TEXT = b"Do as I say.\n"


def planted(brain: Brain, path: str, blob: bytes, kind: int = 0) -> None:
    """Note a file as still to be written, in place of what is there now."""
    there = handles.lstat_or_none(brain.root / path) if "\0" not in path else None
    before = handles.fingerprint_of(there) if there else b""
    execute_in_store(brain.root, pending_write_statement(path, kind, blob, before))


def keep(brain: Brain, content: bytes) -> bytes:
    insert = "INSERT OR IGNORE INTO blobs (id, codec, data) VALUES (?, ?, ?)"
    execute_in_store(brain.root, (insert, (blob_id(content), CODEC_RAW, content)))
    return blob_id(content)


def left(brain: Brain) -> int:
    ((count,),) = query_store(brain.root, "SELECT count(*) FROM pending")
    assert isinstance(count, int)
    return count


def dropped(brain: Brain) -> list[str]:
    return [done.message for done in brain.repair()]


@pytest.mark.parametrize("path", ["memory/new.md", "memory/notes.md", ".brainignore"])
def test_a_planted_file_is_neither_written_nor_recorded_but_refused_by_name(brain, path):
    write_file(brain, "memory/notes.md", "mine\n")
    brain.snapshot()
    planted(brain, path, keep(brain, TEXT))
    head = brain.head
    for ask in (brain.snapshot, brain.undo, lambda: brain.skills.upsert("a", "A.\n")):
        with raises_code("foreign_pending", StoreError, match=path) as caught:
            ask()
        assert "doctor --repair" in caught.value.hint
    assert brain.head == head
    assert dropped(brain) == [f"dropped {path}: the head disagrees"]
    assert left(brain) == 0 and brain.skills.upsert("a", "A.\n").changed
    assert (brain.root / "memory/notes.md").read_text() == "mine\n"
    assert not (brain.root / "memory/new.md").exists()


def test_a_planted_removal_takes_no_file_of_the_head_away(brain):
    file = write_file(brain, "memory/notes.md", "mine\n")
    brain.snapshot()
    planted(brain, "memory/notes.md", b"")
    with pytest.raises(StoreError, match="notes"):
        brain.snapshot()
    assert file.exists() and dropped(brain) != []
    assert brain.snapshot().changed is False


@pytest.mark.parametrize("recorded", [False, True])
def test_a_note_overwrites_or_removes_nothing_that_the_store_does_not_hold(brain, recorded):
    file = write_file(brain, "memory/notes.md", "first\n")
    brain.snapshot()
    file.write_text("by hand\n")
    other = write_file(brain, "memory/other.md", "by hand\n")
    if recorded:
        keep(brain, b"by hand\n")
    planted(brain, "memory/notes.md", blob_id(b"first\n"))
    planted(brain, "memory/other.md", b"")
    brain.skills.upsert("a", "A.\n")
    assert left(brain) == 0
    assert file.read_text() == ("first\n" if recorded else "by hand\n")
    assert other.exists() is not recorded


def test_another_kind_than_the_head_has_is_refused(brain):
    file = write_file(brain, "memory/notes.md", "../x")
    brain.snapshot()
    file.unlink()
    planted(brain, "memory/notes.md", blob_id(b"../x"), kind=2)
    with pytest.raises(StoreError):
        brain.snapshot()
    assert not file.is_symlink()


def test_what_the_head_has_is_written_by_the_next_writer(brain):
    file = write_file(brain, "memory/notes.md", "mine\n")
    brain.snapshot()
    file.unlink()
    planted(brain, "memory/notes.md", blob_id(b"mine\n"))
    assert [notice.code for notice in brain.status().notices] == ["unwritten"]
    with brain.proposals.open("agent") as proposed:
        proposed.skills.upsert("a", "A.\n")
    assert file.read_text() == "mine\n" and left(brain) == 0


@pytest.mark.parametrize(
    "path", ["a\0b", "/etc/x", "../x", "memory/../../x", "x" * 5000, "memory/\u202e", "c:x", ""]
)
def test_a_note_of_no_path_is_refused_and_dropped(brain, path):
    planted(brain, path, b"")
    if path != "memory/\u202e":
        with raises_code("corrupt_pending", StoreError):
            brain.snapshot()
    found = brain.verify()
    assert not found.ok or path == "memory/\u202e"
    assert any(one.check == "unfinished writes" and not one.ok for one in brain.doctor())
    brain.repair()
    assert left(brain) == 0 and brain.skills.upsert("a", "A.\n").changed


def test_a_note_that_is_not_utf_8_is_dropped_too(brain):
    planted(brain, "memory/a.md", b"")
    execute_in_store(brain.root, ("UPDATE pending SET path = CAST(x'ff41' AS TEXT)", ()))
    with raises_code("corrupt_pending", StoreError):
        brain.snapshot()
    assert not brain.verify().ok
    assert len(dropped(brain)) == 1 and left(brain) == 0
    assert brain.skills.upsert("a", "A.\n").changed and brain.verify().ok


def in_the_way(brain: Brain) -> Path:
    """Let a file be to be written whose folder is a link by now."""
    file = write_file(brain, "memory/new/notes.md", "mine\n")
    brain.snapshot()
    file.unlink()
    file.parent.rmdir()
    planted(brain, "memory/new/notes.md", blob_id(b"mine\n"))
    file.parent.symlink_to("../skills")
    return file


def test_a_brain_whose_writers_all_fail_at_one_file_goes_on_without_it(brain):
    file = in_the_way(brain)
    with pytest.raises(BrainError) as caught:
        brain.skills.upsert("a", "A.\n")
    assert "doctor --repair" in caught.value.hint
    (told,) = dropped(brain)
    assert told.startswith("dropped memory/new/notes.md: ")
    assert brain.skills.upsert("a", "A.\n").changed and brain.verify(deep=True).ok
    file.parent.unlink()
    assert brain.restore("@", ["memory/new/notes.md"]).written == ["memory/new/notes.md"]


def test_a_disk_that_is_full_for_one_file_alone_holds_up_no_other(brain, monkeypatch):
    file, other = (write_file(brain, f"memory/{name}.md", name) for name in ("big", "small"))
    brain.snapshot()
    for one in (file, other):
        one.unlink()
        planted(brain, f"memory/{one.name}", blob_id(one.stem.encode()))

    def full(fd: int, content: bytes) -> None:
        if content == b"big":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_all(fd, content)

    monkeypatch.setattr("brain.folder.write.write_all", full)
    with pytest.raises(BrainError):
        brain.skills.upsert("a", "A.\n")
    (told,) = dropped(brain)
    assert told.startswith("dropped memory/big.md: ")
    assert other.read_text() == "small" and not file.exists()
    assert brain.skills.upsert("a", "A.\n").changed and brain.verify().ok


def test_what_somebody_wrote_since_is_left_alone_by_a_repair(brain):
    file = write_file(brain, "memory/notes.md", "mine\n")
    brain.snapshot()
    planted(brain, "memory/notes.md", blob_id(b"mine\n"))
    file.write_text("edited by hand since\n")
    assert dropped(brain) == [] and left(brain) == 0
    assert file.read_text() == "edited by hand since\n"


def test_there_is_nothing_to_repair_in_a_healthy_brain(brain):
    head = brain.head
    assert brain.repair() == [] and brain.head == head


def test_a_file_that_is_gone_as_it_should_waits_for_nothing(tmp_path):
    with Brain.init(tmp_path) as brain:
        assert brain.status().notices == []
    execute_in_store(tmp_path, pending_write_statement("skills/never/SKILL.md", 0, b""))
    with Brain.open(tmp_path) as brain:
        assert brain.status().notices == []
        assert brain.verify().ok


def test_a_cache_that_disagrees_with_the_brain_is_emptied_and_made_anew(brain):
    brain.skills.upsert("Oracle", "Ask it.\n", description="d")
    listed = brain.skills.list()
    session = brain._session
    ((blob, _),) = session.cache.list_metadata()
    card = SkillMetadata("Oracle", "Forged.", "1", "")
    session.cache.put_metadata([(blob, encode_skill_metadata(card))])
    with Brain.open(brain.root) as other:
        assert [one.description for one in other.skills.list()] == ["Forged."]
        (repaired,) = other.repair()
        assert (repaired.check, repaired.ok) == ("cache", True)
        assert repaired.message.startswith("emptied: ") and blob.hex() in repaired.message
        assert other.skills.list() == listed and other.repair() == []
