"""Files that by their content stay out of what is adopted or published."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ..objects.entry import LINK
from ..secrets import Finding, find
from .layout import DATABASE
from .left import Left
from .sift import Taken

CODE = "secret"
_DATABASE = b"SQLite format 3\0"


def without_unsafe(files: Iterable[Taken], left: Left, allow: Collection[str]) -> Iterator[Taken]:
    """Yield the files without databases, and without secrets that `allow` does not name."""
    for taken in files:
        why = refusal(taken.file.content, allow) if taken.file.kind != LINK else None
        if why is None:
            yield taken
        else:
            left.add(why[0], taken.home, why[1], taken.brain)


def refusal(content: bytes, allow: Collection[str]) -> tuple[str, str] | None:
    """Return code and reason why a content is not taken, None if it is."""
    if content.startswith(_DATABASE):
        return "database", DATABASE
    found = first_secret(content, allow)
    return (CODE, told(found)) if found else None


def first_secret(content: bytes, allow: Collection[str]) -> Finding | None:
    """Return the first secret in a text that is not allowed."""
    return next((found for found in find(content) if found.id not in allow), None)


def told(found: Finding) -> str:
    """Return what is said of a finding; never the secret itself."""
    return f"{found.rule} in line {found.line}; if it is none, allow {found.id}"
