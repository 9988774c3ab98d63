"""What became of a skill that was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .ledgers import Committed, NotCommitted
    from .notices import Notice
    from .skills import Version


class Upserted(NamedTuple):
    """The outcome of an upsert, a revert or a delete of a skill.

    `notices` say what in its text looks like a secret, and what in its name deceives.
    """

    slug: str
    name: str
    version: Version
    previous_version: Version | None
    path: str
    snapshot: str
    bundle: str
    changed: bool
    commitment: Committed | NotCommitted | None
    notices: Sequence[Notice] = ()


class Absorbed(NamedTuple):
    """A skill that took in another: as `Upserted`, and what it absorbed.

    `files` are the paths at which files of the absorbed skill are now.
    """

    slug: str
    name: str
    version: Version
    previous_version: Version
    path: str
    snapshot: str
    bundle: str
    changed: bool
    commitment: Committed | NotCommitted | None
    absorbed: str
    absorbed_version: Version
    files: list[str]
