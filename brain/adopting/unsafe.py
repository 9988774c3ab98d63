"""Files with secrets, kept out of what is adopted or published."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ..objects.entry import LINK
from ..secrets import Finding, find
from .left import Left
from .sift import Taken

CODE = "secret"


def without_secrets(files: Iterable[Taken], left: Left, allow: Collection[str]) -> Iterator[Taken]:
    """Yield the files without a secret that `allow`, ids of findings, does not name."""
    for taken in files:
        found = first_secret(taken.file.content, allow) if taken.file.kind != LINK else None
        if found is None:
            yield taken
        else:
            left.add(CODE, taken.home, told(found), taken.brain)


def first_secret(content: bytes, allow: Collection[str]) -> Finding | None:
    """Return the first secret in a text that is not allowed."""
    return next((found for found in find(content) if found.id not in allow), None)


def told(found: Finding) -> str:
    """Return what is said of a finding; never the secret itself."""
    return f"{found.rule} in line {found.line}; if it is none, allow {found.id}"
