"""A lineage in one file: the snapshots without the content they refer to.

The file is the line "brain lineage 1", then each snapshot as four bytes of length, most
significant first, and its canonical bytes; each once, descendants before ancestors, across
forks. The first snapshot is the head. Ids follow from the bytes, so a reader who knows the id
of the head needs to trust nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from .. import limits
from ..digest import NO_DIGEST
from ..encoding import MAX_OBJECT_BYTES
from ..errors import RESTORE_HINT, FormatError, NotFound
from . import ancestry, lineage, operation
from . import snapshot as snapshots
from .lineage import LoadSnapshot
from .snapshot import Snapshot

LINEAGE_MAGIC = b"brain lineage 1\n"
_LENGTH_BYTES = 4
_EXPORT_HINT = "ask for the lineage again; `brain export-lineage` writes it"


class ExportedLineage(NamedTuple):
    """A lineage read from a file: its head, and all snapshots by id."""

    head: bytes
    snapshots: dict[bytes, Snapshot]


def write_lineage(load: LoadSnapshot, start: bytes) -> Iterator[bytes]:
    """Yield the file of the lineage of `start`, back through all forks with a stored origin.

    Raises what `load` raises.
    """
    yield LINEAGE_MAGIC
    while start:
        following = b""
        for _, snapshot in lineage.walk_ancestors(load, start):
            data = snapshots.encode_snapshot(snapshot)
            yield len(data).to_bytes(_LENGTH_BYTES, "big") + data
            if snapshot.is_genesis:
                following = operation.fork_origin(snapshot.operation)
        start = following if following and _can_load(load, following) else b""


def _can_load(load: LoadSnapshot, snapshot_id: bytes) -> bool:
    try:
        load(snapshot_id)
    except NotFound:
        return False
    return True


def read_lineage(source: BinaryIO) -> ExportedLineage:
    """Return the lineage in a file after checking that it is complete and consistent.

    Every parent is in the file; generations, jumps and the bases of merges are correct; each
    snapshot names its brain. Raises `FormatError` (`bad_lineage`, `incomplete_lineage`), and
    what decoding a snapshot raises.
    """
    if source.read(len(LINEAGE_MAGIC)) != LINEAGE_MAGIC:
        raise FormatError(
            "the file is not a lineage: its first line is not that of one",
            code="bad_lineage",
            hint=_EXPORT_HINT,
        )
    found: dict[bytes, Snapshot] = {}
    expected: set[bytes] = set()
    while length := source.read(_LENGTH_BYTES):
        if len(found) >= limits.MAX_SNAPSHOTS:
            raise FormatError(
                f"the lineage has more than {limits.MAX_SNAPSHOTS} snapshots",
                code="too_large",
                hint=_EXPORT_HINT,
            )
        data = source.read(min(int.from_bytes(length, "big"), MAX_OBJECT_BYTES + 1))
        if len(length) < _LENGTH_BYTES or len(data) != int.from_bytes(length, "big"):
            raise FormatError(
                f"the lineage is cut off in its snapshot {len(found) + 1}",
                code="bad_lineage",
                hint=_EXPORT_HINT,
            )
        here, snapshot = _decode_snapshot(data, len(found) + 1)
        _check_order(found, expected, here, snapshot)
        found[here] = snapshot
        expected.update(snapshot.parents)
        if snapshot.is_genesis:
            expected.add(operation.fork_origin(snapshot.operation))
    if not found:
        raise FormatError("the lineage holds no snapshot", code="bad_lineage", hint=_EXPORT_HINT)
    for here, snapshot in found.items():
        _check_parents(found, here, snapshot)
    for here, snapshot in sorted(found.items(), key=lambda item: item[1].generation):
        _check_against_ancestors(found, here, snapshot)
    _check_merge_bases(found)
    return ExportedLineage(next(iter(found)), found)


def _decode_snapshot(data: bytes, number: int) -> tuple[bytes, Snapshot]:
    try:
        return snapshots.snapshot_id(data), snapshots.decode_snapshot(data)
    except FormatError as error:
        raise FormatError(
            f"snapshot {number} of the lineage cannot be read: {error.message}",
            code=error.code,
            hint=_EXPORT_HINT if error.hint == RESTORE_HINT else error.hint,
        ) from error


def _check_order(
    found: dict[bytes, Snapshot], expected: set[bytes], here: bytes, snapshot: Snapshot
) -> None:
    """Check that a snapshot comes once, after a child or fork of it and before its parents."""
    if here in found:
        raise _lineage_error(here, "is twice in the file")
    if found and here not in expected:
        raise _lineage_error(here, "does not belong to the lineage of the first one")
    origin = operation.fork_origin(snapshot.operation) if snapshot.is_genesis else NO_DIGEST
    if any(above in found for above in (*snapshot.parents, origin)):
        raise _lineage_error(here, "comes after its parent or origin")


def _check_parents(found: dict[bytes, Snapshot], here: bytes, snapshot: Snapshot) -> None:
    for parent in snapshot.parents:
        if parent not in found:
            raise FormatError(
                f"the parent {parent.hex()} of the snapshot {here.hex()} is not in the lineage",
                code="incomplete_lineage",
                hint=_EXPORT_HINT,
            )
        if (found[parent].brain or parent) != snapshot.brain:
            raise _lineage_error(here, "is of another brain than its parent")
        if found[parent].generation >= snapshot.generation:
            raise _lineage_error(here, "is not after its parent")


def _check_against_ancestors(found: dict[bytes, Snapshot], here: bytes, snapshot: Snapshot) -> None:
    """Check a snapshot whose ancestors have been checked."""
    if snapshot.is_genesis:
        origin = operation.fork_origin(snapshot.operation)
        if origin in found and found[origin].bundle != snapshot.bundle:
            raise _lineage_error(here, "does not begin with the bundle of its origin")
        return
    parents = [found[parent] for parent in snapshot.parents]
    if snapshot.generation != lineage.next_generation(parents):
        raise _lineage_error(here, "has a wrong generation")
    if snapshot.jump != lineage.next_jump(found.__getitem__, snapshot.parents[0], parents[0]):
        raise _lineage_error(here, "has a wrong jump")


def _check_merge_bases(found: dict[bytes, Snapshot]) -> None:
    """Check that merges name the best common ancestors of their parents."""
    merges = ((id, found[id].generation) for id in found if len(found[id].parents) > 1)
    bases = ancestry.MergeBaseFinder(found.__getitem__, merges)
    for here, snapshot in found.items():
        kind, *fields = snapshot.operation
        if kind == "merge" and bases.find(*snapshot.parents) != list(fields[0]):
            raise _lineage_error(here, "merges over other bases than its parents have")


def _lineage_error(here: bytes, what: str) -> FormatError:
    return FormatError(
        f"snapshot {here.hex()} {what}",
        code="bad_lineage",
        hint=_EXPORT_HINT,
    )
