"""Check whether a snapshot descends from another, also across forks, or by an exported lineage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...digest import is_hex
from ...errors import InvalidInput, NotFound, printable_text
from ...objects import ancestry, lineage_file
from ...objects.lineage import LoadSnapshot
from ...objects.snapshot import Snapshot
from ...results import Ancestry
from ..open.session import Session
from ..read.revisions import MIN_ID_DIGITS, resolve_revision


def find_descent(session: Session, old: str, new: str) -> Ancestry:
    """Tell whether the revision `new` descends from `old`, and by which path."""
    return _build_ancestry(
        session.load_snapshot, resolve_revision(session, old), resolve_revision(session, new)
    )


def export_lineage(session: Session, revision: str = "@") -> Iterator[bytes]:
    """Yield the lineage of a revision in the format of `lineage_file`."""
    return lineage_file.write_lineage(session.load_snapshot, resolve_revision(session, revision))


def find_descent_in_file(source: BinaryIO, old: str, new: str | None = None) -> Ancestry:
    """Tell the same by an exported lineage alone; `new` defaults to its head.

    Both are ids, or unique prefixes of at least six digits. Raises `FormatError`,
    `InvalidInput` (`bad_revision`, `ambiguous_id`) or `NotFound` (`no_revision`).
    """
    exported = lineage_file.read_lineage(source)
    ancestor = _resolve_exported_id(exported, old)
    descendant = exported.head if new is None else _resolve_exported_id(exported, new)

    def load(id: bytes) -> Snapshot:
        if id not in exported.snapshots:
            raise NotFound(
                f"snapshot {id.hex()} is not in this lineage",
                code="no_revision",
                hint="export the lineage from a brain that has the origin of the fork",
            )
        return exported.snapshots[id]

    return _build_ancestry(load, ancestor, descendant)


def _build_ancestry(load: LoadSnapshot, ancestor: bytes, descendant: bytes) -> Ancestry:
    path = ancestry.find_descent_path(load, ancestor, descendant)
    ids = [snapshot_id.hex() for snapshot_id in path or ()]
    return Ancestry(path is not None, ancestor.hex(), descendant.hex(), ids)


def _resolve_exported_id(exported: lineage_file.ExportedLineage, text: str) -> bytes:
    if len(text) < MIN_ID_DIGITS or not is_hex(text):
        raise InvalidInput(
            f"{printable_text(text, 80)!r} is not the id of a snapshot",
            code="bad_revision",
            hint="an exported lineage has only ids: give six or more hex digits",
        )
    matching_ids = [id for id in exported.snapshots if id.hex().startswith(text)]
    if len(matching_ids) > 1:
        raise InvalidInput(
            f"{text} is the start of more than one id", code="ambiguous_id", hint="give more digits"
        )
    if not matching_ids:
        raise NotFound(
            f"there is no snapshot {text} in this lineage",
            code="no_revision",
            hint="check the id, or export the lineage again from the brain that has it",
        )
    return matching_ids[0]
