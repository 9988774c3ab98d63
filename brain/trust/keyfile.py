"""Private keys, one file each, in a folder that the caller names.

A file holds the public key as text on its first line, then PKCS#8 PEM, under a
passphrase if one was given. It is written atomically, never overwritten, and readable by
its owner alone; a file that others can read is refused. The first line serves listing;
the PEM signs, and the two must agree.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .. import limits
from ..errors import BrainError, Conflict, InvalidInput, NotFound, error_from_os, printable_text
from ..util.files import write_atomic
from . import ed25519
from .ed25519 import format_key, parse_key

KEY_FILE_SUFFIX = ".pem"
MAX_KEY_FILE_BYTES = 16 << 10
"""Size of a key file; one of ours has about 500 bytes."""
MAX_PASSPHRASE_BYTES = 1000
"""Bytes of a passphrase; OpenSSL takes no more than 1,023."""

_NAME_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)


class KeyFile(NamedTuple):
    """A key without its secret; `created` is in ms since 1970, UTC."""

    name: str
    key: bytes
    encrypted: bool
    created: int


def create_key(folder: Path, name: str, passphrase: bytes = b"") -> KeyFile:
    """Create a key in `folder`, which is created too, and describe it.

    Raises `InvalidInput` (`bad_name`, `too_large`), `Conflict` (`exists`), `BrainError`
    (`unsafe_key_folder`, or what the system refuses).
    """
    file = _file_name(name)
    if len(passphrase) > MAX_PASSPHRASE_BYTES:
        raise InvalidInput(
            f"the passphrase has {len(passphrase)} bytes, more than {MAX_PASSPHRASE_BYTES}",
            code="too_large",
            hint="choose a shorter one",
        )
    seed = ed25519.generate_seed()
    text = f"{format_key(ed25519.public_key(seed))}\n".encode() + ed25519.private_key_to_pem(
        seed, passphrase
    )
    with _translate_os_errors():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with _open_key_folder(folder) as folder_fd:
                write_atomic(file, text, replace=False, dir_fd=folder_fd)
        except FileExistsError as error:
            raise Conflict(
                f"the key {name} exists already",
                code="exists",
                hint="choose another name; keys are never overwritten",
            ) from error
    return describe_key(folder, name)


def describe_key(folder: Path, name: str) -> KeyFile:
    """Describe a key without its passphrase. Raises as `load_key`."""
    content, created = _read_key_file(folder, name)
    return KeyFile(
        name, _read_public_key(content, name), ed25519.is_encrypted_pem(content), created
    )


def list_keys(folder: Path) -> list[KeyFile]:
    """Describe all keys in `folder`, by name. Raises as `load_key`."""
    return [describe_key(folder, name) for name in list_key_names(folder)]


def list_key_names(folder: Path) -> list[str]:
    """Return the names of the keys in `folder`, sorted; none if there is no folder."""
    with _translate_os_errors():
        try:
            files = os.listdir(folder)
        except FileNotFoundError:
            return []
    names = (file.removesuffix(KEY_FILE_SUFFIX) for file in files if file.endswith(KEY_FILE_SUFFIX))
    return sorted(filter(_is_key_name, names))


def load_key(folder: Path, name: str, passphrase: bytes = b"") -> bytes:
    """Return a private key, 32 bytes.

    Raises `NotFound` (`no_key`), `InvalidInput` (`bad_name`, `bad_key`,
    `passphrase_needed`, `wrong_passphrase`), `BrainError` (`unsafe_key_folder`,
    `unsafe_key_file`, or what the system refuses).
    """
    content, _ = _read_key_file(folder, name)
    try:
        seed = ed25519.private_key_from_pem(content, passphrase)
    except InvalidInput as error:
        raise InvalidInput(
            f"the key {name} cannot be opened: {error.message}", code=error.code, hint=error.hint
        ) from error
    if ed25519.public_key(seed) != _read_public_key(content, name):
        raise InvalidInput(
            f"the first line of {folder / _file_name(name)} is not the public key"
            " of the private key below it",
            code="bad_key",
            hint=ed25519.RESTORE_KEY_HINT,
        )
    return seed


def _read_public_key(content: bytes, name: str) -> bytes:
    try:
        return parse_key(content.partition(b"\n")[0].decode("ascii", "replace"))
    except InvalidInput as error:
        raise InvalidInput(
            f"the first line of the file of the key {name} is not a public key",
            code="bad_key",
            hint=ed25519.RESTORE_KEY_HINT,
        ) from error


def _is_key_name(name: str) -> bool:
    return len(name) <= limits.MAX_SLUG_CHARS and _NAME_PATTERN.fullmatch(name) is not None


def _file_name(name: str) -> str:
    if not _is_key_name(name):
        raise InvalidInput(
            f'a key cannot be called "{name}"',
            code="bad_name",
            hint="use lower-case letters, digits and single hyphens, at most 64 characters",
        )
    return name + KEY_FILE_SUFFIX


@contextmanager
def _translate_os_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise error_from_os(error) from error


@contextmanager
def _open_key_folder(folder: Path) -> Iterator[int]:
    """Open the folder of keys, refusing one that others may write to."""
    try:
        folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _unsafe_error(
                "folder", f"the folder of keys, {printable_text(folder)}, is a link or a file"
            ) from error
        raise
    try:
        file_stat = os.fstat(folder_fd)
        if file_stat.st_mode & 0o022 or not _is_owned_by_user(file_stat):
            raise _unsafe_error(
                "folder",
                f"others may write to the folder of keys, {printable_text(folder)}",
                f"run `chmod 700 {printable_text(folder)}`",
            )
        yield folder_fd
    finally:
        os.close(folder_fd)


def _read_key_file(folder: Path, name: str) -> tuple[bytes, int]:
    file = _file_name(name)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _translate_os_errors():
        try:
            with _open_key_folder(folder) as folder_fd:
                handle = os.open(file, flags, dir_fd=folder_fd)
        except FileNotFoundError as error:
            raise NotFound(
                f"there is no key {name} in {folder}",
                code="no_key",
                hint="`brain key list` lists the keys, `brain key new` makes one",
            ) from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _unsafe_error(
                    "file",
                    f"the file of the key {name}, {printable_text(folder / file)}, is a link",
                ) from error
            raise
        try:
            file_stat = os.fstat(handle)
            _check_file(file_stat, name, folder / file)
            return os.read(handle, MAX_KEY_FILE_BYTES), file_stat.st_mtime_ns // 1_000_000
        finally:
            os.close(handle)


def _check_file(file_stat: os.stat_result, name: str, path: Path) -> None:
    if not stat.S_ISREG(file_stat.st_mode) or file_stat.st_size > MAX_KEY_FILE_BYTES:
        raise InvalidInput(
            f"{path} is not a key file: it is not a regular file, or too large",
            code="bad_key",
            hint=ed25519.RESTORE_KEY_HINT,
        )
    if file_stat.st_mode & 0o077 or not _is_owned_by_user(file_stat):
        raise _unsafe_error(
            "file",
            f"others may read the file of the key {name}",
            f"run `chmod 600 {printable_text(path)}`; if somebody may have read it, make a new key",
        )


def _is_owned_by_user(file_stat: os.stat_result) -> bool:
    return os.geteuid() in (0, file_stat.st_uid)


def _unsafe_error(what: str, message: str, hint: str = "") -> BrainError:
    return BrainError(
        message,
        code=f"unsafe_key_{what}",
        hint=hint or "keep keys as plain files in a folder of their own",
    )
