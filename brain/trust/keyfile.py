"""Private keys, one file each, in a folder that the caller names.

A file holds the public key as text on its first line, then PKCS#8 PEM, under a
passphrase if one was given. It is written whole or not at all, never written again, and
readable by its owner alone; a file that others could read is not used, since they may
have. The first line serves listing; what signs is the PEM, and the two must agree.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .. import limits
from ..errors import BrainError, Conflict, InvalidInput, NotFound, of_system, printable
from . import ed25519
from .statement import key_text, parse_key

SUFFIX = ".pem"
MAX_BYTES = 16 << 10
"""Size of a key file; one of ours has about 500 bytes."""
MAX_PASSPHRASE = 1000
"""Bytes of a passphrase; OpenSSL takes no more than 1,023."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)


class KeyFile(NamedTuple):
    """A key as it is listed; `created` is in ms since 1970, UTC."""

    name: str
    key: bytes
    encrypted: bool
    created: int


def create(folder: Path, name: str, passphrase: bytes = b"") -> KeyFile:
    """Make a new key in `folder`, which is made too, and return what it is.

    Raises `InvalidInput` (`bad_name`, `too_large`), `Conflict` (`exists`), `BrainError`
    (`unsafe_key_folder`, or what the system refuses).
    """
    file = _file_name(name)
    if len(passphrase) > MAX_PASSPHRASE:
        raise InvalidInput(f"a passphrase of {len(passphrase)} bytes", code="too_large")
    seed = ed25519.new_seed()
    text = f"{key_text(ed25519.public_key(seed))}\n".encode() + ed25519.to_pem(seed, passphrase)
    with _typed():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _opened(folder) as place:
            _write(place, file, text)
    return describe(folder, name)


def describe(folder: Path, name: str) -> KeyFile:
    """Return what a key is, without its passphrase; raises as `load` does."""
    content, created = _read(folder, name)
    return KeyFile(name, _stated(content, name), ed25519.is_encrypted(content), created)


def every(folder: Path) -> list[KeyFile]:
    """Return what all keys in `folder` are, by name; raises as `load` does."""
    return [describe(folder, name) for name in names(folder)]


def names(folder: Path) -> list[str]:
    """Return the names of the keys in `folder`, sorted; none if there is no folder."""
    with _typed():
        try:
            files = os.listdir(folder)
        except FileNotFoundError:
            return []
    found = (file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX))
    return sorted(name for name in found if _is_name(name))


def load(folder: Path, name: str, passphrase: bytes = b"") -> bytes:
    """Return a private key, 32 bytes.

    Raises `NotFound` (`no_key`), `InvalidInput` (`bad_name`, `bad_key`,
    `passphrase_needed`, `wrong_passphrase`), `BrainError` (`unsafe_key_folder`,
    `unsafe_key_file`, or what the system refuses).
    """
    content, _ = _read(folder, name)
    seed = ed25519.from_pem(content, passphrase)
    if ed25519.public_key(seed) != _stated(content, name):
        raise InvalidInput(
            f"the key {name} is not the one its first line names",
            code="bad_key",
            hint="restore the file from a copy",
        )
    return seed


def _stated(content: bytes, name: str) -> bytes:
    try:
        return parse_key(content.partition(b"\n")[0].decode("ascii", "replace"))
    except InvalidInput as error:
        raise InvalidInput(
            f"the file of the key {name} does not begin with its public key", code="bad_key"
        ) from error


def _is_name(name: str) -> bool:
    return len(name) <= limits.MAX_SLUG and _NAME.fullmatch(name) is not None


def _file_name(name: str) -> str:
    if not _is_name(name):
        raise InvalidInput(
            f"not a name for a key: {printable(name)}",
            code="bad_name",
            hint="use lower-case letters, digits and single hyphens, at most 64 characters",
        )
    return name + SUFFIX


@contextmanager
def _typed() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise of_system(error) from error


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Open the folder of keys; nobody else may put files into it."""
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _unsafe("folder", "the folder of keys is a link or no folder") from error
        raise
    try:
        found = os.fstat(place)
        if found.st_mode & 0o022 or not _is_ours(found):
            raise _unsafe(
                "folder",
                "others may write to the folder of keys",
                f"run `chmod 700 {printable(folder)}`",
            )
        yield place
    finally:
        os.close(place)


def _write(place: int, file: str, content: bytes) -> None:
    """Write a file that was not there: complete under its name, or not there at all."""
    temporary = f".{file}.{secrets.token_hex(8)}"
    handle = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=place
    )
    try:
        with open(handle, "wb") as stream:
            os.fchmod(handle, 0o600)
            stream.write(content)
            stream.flush()
            os.fsync(handle)
        os.link(temporary, file, src_dir_fd=place, dst_dir_fd=place)
    except FileExistsError as error:
        raise Conflict(
            f"there is a key of that name already: {file.removesuffix(SUFFIX)}",
            code="exists",
            hint="choose another name; a key is never written over",
        ) from error
    finally:
        os.unlink(temporary, dir_fd=place)
    os.fsync(place)


def _read(folder: Path, name: str) -> tuple[bytes, int]:
    """Return the content of a key file and when it was made."""
    file = _file_name(name)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _typed():
        try:
            with _opened(folder) as place:
                handle = os.open(file, flags, dir_fd=place)
        except FileNotFoundError as error:
            raise NotFound(
                f"there is no key {name}", code="no_key", hint="see `brain key list`"
            ) from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _unsafe("file", f"the key {name} is a link") from error
            raise
        try:
            found = os.fstat(handle)
            _check_file(found, name, folder / file)
            return os.read(handle, MAX_BYTES), found.st_mtime_ns // 1_000_000
        finally:
            os.close(handle)


def _check_file(found: os.stat_result, name: str, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
        raise InvalidInput(f"the key {name} is no file of a key", code="bad_key")
    if found.st_mode & 0o077 or not _is_ours(found):
        raise _unsafe(
            "file",
            f"others may read the key {name}",
            f"run `chmod 600 {printable(path)}`; if somebody may have read it, make a new key",
        )


def _is_ours(found: os.stat_result) -> bool:
    return os.geteuid() in (0, found.st_uid)


def _unsafe(what: str, message: str, hint: str = "") -> BrainError:
    return BrainError(
        message, code=f"unsafe_key_{what}", hint=hint or "keep keys in a folder of their own"
    )
