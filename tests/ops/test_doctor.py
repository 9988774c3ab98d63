"""Each check of the doctor, in health and with its fault."""

import shutil
from collections import namedtuple

import pytest

from brain import Brain
from brain.errors import SandboxError, StoreError
from brain.ops import doctor
from brain.results import DoctorCheck
from brain.sandbox import find_sandbox
from brain.sandbox.job import SandboxProfile
from tests.support.brains import write_file
from tests.support.store_tampering import execute_in_store, pending_write_statement

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
