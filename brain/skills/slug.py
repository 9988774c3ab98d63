"""Turns the name of a skill into its slug, the name of its folder.

A slug is lower-case ASCII letters and digits with single hyphens between, at most 64
characters. A name that resembles a path, an option or a reserved file, or has hidden
characters, is refused before and after compatibility normalisation, so that no
dangerous form reaches the file system.

The slug of a name is the same under every Python: code points that Unicode 14 has not
assigned are replaced (`replace_unassigned`), the normal form of the rest never changes,
and letters become ASCII by the fixed table of text-unidecode 1.3.
"""

from __future__ import annotations

import re
import unicodedata

from ..errors import InvalidInput, printable_text
from ..limits import MAX_SKILL_NAME_CHARS, MAX_SLUG_CHARS
from ..util.text import lazy_pattern
from . import unicode_scripts
from .visible_text import hidden_code_point_pattern

_SLUG_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NON_SLUG_RUNS = lazy_pattern(r"[^a-z0-9]+")
_CONTROL_CHARACTERS = lazy_pattern(r"[\x00-\x1f]")
_SEPARATORS = lazy_pattern(r"[ _-]+")
_PATH_LIKE = lazy_pattern(r"[/\\:]")
_RESERVED_NAMES = lazy_pattern(r"\.(?:brain|git)|(?:brain|git)~[0-9]+")
_WINDOWS_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
)
MAX_COMBINING_MARKS = 4
"""Combining marks on one letter; no living script needs more."""


def slugify(name: str) -> str:
    """Return the slug of `name`.

    Raises `InvalidInput` with code `bad_type` (not a str), `name_too_long`,
    `bad_char` (control or hidden code points, too many combining marks), `bad_name`
    (resembles a path or an option, or has no letters or digits) or `reserved_name`.
    """
    if not isinstance(name, str):
        raise InvalidInput(
            f"the name of a skill is not text but {type(name).__name__}",
            code="bad_type",
            hint="put quotes around it",
        )
    if len(name) > MAX_SKILL_NAME_CHARS:
        raise InvalidInput(
            f"the name {printable_text(name, 40)} has {len(name)} characters",
            code="name_too_long",
            hint=f"names have at most {MAX_SKILL_NAME_CHARS} characters",
        )
    if len(name) <= MAX_SLUG_CHARS and _SLUG_PATTERN.fullmatch(name):
        slug = name
    else:
        _check_name(name)
        slug = fold_to_slug(name)
    if not slug:
        raise _name_error(name, "bad_name", "it has no letters or digits")
    if slug in _WINDOWS_DEVICES:
        raise _name_error(name, "reserved_name", "it is the name of a device on Windows")
    return slug


def fold_to_slug(name: str) -> str:
    """Return the slug form of any text, "" without letters and digits; checks nothing."""
    if not name.isascii():
        from text_unidecode import unidecode

        plain = unicodedata.normalize("NFKD", unicode_scripts.replace_unassigned(name))
        name = unidecode(plain.replace("'", "-")).replace("'", "")
    return _NON_SLUG_RUNS().sub("-", name.lower()).strip("-")[:MAX_SLUG_CHARS].rstrip("-")


def is_slug(text: str) -> bool:
    """Tell whether `text` already has the form of a slug."""
    return len(text) <= MAX_SLUG_CHARS and _SLUG_PATTERN.fullmatch(text) is not None


def is_windows_device(slug: str) -> bool:
    """Tell whether a file of this name is a device on Windows."""
    return slug in _WINDOWS_DEVICES


def is_same_skill(name_a: str, name_b: str) -> bool:
    """Tell whether two names differ at most in case, spaces and separators.

    Everything else is compared by code points: two normal forms, a ligature, or "C++"
    and "C#" are different names even if their slugs are equal.
    """
    return name_a == name_b or skill_identity(name_a) == skill_identity(name_b)


def skill_identity(name: str) -> str:
    """Return a key that the names of one skill share.

    Case is folded only where it is one to one, so that the Kelvin sign is not a k.
    """
    lower = name.lower()
    if not name.isascii():
        known = unicode_scripts.replace_unassigned(name)
        pairs = zip(name, known, strict=True)
        lower = "".join(k.lower() if k.lower().upper() == k == c else c for c, k in pairs)
    return _SEPARATORS().sub("-", lower).strip("-")


def _check_name(name: str) -> None:
    normal = unicodedata.normalize("NFKC", unicode_scripts.replace_unassigned(name))
    if _RESERVED_NAMES().fullmatch(_remove_disguise(name)):
        raise _name_error(name, "reserved_name", "it is reserved")
    if _CONTROL_CHARACTERS().search(name) or hidden_code_point_pattern().search(name):
        raise _name_error(name, "bad_char", "it has a control or hidden character")
    if hidden_code_point_pattern().search(normal) or _has_stacked_marks(name):
        reason = "it has too many combining marks, or hidden characters once normalised"
        raise _name_error(name, "bad_char", reason)
    for form in (name, normal):
        if _PATH_LIKE().search(form) or form[:1] in ("-", "~") or form in (".", ".."):
            raise _name_error(name, "bad_name", "it resembles a path or an option")
        if form[:1] == " " or form[-1:] in (" ", "."):
            reason = "it starts with a space, or ends with a space or dot"
            raise _name_error(name, "bad_name", reason)


def _remove_disguise(name: str) -> str:
    """Return the file name that a lenient file system could read `name` as."""
    known = unicode_scripts.replace_unassigned(hidden_code_point_pattern().sub("", name))
    seen = hidden_code_point_pattern().sub("", unicodedata.normalize("NFKD", known))
    bare = "".join(c for c in seen if not unicodedata.combining(c)).casefold()
    return re.split(r"[:/\\]", bare, maxsplit=1)[0].rstrip(" .\t\r\n").lstrip()


def _has_stacked_marks(name: str) -> bool:
    if name.isascii():
        return False
    run = 0
    for char in unicodedata.normalize("NFD", unicode_scripts.replace_unassigned(name)):
        run = run + 1 if unicode_scripts.is_combining_mark(char) else 0
        if run > MAX_COMBINING_MARKS:
            return True
    return False


def _name_error(name: str, code: str, reason: str) -> InvalidInput:
    return InvalidInput(
        f"'{name}' cannot name a skill: {reason}",
        code=code,
        hint="use letters, digits, spaces and hyphens",
    )
