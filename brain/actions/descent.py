"""Whether one snapshot descends from another, also across forks and without a brain at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ..errors import InvalidInput, NotFound, printable
from ..objects import ancestry, exported
from ..objects.lineage import Load
from ..objects.snapshot import Snapshot
from ..results import Ancestry
from ..session import Session
from .revisions import FEWEST_DIGITS, resolve


def between(session: Session, old: str, new: str) -> Ancestry:
    """Tell whether the revision `new` descends from `old`; see `results.Ancestry`."""
    return _between(session.load, resolve(session, old), resolve(session, new))


def export(session: Session, revision: str = "@") -> Iterator[bytes]:
    """Yield the lineage of a revision as a file; see `objects.exported`."""
    return exported.write(session.load, resolve(session, revision))


def between_in(source: BinaryIO, old: str, new: str | None = None) -> Ancestry:
    """Tell the same from the file of a lineage alone; `new` is by default what it is of.

    Both are ids or unique prefixes of six digits or more. Raises `FormatError`,
    `InvalidInput` (`bad_revision`, `ambiguous_id`) or `NotFound` (`no_revision`).
    """
    found = exported.read(source)
    ancestor = _named(found, old)
    descendant = found.head if new is None else _named(found, new)

    def load(id: bytes) -> Snapshot:
        if id not in found.snapshots:
            raise NotFound(
                f"snapshot {id.hex()} is not in this lineage",
                code="no_revision",
                hint="ask for a file written where the origin of the fork is known",
            )
        return found.snapshots[id]

    return _between(load, ancestor, descendant)


def _between(load: Load, ancestor: bytes, descendant: bytes) -> Ancestry:
    found = ancestry.path_between(load, ancestor, descendant)
    path = [here.hex() for here in found or ()]
    return Ancestry(found is not None, ancestor.hex(), descendant.hex(), path)


def _named(found: exported.Exported, text: str) -> bytes:
    if len(text) < FEWEST_DIGITS or set(text) - set("0123456789abcdef"):
        raise InvalidInput(
            f"not an id: {printable(text, 80)!r}",
            code="bad_revision",
            hint="a lineage by itself knows only ids, of six or more hex digits",
        )
    fitting = [id for id in found.snapshots if id.hex().startswith(text)]
    if len(fitting) > 1:
        raise InvalidInput(f"{text} is the start of more than one id", code="ambiguous_id")
    if not fitting:
        raise NotFound(f"no snapshot {text} in this lineage", code="no_revision")
    return fitting[0]
