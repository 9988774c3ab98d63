"""Unpack a `.skill` or `.zip` file, to adopt its files.

All names, sizes and links are checked before a file is written. What a Mac adds (`__MACOSX` and
`._*`) and the folders of version control stay out.
"""

from __future__ import annotations

import io
import os
import posixpath
import shutil
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import InvalidInput, printable_text
from ..objects import paths
from ..skills.skill_layout import SKILL_FILES

MAX_DIRECTORY_BYTES = 16 << 20
"""Bytes of the list of entries."""
MAX_ENTRIES = 50_000
MAX_UNPACKED_BYTES = 1 << 30
"""Bytes of all files."""
MAX_RATIO = 200
"""Bytes unpacked for a byte of the archive; text in many languages has up to 20."""
_MIN_SUSPECT_BYTES = 16 << 20
"""Bytes unpacked from which on the ratio counts."""
_MAX_LINK_BYTES = 4096
_SUFFIXES = (".skill", ".zip")
_ENCRYPTED, _UTF8_NAME = 1, 1 << 11  # bits of an entry (APPNOTE 4.4.4)
_FROM_WINDOWS = 0  # the system that wrote an entry (APPNOTE 4.4.2)
_DAMAGES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OverflowError)


def archive_name(path: Path) -> str | None:
    """Return the name of the archive at `path` without its suffix, None for another file."""
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return None
    return path.stem if path.stem.strip(".") else "skill"


@contextmanager
def unpack_archive(path: Path, name: str) -> Iterator[Path]:
    """Unpack the archive into a temporary folder; yield the folder of its files.

    That is the one folder at its top, if there is nothing else and it has no SKILL.md, as in
    the archives of repositories. Raises `InvalidInput` (`bad_archive`, `too_many`,
    `too_large`), `OSError`.
    """
    with tempfile.TemporaryDirectory(prefix="brain-archive-") as temporary:
        folder = Path(temporary) / name
        folder.mkdir()
        try:
            with _BoundedFile(path) as file, zipfile.ZipFile(file) as archive:
                entries = _check_entries(archive, path.stat().st_size)
                for inner, entry in entries.items():
                    _write_entry(archive, entry, folder / inner)
        except (*_DAMAGES, ValueError, RuntimeError) as error:
            raise _bad_archive_error(path.name, str(error)) from error
        top = [place for place in folder.iterdir() if not place.name.startswith(".")]
        is_wrapped = len(top) == len(list(folder.iterdir())) == 1 and top[0].is_dir()
        if is_wrapped and not any((top[0] / text).exists() for text in SKILL_FILES):
            folder = top[0]
        yield folder


class _BoundedFile(io.FileIO):
    """A file of which no reader takes more at once than the list of entries may have."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise _too_many_error()
        return super().read(size) or b""

    def seek(self, offset: int, origin: int = os.SEEK_SET, /) -> int:
        if origin == os.SEEK_SET and not 0 <= offset <= sys.maxsize:
            raise zipfile.BadZipFile("an entry lies outside of the archive")
        return super().seek(offset, origin)


def _check_entries(archive: zipfile.ZipFile, packed_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """Return the files and links to write, by their paths."""
    listed = archive.infolist()
    size = sum(entry.file_size for entry in listed)
    if len(listed) > MAX_ENTRIES:
        raise _too_many_error()
    if size > MAX_UNPACKED_BYTES or size > max(_MIN_SUSPECT_BYTES, packed_bytes * MAX_RATIO):
        raise InvalidInput(
            f"the archive unpacks to {size} bytes, more than {MAX_UNPACKED_BYTES} or {MAX_RATIO}"
            " times its own size",
            code="too_large",
            hint="unpack it yourself if you trust it, and adopt the folder",
        )
    found: dict[str, zipfile.ZipInfo] = {}
    spellings: dict[str, str] = {}
    for entry in listed:
        name = _read_name(entry)
        path, is_folder = name.removeprefix("./").removesuffix("/"), name.endswith("/")
        parts = path.split("/")
        is_extra = parts[0] == "__MACOSX" or parts[-1].startswith("._")
        if not path or is_extra or any(map(paths.is_vcs_name, parts)):
            continue
        _check_entry(entry, path)
        for place in () if is_folder else (path, *paths.folders_above(path)):
            if spellings.setdefault(paths.fold_name(place), place) != place:
                raise _bad_archive_error(path, "two names differ only in case")
        if not is_folder:
            if path in found:
                raise _bad_archive_error(path, "the name is there twice")
            found[path] = entry
    for path, entry in found.items():
        if not found.keys().isdisjoint(paths.folders_above(path)):
            raise _bad_archive_error(path, "a file has the name of its folder")
        if _is_link(entry):
            _check_link(path, archive.read(entry), found)
    return found


def _read_name(entry: zipfile.ZipInfo) -> str:
    """Return the name of an entry as it was meant.

    Archivers of Macs write names in UTF-8 and do not say so, PowerShell separates by backslashes.
    """
    name = entry.filename
    if not entry.flag_bits & _UTF8_NAME:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode()
    return name.replace("\\", "/") if entry.create_system == _FROM_WINDOWS else name


def _check_entry(entry: zipfile.ZipInfo, path: str) -> None:
    try:
        paths.check_path(path)
    except InvalidInput as error:
        raise _bad_archive_error(path, error.message) from error
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if "\0" in entry.orig_filename:
        raise _bad_archive_error(path, "the name has a null byte")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        raise _bad_archive_error(path, "neither a file, a folder nor a link")
    if entry.flag_bits & _ENCRYPTED:
        raise _bad_archive_error(path, "encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _bad_archive_error(path, f"compressed by the method {entry.compress_type}")
    if _is_link(entry) and entry.file_size > _MAX_LINK_BYTES:
        raise _bad_archive_error(path, "a link of that length")


def _is_link(entry: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(entry.external_attr >> 16)


def _check_link(path: str, content: bytes, found: dict[str, zipfile.ZipInfo]) -> None:
    """Refuse a link that leads out, or over another link, which might."""
    target = content.decode("utf-8", "replace")
    parts = target.split("/")
    while parts and parts[0] in ("..", "."):
        parts.pop(0)
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    over = any(_is_link(found[one]) for one in paths.folders_above(place) if one in found)
    if "\0" in target or target.startswith("/") or place.startswith("..") or ".." in parts or over:
        raise _bad_archive_error(path, f"a link that may lead out: {printable_text(target, 200)}")


def _write_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if _is_link(entry):
        place.symlink_to(archive.read(entry).decode("utf-8", "replace"))
        return
    with archive.open(entry) as source, place.open("xb") as target:
        shutil.copyfileobj(source, target)
    place.chmod(0o700 if entry.external_attr >> 16 & stat.S_IXUSR else 0o600)


def _bad_archive_error(path: str, reason: str) -> InvalidInput:
    return InvalidInput(
        f"the archive cannot be adopted: {printable_text(path, 200)}: {reason}",
        code="bad_archive",
        hint="unpack it yourself if you trust it, and adopt the folder",
    )


def _too_many_error() -> InvalidInput:
    return InvalidInput(
        f"the archive has more than {MAX_ENTRIES} entries",
        code="too_many",
        hint="unpack it yourself if you trust it, and adopt the folder",
    )
