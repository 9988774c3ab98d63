"""The table `redactions`: blobs whose content was destroyed, and the snapshot that records it.

The rows are never removed, so that the same content is refused later. They are an index and
prove nothing: a row is valid only if its snapshot hashes to its id and redacts that blob, and
a ref leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

from ..errors import BrainError, Conflict, NotFound, corrupt_object_error, printable_text
from ..objects import lineage, operation
from ..objects import snapshot as snapshots
from ..objects.snapshot import Snapshot

_SNAPSHOT_CACHE_SIZE = 4096
"""Decoded snapshots that are cached while rows are validated."""

ReadSnapshotData = Callable[[bytes], bytes | None]
"""Returns the bytes of a snapshot, None if it is missing."""


def select_valid_redactions(
    read_snapshot_data: ReadSnapshotData,
    refs: Collection[bytes],
    rows: Mapping[bytes, bytes],
    new_redactions: Mapping[bytes, bytes],
) -> dict[bytes, bytes]:
    """Return the valid rows, from blob to snapshot; `new_redactions` need no ref."""

    @lru_cache(_SNAPSHOT_CACHE_SIZE)
    def load(snapshot_id: bytes) -> Snapshot:
        data = read_snapshot_data(snapshot_id)
        if data is None or snapshots.snapshot_id(data) != snapshot_id:
            raise corrupt_object_error(snapshot_id)
        return snapshots.decode_snapshot(data)

    def redacts(snapshot_id: bytes, blob: bytes) -> bool:
        try:
            return operation.redacted_blob(load(snapshot_id).operation) == blob
        except BrainError:
            return False

    claimed = {blob: id for blob, id in rows.items() if redacts(id, blob)}
    unchecked = {id for blob, id in claimed.items() if new_redactions.get(blob) != id}
    reachable = lineage.filter_ancestors(load, refs, unchecked) if unchecked else set()
    return {
        blob: id
        for blob, id in claimed.items()
        if id in reachable or new_redactions.get(blob) == id
    }


def redacted_content_error(blob: bytes, snapshot: bytes, data: bytes | None) -> NotFound:
    """Return the error for reading a redacted blob; `data` is the snapshot, if stored."""
    return NotFound(
        f"the content of blob {blob.hex()} {_describe_redaction(snapshot, data)}",
        code="redacted",
        hint="it was destroyed; only its id is left",
    )


def redacted_conflict_error(blob: bytes, snapshot: bytes, data: bytes | None) -> Conflict:
    """Return the error for storing a redacted blob; `data` is the snapshot, if stored."""
    return Conflict(
        f"the content of blob {blob.hex()} {_describe_redaction(snapshot, data)},"
        " and is not stored again",
        code="redacted",
        hint="remove the redacted content from the file, or name the file in .brainignore",
    )


def _describe_redaction(snapshot_id: bytes, data: bytes | None) -> str:
    if data is None:
        return f"was redacted by snapshot {snapshot_id.hex()[:12]}"
    from datetime import UTC, datetime

    snapshot = snapshots.decode_snapshot(data)
    day = datetime.fromtimestamp(snapshot.time / 1000, UTC).date().isoformat()
    by = f" by {printable_text(snapshot.author, 80)}" if snapshot.author else ""
    why = f": {printable_text(snapshot.operation[3])}" if snapshot.operation[0] == "redact" else ""
    return f"was redacted{by} on {day}, snapshot {snapshot_id.hex()[:12]}{why}"
