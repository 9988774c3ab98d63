"""What a path inside a brain may be.

A path is UTF-8, relative, separated by `/`, at most `MAX_PATH_BYTES` long, its parts at
most `MAX_NAME_BYTES`, with no empty, `.` or `..` part, no control or invisible character,
no backslash, no drive letter and no name of version control, so that it means the same
file on every system and every system can write it.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import methodcaller

from .. import limits
from ..errors import InvalidInput, printable_text
from . import folding

fold_name = folding.fold_name
"""As `folding.fold`: the form in which names, or paths, are compared."""

TOP_SECTION = "."
"""The section of the files that lie at the top of the brain."""

_count_slashes = methodcaller("count", "/")
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
"""What no name shows, or what turns the rest of it round; joiners and variation selectors,
which writing needs, are not among them."""
_IGNORABLE_CHARS = dict.fromkeys(
    (
        *(*range(0x180B, 0x180E), 0x180F, 0x200C, 0x200D),
        *(*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    )
)
_VCS_NAMES = frozenset({".brain", ".brain.new", ".git"})
_VCS_SHORT_NAMES = frozenset({"brain~1", "git~1"})
TEMPORARY_PREFIX = ".brain-tmp-"
"""How the name of every file that is still being written begins."""


def check_path(path: str) -> str:
    """Return `path` if it may stand in a brain.

    Raises `InvalidInput` with code `bad_path`, `bad_char`, `bad_name` (not
    UTF-8), `reserved_name`, `name_too_long` or `too_deep`.
    """
    if _is_plain_path(path):
        return path
    try:
        size = len(path.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"not UTF-8: {printable_text(path)}", code="bad_name") from error
    parts = path.split("/")
    if not CONTROL_CHARS.isdisjoint(path):
        raise InvalidInput(f"control character in a path: {printable_text(path)}", code="bad_char")
    if not path.isascii() and not _INVISIBLE_CHARS.isdisjoint(path):
        raise InvalidInput(
            f"invisible character in a path: {_show_hidden_chars(path)}", code="bad_char"
        )
    drive = path[1:2] == ":"  # Windows can map any character to a drive
    bad_part = not _FORBIDDEN_PARTS.isdisjoint(map(strip_ignorable_chars, parts))
    if size > limits.MAX_PATH_BYTES or "\\" in path or drive or bad_part:
        raise InvalidInput(
            f"not a path of a brain: {printable_text(path)}",
            code="bad_path",
            hint="paths are relative, use '/', and have no '.', '..' or empty part, no '\\' "
            "and no drive such as 'c:'",
        )
    if len(parts) > limits.MAX_PATH_DEPTH:
        raise InvalidInput(f"nested too deeply: {printable_text(path)}", code="too_deep")
    if size > limits.MAX_FILE_NAME_BYTES and any(
        len(part.encode()) > limits.MAX_FILE_NAME_BYTES for part in parts
    ):
        raise InvalidInput(
            f"a name of more than {limits.MAX_FILE_NAME_BYTES} bytes: {printable_text(path)}",
            code="name_too_long",
            hint="choose a shorter one: few folders can hold it",
        )
    if any(map(is_reserved_name, parts)):
        raise InvalidInput(
            f"a name that belongs to version control: {_show_hidden_chars(path)}",
            code="reserved_name",
        )
    return path


def is_vcs_name(name: str) -> bool:
    """Tell whether `name`, as it stands, is version control's: of brains, of git, being written."""
    if not name.startswith("."):
        return False
    low = name.lower()
    return low in _VCS_NAMES or low.startswith(TEMPORARY_PREFIX)


def is_reserved_name(name: str) -> bool:
    """Tell whether some system takes `name` for one that `is_own`.

    Windows drops dots and blanks at the end and what follows a colon, and has short names
    beside the long ones; macOS passes over characters that cannot be seen.
    """
    if name[:1] not in ".bBgG" and name.isascii():
        return False
    low = strip_ignorable_chars(name).partition(":")[0].rstrip(" .").lower()
    return is_vcs_name(low) or low in _VCS_SHORT_NAMES


def strip_ignorable_chars(name: str) -> str:
    """Return a name without the joiners and variation selectors that some systems pass over."""
    return name if name.isascii() else name.translate(_IGNORABLE_CHARS)


def _show_hidden_chars(path: str) -> str:
    """Return a path in which nothing is hidden."""
    return printable_text(path if path.isascii() else ascii(path)[1:-1])


def _is_plain_path(path: str) -> bool:
    """Tell at little cost that most paths are fine; False says nothing."""
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


def are_plain_paths(section: str, inner: Collection[str]) -> bool:
    """Tell at little cost that `check` takes all these paths of a section; False says nothing.

    Together they are one text in which `|/` stands between two paths, so that a path with
    a bad start or end makes a bad pair of characters.
    """
    text = f"/{'|/'.join(inner)}|"
    return (
        section != TOP_SECTION
        and _is_plain_path(f"{section}/x")
        and text.isascii()
        and text.isprintable()
        and "/." not in text
        and "//" not in text
        and "/|" not in text
        and "~" not in text
        and "\\" not in text
        and max(map(len, inner)) <= limits.MAX_FILE_NAME_BYTES
        and max(map(_count_slashes, inner)) < limits.MAX_PATH_DEPTH - 1
    )


def check_paths(whole: Collection[str]) -> None:
    """Check all these full paths, at little cost where they are plain. Raises as `check`."""
    text = f"/{'|/'.join(whole)}|"
    plain = (
        text.isascii()
        and text.isprintable()
        and not any(sign in text for sign in ("/.", "//", "/|", "~", "\\", ":"))
        and max(map(len, whole), default=0) <= limits.MAX_FILE_NAME_BYTES
        and max(map(_count_slashes, whole), default=0) < limits.MAX_PATH_DEPTH
    )
    if not plain:
        for path in whole:
            check_path(path)


def split_section(path: str) -> tuple[str, str]:
    """Return the section of `path` and the path inside that section."""
    section, slash, inner = path.partition("/")
    return (section, inner) if slash else (TOP_SECTION, section)


def join_section(section: str, inner: str) -> str:
    """Undo `split`."""
    return inner if section == TOP_SECTION else f"{section}/{inner}"
