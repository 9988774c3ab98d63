"""Each check of the doctor, in health and with its fault."""

import errno
import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.errors import BrainError, SandboxError, StoreError
from brain.folder import handles
from brain.folder.write import write_all
from brain.ops import doctor
from brain.results import DoctorCheck
from brain.sandbox import find_sandbox
from brain.sandbox.job import SandboxProfile
from brain.skills.skill_metadata import SkillMetadata, encode_skill_metadata
from brain.store.blobs import CODEC_RAW
from tests.support.brains import write_file
from tests.support.refusals import raises_code
from tests.support.store_tampering import execute_in_store, pending_write_statement, query_store

GB = 10**9
OF_THE_MACHINE = ("file system", "sandbox")


def checks(brain: Brain) -> dict[str, list[DoctorCheck]]:
    found: dict[str, list[DoctorCheck]] = {}
    for check in brain.doctor():
        found.setdefault(check.check, []).append(check)
    return found


def only(brain: Brain, name: str) -> DoctorCheck:
    (check,) = checks(brain)[name]
    return check


@pytest.fixture(autouse=True)
def large_disk(monkeypatch):
    """Let the disk have free space, and a test say how much."""
    usage = namedtuple("usage", "total used free")

    def set_free(free: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, free))

    set_free(7 * GB)
    return set_free


def test_a_healthy_brain_is_described(brain):
    brain.skills.upsert("Oracle", "x\n", description="d")
    size = brain._session.reader.size_on_disk()
    found = brain.doctor()
    assert all(check.ok and not check.hint for check in found)
    assert [
        (check.check, check.message) for check in found if check.check not in OF_THE_MACHINE
    ] == [
        ("store", f"intact, {size / 1e6:.1f} MB"),
        ("head", "on main, 2 snapshots deep"),
        ("operations", "2 in the log"),
        ("unfinished writes", "none"),
        ("cache", f"in {brain._session.cache.folder}"),
        ("rights", "the store's folder has mode 0700"),
        ("disk", "7.0 GB free"),
        ("ignore rules", "readable"),
        ("manifest", "readable"),
        ("uses", "none are counted yet"),
        ("experience", "in .brain/evolution.db, 0 items wait to be learned from"),
        ("folder", "the same as the head"),
    ]


def test_a_damaged_store_is_named_by_its_first_fault(brain, monkeypatch):
    monkeypatch.setattr(brain._session.reader, "check_integrity", lambda: ["page 3", "page 4"])
    found = only(brain, "store")
    assert (found.ok, found.message) == (False, "page 3") and "verify --deep" in found.hint


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (StoreError("torn", hint="mend it"), "torn", "mend it"),
        (OSError("gone"), "gone", "check the permissions of the folder"),
    ],
)
def test_a_check_that_fails_is_a_result_and_keeps_the_others(
    brain, monkeypatch, error, message, hint
):
    def refuse() -> list[str]:
        raise error

    monkeypatch.setattr(brain._session.reader, "check_integrity", refuse)
    assert only(brain, "store") == DoctorCheck("store", False, message, hint)
    assert len(checks(brain)) == 14


@pytest.mark.parametrize(("mode", "ok"), [(0o700, True), (0o750, False), (0o701, False)])
def test_the_folder_of_the_store_is_for_its_owner(brain, mode, ok):
    (brain.root / ".brain").chmod(mode)
    found = only(brain, "rights")
    (brain.root / ".brain").chmod(0o700)
    assert (found.ok, found.message) == (ok, f"the store's folder has mode {mode:04o}")
    assert found.hint == ("" if ok else "chmod 700 .brain")


@pytest.mark.parametrize(("free", "ok"), [(256 << 20, True), ((256 << 20) - 1, False)])
def test_a_disk_has_some_space_left(brain, large_disk, free, ok):
    large_disk(free)
    found = only(brain, "disk")
    assert (found.ok, found.message) == (ok, "0.3 GB free")
    assert found.hint == ("" if ok else "free some disk space")


def test_the_innermost_and_the_last_mount_counts(brain, monkeypatch, tmp_path):
    mounts = tmp_path / "mountinfo"
    monkeypatch.setattr(doctor, "_MOUNT_INFO_FILE", mounts)
    root = str(brain.root.resolve()).replace(" ", "\\040")
    lines = [f"2 1 0:2 / {root} rw - xfs x rw", "1 0 0:1 / / rw - ext4 /dev/sda rw"]
    mounts.write_text("\n".join(lines))
    assert only(brain, "file system").message == "xfs"
    mounts.write_text("\n".join([*lines, f"3 1 0:3 / {root} rw - zfs x rw"]))
    assert only(brain, "file system").message == "zfs"
    mounts.write_text(lines[1])
    assert only(brain, "file system").message == "ext4"
    mounts.unlink()
    assert only(brain, "file system") == DoctorCheck("file system", True, "unknown", "")


def test_files_that_are_still_to_be_written_are_counted_and_foreign_ones_named(brain):
    path = "skills/oracle/SKILL.md"
    brain.skills.upsert("Oracle", "x\n", description="d")
    entry = next(file for file in brain.files.list() if file.path == path)
    execute_in_store(
        brain.root,
        pending_write_statement(path, 0, bytes.fromhex(entry.blob)),
        pending_write_statement("foreign.md", 0, bytes.fromhex(entry.blob)),
    )
    with Brain.open(brain.root) as other:
        first, second = checks(other)["unfinished writes"]
    assert (first.ok, first.message) == (False, "1 files are recorded but not yet written")
    assert first.hint.startswith("the next writing command")
    assert second == DoctorCheck(
        *("unfinished writes", False, "foreign.md is not in the head"),
        "`brain doctor --repair` drops it",
    )


def test_files_that_differ_are_counted_and_those_left_out_named(brain):
    write_file(brain, "a.md", "x\n")
    write_file(brain, "b.md", "x\n")
    brain.snapshot()
    write_file(brain, "a.md", "y\n")
    (brain.root / "b.md").unlink()
    write_file(brain, "c.md", "z\n")
    assert only(brain, "folder") == DoctorCheck("folder", True, "3 files differ from the head", "")
    (brain.root / "link").symlink_to("/etc/passwd")
    whole, notice = checks(brain)["folder"]
    assert whole.ok and not notice.ok
    assert notice.message.startswith("link: ") and notice.hint == "it is not recorded"


def test_without_a_folder_for_the_cache_that_is_said(brain, monkeypatch):
    brain._session.use_memory_cache()
    found = only(brain, "cache")
    assert not found.ok and found.message.startswith("there is no folder for it")
    assert "BRAIN_CACHE_DIR" in found.hint


def test_a_cached_index_that_is_damaged_is_named(brain, monkeypatch):
    folder = brain._session.cache.folder
    monkeypatch.setattr(doctor.head_index, "is_index_valid", lambda session: False)
    assert only(brain, "cache") == DoctorCheck(
        *("cache", False, "its index is damaged, so each reader rebuilds it"), f"delete {folder}"
    )


def test_the_sandbox_is_named_with_what_it_is_made_of(brain, monkeypatch):
    profile = SandboxProfile(name="x", versions=(("bubblewrap", "0.9"), ("python", "3.12.1")))
    monkeypatch.setattr(find_sandbox, "probe_sandbox", lambda: profile)
    found = only(brain, "sandbox")
    assert found == ("sandbox", True, "x: bubblewrap 0.9, python 3.12.1", "")


@pytest.mark.parametrize("has_program", [False, True])
def test_a_missing_sandbox_is_a_fault_if_a_skill_needs_it(brain, monkeypatch, has_program):
    def fail() -> SandboxProfile:
        raise SandboxError("bwrap is missing", hint="install it")

    monkeypatch.setattr(find_sandbox, "probe_sandbox", fail)
    brain.skills.upsert("Oracle", "x\n", description="d")
    if has_program:
        write_file(brain, "skills/oracle/skill.py", "print(1)\n")
        brain.snapshot("add a program")
    found = only(brain, "sandbox")
    if has_program:
        assert found == ("sandbox", False, "bwrap is missing", "install it")
    else:
        message = "none, which no skill here needs: bwrap is missing; install it"
        assert found == ("sandbox", True, message, "")


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
