"""The rules for paths inside a brain.

A path is UTF-8, relative, separated by `/`, at most `MAX_PATH_BYTES` long, its parts at most
`MAX_FILE_NAME_BYTES`. It has no empty, `.` or `..` part, no control or invisible character, no
backslash, no drive letter and no name of version control. So every system can write it, as the
same file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .. import limits
from ..errors import InvalidInput, printable_text
from . import folding

fold_name = folding.fold_name

TOP_SECTION = "."
"""The section of the files at the top of the brain."""

_FORBIDDEN_PARTS = {"", ".", ".."}
CONTROL_CHARS = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
"""The control characters C0 and C1."""
_INVISIBLE_CHARS = frozenset(
    map(
        chr,
        (
            *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x200E, 0x200F),
            *range(0x2028, 0x202F),
            *range(0x2060, 0x2070),
            *(0x3164, 0xFEFF, 0xFFA0),
            *range(0xFFF0, 0xFFFC),
            *range(0x1BCA0, 0x1BCA4),
            *range(0x1D173, 0x1D17B),
            *range(0xE0000, 0xE0100),
        ),
    )
)
"""Characters that are invisible or change the direction of text, without the joiners and
variation selectors that some scripts need."""
_IGNORABLE_CHARS = dict.fromkeys(
    (
        *(*range(0x180B, 0x180E), 0x180F, 0x200C, 0x200D),
        *(*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    )
)
_VCS_NAMES = frozenset({".brain", ".brain.new", ".git"})
_VCS_SHORT_NAMES = frozenset({"brain~1", "git~1"})
_RENAME_HINT = "rename it, or leave it out with .brainignore"
TEMPORARY_PREFIX = ".brain-tmp-"
"""Prefix of the names of files that are still being written."""


def check_path(path: str) -> str:
    """Return `path` if a brain may contain it.

    Raises `InvalidInput` with code `bad_path`, `bad_char`, `bad_name` (not UTF-8),
    `reserved_name`, `name_too_long` or `too_deep`.
    """
    if _is_plain_path(path):
        return path
    shown = printable_text(path)  # it may be of any length
    try:
        size = len(path.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f'the path "{shown}" is not UTF-8', code="bad_name", hint=_RENAME_HINT
        ) from error
    parts = path.split("/")
    if not CONTROL_CHARS.isdisjoint(path):
        raise InvalidInput(
            f'the path "{shown}" contains a control character',
            code="bad_char",
            hint=_RENAME_HINT,
        )
    visible = printable_text(path if path.isascii() else ascii(path)[1:-1])
    if not path.isascii() and not _INVISIBLE_CHARS.isdisjoint(path):
        raise InvalidInput(
            f'the path "{visible}" contains an invisible character',
            code="bad_char",
            hint=_RENAME_HINT,
        )
    drive = path[1:2] == ":"  # Windows can map any character to a drive
    bad_part = not _FORBIDDEN_PARTS.isdisjoint(map(strip_ignorable_chars, parts))
    if size > limits.MAX_PATH_BYTES or "\\" in path or drive or bad_part:
        raise InvalidInput(
            f'"{shown}" is not a path of a brain',
            code="bad_path",
            hint="paths are relative, use '/', and have no '.', '..' or empty part, no '\\' "
            "and no drive such as 'c:'",
        )
    if len(parts) > limits.MAX_PATH_DEPTH:
        raise InvalidInput(
            f'"{shown}" is more than {limits.MAX_PATH_DEPTH} folders deep',
            code="too_deep",
            hint="move it further up, or leave it out with .brainignore",
        )
    if max(len(part.encode()) for part in parts) > limits.MAX_FILE_NAME_BYTES:
        raise InvalidInput(
            f'a name in "{shown}" is longer than {limits.MAX_FILE_NAME_BYTES} bytes',
            code="name_too_long",
            hint="choose a shorter name",
        )
    if any(map(is_reserved_name, parts)):
        raise InvalidInput(
            f'a name in "{visible}" is reserved for version control',
            code="reserved_name",
            hint=_RENAME_HINT,
        )
    return path


def is_vcs_name(name: str) -> bool:
    """Tell whether `name` is a name of brains, of git or of a temporary file."""
    if not name.startswith("."):
        return False
    low = name.lower()
    return low in _VCS_NAMES or low.startswith(TEMPORARY_PREFIX)


def is_reserved_name(name: str) -> bool:
    """Tell whether some system reads `name` as a name for which `is_vcs_name` is true.

    Windows drops dots and blanks at the end and everything after a colon, and has short names
    beside the long ones; macOS ignores invisible characters.
    """
    if name[:1] not in ".bBgG" and name.isascii():
        return False
    low = strip_ignorable_chars(name).partition(":")[0].rstrip(" .").lower()
    return is_vcs_name(low) or low in _VCS_SHORT_NAMES


def strip_ignorable_chars(name: str) -> str:
    """Return a name without the joiners and variation selectors that some systems ignore."""
    return name if name.isascii() else name.translate(_IGNORABLE_CHARS)


def _is_plain_path(path: str) -> bool:
    """Tell at little cost whether a path is certainly valid; most are."""
    return (
        path.isascii()
        and path.isprintable()
        and 2 < len(path) <= limits.MAX_FILE_NAME_BYTES
        and "/." not in path
        and "//" not in path
        and "~" not in path
        and "\\" not in path
        and path[0] not in "/."
        and path[1] != ":"
        and path[-1] != "/"
        and path.count("/") < limits.MAX_PATH_DEPTH
    )


def split_section(path: str) -> tuple[str, str]:
    """Return the section of `path` and the path inside that section."""
    section, slash, inner = path.partition("/")
    return (section, inner) if slash else (TOP_SECTION, section)


def is_at_or_below(path: str, folders: Iterable[str]) -> bool:
    """Tell whether `path` is one of `folders`, or below one of them."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders above `path`, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def join_section(section: str, inner: str) -> str:
    """Undo `split_section`."""
    return inner if section == TOP_SECTION else f"{section}/{inner}"
