"""Check whether one snapshot descends from another, also across forks and from an exported lineage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...errors import InvalidInput, NotFound, printable_text
from ...objects import ancestry, lineage_file
from ...objects.lineage import LoadSnapshot
from ...objects.snapshot import Snapshot
from ...results import Ancestry
from ..open.session import Session
from ..read.revisions import MIN_ID_DIGITS, resolve_revision


def find_descent(session: Session, old: str, new: str) -> Ancestry:
    """Tell whether the revision `new` descends from `old`; see `results.Ancestry`."""
    return _build_ancestry(
        session.load_snapshot, resolve_revision(session, old), resolve_revision(session, new)
    )


def export_lineage(session: Session, revision: str = "@") -> Iterator[bytes]:
    """Yield the lineage of a revision as a file; see `objects.exported`."""
    return lineage_file.write_lineage(session.load_snapshot, resolve_revision(session, revision))


def find_descent_in_file(source: BinaryIO, old: str, new: str | None = None) -> Ancestry:
    """Tell the same from the file of a lineage alone; `new` is by default what it is of.

    Both are ids or unique prefixes of six digits or more. Raises `FormatError`,
    `InvalidInput` (`bad_revision`, `ambiguous_id`) or `NotFound` (`no_revision`).
    """
    found = lineage_file.read_lineage(source)
    ancestor = _resolve_exported_id(found, old)
    descendant = found.head if new is None else _resolve_exported_id(found, new)

    def load(id: bytes) -> Snapshot:
        if id not in found.snapshots:
            raise NotFound(
                f"snapshot {id.hex()} is not in this lineage",
                code="no_revision",
                hint="ask for a file written where the origin of the fork is known",
            )
        return found.snapshots[id]

    return _build_ancestry(load, ancestor, descendant)


def _build_ancestry(load: LoadSnapshot, ancestor: bytes, descendant: bytes) -> Ancestry:
    found = ancestry.find_descent_path(load, ancestor, descendant)
    path = [here.hex() for here in found or ()]
    return Ancestry(found is not None, ancestor.hex(), descendant.hex(), path)


def _resolve_exported_id(found: lineage_file.ExportedLineage, text: str) -> bytes:
    if len(text) < MIN_ID_DIGITS or set(text) - set("0123456789abcdef"):
        raise InvalidInput(
            f"not an id: {printable_text(text, 80)!r}",
            code="bad_revision",
            hint="a lineage by itself knows only ids, of six or more hex digits",
        )
    matching_ids = [id for id in found.snapshots if id.hex().startswith(text)]
    if len(matching_ids) > 1:
        raise InvalidInput(f"{text} is the start of more than one id", code="ambiguous_id")
    if not matching_ids:
        raise NotFound(f"no snapshot {text} in this lineage", code="no_revision")
    return matching_ids[0]
