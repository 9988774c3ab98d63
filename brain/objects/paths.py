"""What a path inside a brain may be, and which paths one folder cannot hold together.

A path is UTF-8, relative, separated by `/`, at most `MAX_PATH_BYTES` long, with
no empty, `.` or `..` part, no control character, no backslash and no drive
letter, so that it means the same file on every system.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from operator import methodcaller

from .. import limits
from ..errors import InvalidInput, printable

TOP = "."
"""The section of the files that lie at the top of the brain."""

_slashes = methodcaller("count", "/")
_FORBIDDEN_PARTS = {"", ".", ".."}
_CONTROL = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0))))


def check(path: str) -> str:
    """Return `path` if it may stand in a brain.

    Raises `InvalidInput` with code `bad_path`, `bad_char`, `bad_name` (not
    UTF-8) or `too_deep`.
    """
    if _is_plain(path):
        return path
    try:
        size = len(path.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"not UTF-8: {printable(path)}", code="bad_name") from error
    parts = path.split("/")
    if not _CONTROL.isdisjoint(path):
        raise InvalidInput(f"control character in a path: {printable(path)}", code="bad_char")
    drive = path[1:2] == ":"  # Windows can be told to take any character for a drive
    bad_part = not _FORBIDDEN_PARTS.isdisjoint(parts)
    if size > limits.MAX_PATH_BYTES or "\\" in path or drive or bad_part:
        raise InvalidInput(
            f"not a path of a brain: {printable(path)}",
            code="bad_path",
            hint="paths are relative, use '/', and have no '.', '..' or empty part, no '\\' "
            "and no drive such as 'c:'",
        )
    if len(parts) > limits.MAX_DEPTH:
        raise InvalidInput(f"nested too deeply: {printable(path)}", code="too_deep")
    return path


def _is_plain(path: str) -> bool:
    """Tell at little cost that most paths are fine; False says nothing."""
    return (
        path.isascii()
        and path.isprintable()
        and 2 < len(path) <= limits.MAX_PATH_BYTES
        and "/." not in path
        and "//" not in path
        and "\\" not in path
        and path[0] not in "/."
        and path[1] != ":"
        and path[-1] != "/"
        and path.count("/") < limits.MAX_DEPTH
    )


def are_plain(section: str, inner: Collection[str]) -> bool:
    """Tell at little cost that `check` takes all these paths of a section; False says nothing.

    Together they are one text in which `|/` stands between two paths, so that a path with
    a bad start or end makes a bad pair of characters.
    """
    text = f"/{'|/'.join(inner)}|"
    return (
        section != TOP
        and _is_plain(f"{section}/x")
        and text.isascii()
        and text.isprintable()
        and "/." not in text
        and "//" not in text
        and "/|" not in text
        and "\\" not in text
        and len(section) + max(map(len, inner)) < limits.MAX_PATH_BYTES
        and max(map(_slashes, inner)) < limits.MAX_DEPTH - 1
    )


def split(path: str) -> tuple[str, str]:
    """Return the section of `path` and the path inside that section."""
    section, slash, inner = path.partition("/")
    return (section, inner) if slash else (TOP, section)


def join(section: str, inner: str) -> str:
    """Undo `split`."""
    return inner if section == TOP else f"{section}/{inner}"


def fold(path: str) -> str:
    """Return the form in which macOS and Windows compare names: case folded, NFC."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
