"""Key files: whole or not there, never written over, and read only where nobody else could."""

import errno
import os
import stat
import subprocess
from collections.abc import Callable, Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from brain.errors import BrainError
from brain.trust import ed25519, keyfile
from brain.trust.ed25519 import format_key
from tests.support.refusals import raises_code


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "config" / "keys"


def code_of(caught: pytest.ExceptionInfo[BrainError]) -> str:
    assert caught.value.hint
    return caught.value.code


@pytest.mark.parametrize("passphrase", [b"", b"correct horse"])
def test_a_key_signs_after_it_was_made_and_loaded(folder, passphrase):
    made = keyfile.create_key(folder, "auditor", passphrase)
    seed = keyfile.load_key(folder, "auditor", passphrase)
    assert ed25519.public_key(seed) == made.key
    assert made == keyfile.describe_key(folder, "auditor")
    assert (made.name, made.encrypted) == ("auditor", bool(passphrase))
    assert made.created > 1_600_000_000_000


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_folder_and_file_are_for_their_owner_whatever_the_umask(folder, umask):
    before = os.umask(umask)
    try:
        keyfile.create_key(folder, "auditor")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "auditor.pem").stat().st_mode) == 0o600
    assert os.listdir(folder) == ["auditor.pem"]


def test_openssl_reads_a_key_file(folder):
    made = keyfile.create_key(folder, "auditor")
    command = ["openssl", "pkey", "-in", folder / "auditor.pem", "-pubout", "-outform", "DER"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout.endswith(made.key)


def test_keys_are_listed_by_name_and_other_files_are_not(folder):
    assert keyfile.list_keys(folder) == []
    b, a = keyfile.create_key(folder, "b"), keyfile.create_key(folder, "a-1", b"secret")
    for other in ("notes.txt", ".c.pem.0011", "Not A Slug.pem"):
        (folder / other).write_text("something else")
    assert keyfile.list_keys(folder) == [a, b]


def test_a_key_is_never_written_over(folder):
    keyfile.create_key(folder, "auditor")
    before = (folder / "auditor.pem").read_bytes()
    with pytest.raises(BrainError) as caught:
        keyfile.create_key(folder, "auditor", b"other")
    assert code_of(caught) == "exists"
    assert (folder / "auditor.pem").read_bytes() == before
    assert os.listdir(folder) == ["auditor.pem"]


@pytest.mark.parametrize(
    "name", ["", "A", "a b", "../a", "a/b", ".a", "-a", "a--b", "é", "a\n", "a" * 65]
)
def test_a_name_that_is_no_slug_is_refused(folder, name):
    for ask in (keyfile.create_key, keyfile.load_key, keyfile.describe_key):
        with pytest.raises(BrainError) as caught:
            ask(folder, name)
        assert code_of(caught) == "bad_name"
    assert not folder.exists()


def test_a_passphrase_without_end_is_refused(folder):
    keyfile.create_key(folder, "a", b"x" * keyfile.MAX_PASSPHRASE_BYTES)
    with raises_code("too_large", BrainError):
        keyfile.create_key(folder, "b", b"x" * (keyfile.MAX_PASSPHRASE_BYTES + 1))


def test_a_key_that_is_not_there_is_not_found(folder):
    for _ in range(2):
        with pytest.raises(BrainError) as caught:
            keyfile.load_key(folder, "auditor")
        assert code_of(caught) == "no_key"
        folder.mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660, 0o644])
def test_a_key_that_others_may_read_or_write_is_not_used(folder, mode):
    keyfile.create_key(folder, "auditor")
    (folder / "auditor.pem").chmod(mode)
    for ask in (keyfile.load_key, keyfile.describe_key):
        with pytest.raises(BrainError, match="others may read") as caught:
            ask(folder, "auditor")
        assert code_of(caught) == "unsafe_key_file"
        assert "chmod 600" in caught.value.hint


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(folder, mode):
    keyfile.create_key(folder, "auditor")
    folder.chmod(mode)
    for ask in (keyfile.load_key, keyfile.create_key):
        with pytest.raises(BrainError) as caught:
            ask(folder, "auditor")
        assert code_of(caught) == "unsafe_key_folder"


def test_a_key_reached_through_a_link_is_not_used(folder):
    keyfile.create_key(folder, "auditor")
    (folder / "alias.pem").symlink_to("auditor.pem")
    with pytest.raises(BrainError) as caught:
        keyfile.load_key(folder, "alias")
    assert code_of(caught) == "unsafe_key_file"
    (folder.parent / "other").symlink_to("keys")
    with pytest.raises(BrainError) as caught:
        keyfile.load_key(folder.parent / "other", "auditor")
    assert code_of(caught) == "unsafe_key_folder"


def test_what_is_no_key_file_is_refused(folder):
    keyfile.create_key(folder, "auditor")
    os.mkfifo(folder / "pipe.pem", 0o600)
    (folder / "folder.pem").mkdir(0o700)
    (folder / "large.pem").touch(0o600)
    os.truncate(folder / "large.pem", 1 << 30)
    (folder / "empty.pem").touch(0o600)
    (folder / "bytes.pem").touch(0o600)
    (folder / "bytes.pem").write_bytes(b"\xff\x00" * 100)
    for name in ("pipe", "folder", "large", "empty", "bytes"):
        with raises_code("bad_key", BrainError, match=name):
            keyfile.describe_key(folder, name)


def test_a_first_line_that_names_another_key_is_found(folder):
    keyfile.create_key(folder, "auditor")
    file = folder / "auditor.pem"
    pem = file.read_bytes().partition(b"\n")[2]
    other = format_key(ed25519.public_key(bytes(32)))
    file.write_bytes(f"{other}\n".encode() + pem)
    with pytest.raises(BrainError, match="first line") as caught:
        keyfile.load_key(folder, "auditor")
    assert code_of(caught) == "bad_key"


def test_a_folder_that_cannot_be_made_is_a_typed_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BrainError):
        keyfile.create_key(tmp_path / "file" / "keys", "a")


def refuse_to_open(
    monkeypatch: pytest.MonkeyPatch, number: int, is_refused: Callable[[str], bool]
) -> None:
    """Let the system refuse to open some paths with this number of an error."""
    open_file = os.open

    def refusing(path: str | Path, *arguments: Any, **options: Any) -> int:
        if is_refused(str(path)):
            raise OSError(number, os.strerror(number), str(path))
        return open_file(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refusing)


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.EACCES, "no_access"), (errno.EMFILE, "too_many_open_files"), (errno.EIO, "io_error")],
)
@pytest.mark.parametrize("place", ["folder", "file"])
def test_an_error_of_the_system_is_reported_and_not_taken_for_a_missing_key(
    folder, monkeypatch, place, number, code
):
    keyfile.create_key(folder, "auditor")
    refuse_to_open(
        monkeypatch,
        number,
        lambda path: path == {"folder": str(folder), "file": "auditor.pem"}[place],
    )
    for ask in (keyfile.load_key, keyfile.describe_key):
        with pytest.raises(BrainError, match=os.strerror(number)) as caught:
            ask(folder, "auditor")
        assert code_of(caught) == code


def test_a_folder_that_the_system_does_not_list_is_an_error_and_not_an_empty_one(
    folder, monkeypatch
):
    keyfile.create_key(folder, "auditor")

    def refusing(path: Path) -> list[str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "listdir", refusing)
    for ask in (keyfile.list_keys, keyfile.list_key_names):
        with pytest.raises(BrainError) as caught:
            ask(folder)
        assert code_of(caught) == "no_access"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_key_that_the_system_does_not_write_is_an_error_and_leaves_nothing(
    folder, monkeypatch, number
):
    keyfile.create_key(folder, "first")
    refuse_to_open(monkeypatch, number, lambda path: ".auditor.pem" in path)
    with pytest.raises(BrainError, match=os.strerror(number)) as caught:
        keyfile.create_key(folder, "auditor")
    assert caught.value.code in {"no_space", "no_access"}
    assert os.listdir(folder) == ["first.pem"]


def test_a_file_in_place_of_the_folder_of_keys_is_not_used(folder):
    folder.parent.mkdir()
    folder.touch()
    with pytest.raises(BrainError) as caught:
        keyfile.load_key(folder, "auditor")
    assert code_of(caught) == "unsafe_key_folder"


def give_away(monkeypatch: pytest.MonkeyPatch, user: int, kinds: Collection[int]) -> None:
    """Let open files of these kinds belong to another user than `user`, who runs this."""
    fstat = os.fstat

    def other_owner(handle: int) -> SimpleNamespace:
        found = fstat(handle)
        fields = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")}
        is_given = stat.S_IFMT(found.st_mode) in kinds
        return SimpleNamespace(**fields | {"st_uid": user + 1 if is_given else user})

    monkeypatch.setattr(os, "fstat", other_owner)
    monkeypatch.setattr(os, "geteuid", lambda: user)


@pytest.mark.parametrize(
    ("kind", "code"), [(stat.S_IFDIR, "unsafe_key_folder"), (stat.S_IFREG, "unsafe_key_file")]
)
def test_keys_of_another_user_are_not_used(folder, monkeypatch, kind, code):
    keyfile.create_key(folder, "auditor")
    give_away(monkeypatch, 1000, ())
    assert keyfile.load_key(folder, "auditor")
    give_away(monkeypatch, 1000, (kind,))
    with pytest.raises(BrainError) as caught:
        keyfile.load_key(folder, "auditor")
    assert code_of(caught) == code


def test_the_superuser_uses_the_keys_of_any_user(folder, monkeypatch):
    made = keyfile.create_key(folder, "auditor")
    give_away(monkeypatch, 0, (stat.S_IFDIR, stat.S_IFREG))
    assert ed25519.public_key(keyfile.load_key(folder, "auditor")) == made.key


def test_a_key_file_is_read_up_to_the_size_that_one_may_have(folder):
    made = keyfile.create_key(folder, "auditor")
    file = folder / "auditor.pem"
    content = file.read_bytes()
    file.write_bytes(content.ljust(keyfile.MAX_KEY_FILE_BYTES, b"\n"))
    assert keyfile.describe_key(folder, "auditor").key == made.key
    assert ed25519.public_key(keyfile.load_key(folder, "auditor")) == made.key
    file.write_bytes(content.ljust(keyfile.MAX_KEY_FILE_BYTES + 1, b"\n"))
    with raises_code("bad_key", BrainError):
        keyfile.describe_key(folder, "auditor")


def test_names_of_keys_have_at_most_64_characters(folder):
    assert keyfile.create_key(folder, "a" * 64).name == "a" * 64
    assert keyfile.list_key_names(folder) == ["a" * 64]


def test_a_key_says_when_it_was_made(folder):
    keyfile.create_key(folder, "auditor")
    os.utime(folder / "auditor.pem", ns=(0, 1_700_000_000_123_999_999))
    assert keyfile.describe_key(folder, "auditor").created == 1_700_000_000_123


def test_no_descriptor_stays_open_whether_a_key_is_read_or_refused(folder):
    keyfile.create_key(folder, "auditor")
    keyfile.create_key(folder, "open")
    (folder / "open.pem").chmod(0o644)
    before = sorted(os.listdir("/proc/self/fd"))
    keyfile.load_key(folder, "auditor")
    for name in ("open", "missing"):
        with pytest.raises(BrainError):
            keyfile.load_key(folder, name)
    folder.chmod(0o777)
    with pytest.raises(BrainError):
        keyfile.load_key(folder, "auditor")
    assert sorted(os.listdir("/proc/self/fd")) == before
