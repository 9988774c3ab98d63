"""Decode objects and verify that they hash to their ids.

A checksum that everybody can compute proves nothing against somebody who writes to the
store; the id does, and what leads to it is an id again, up to the head.
"""

from __future__ import annotations

from ..errors import hash_mismatch_error
from . import bundle as bundles
from . import snapshot as snapshots
from .bundle import Bundle
from .snapshot import Snapshot


def decode_verified_bundle(bundle_id: bytes, data: bytes) -> Bundle:
    """Return the bundle that `data` encodes.

    Raises `FormatError` as `bundle.decode`, and `StoreError` (`corrupt_object`) if it has
    another id.
    """
    found = bundles.decode_bundle(data)
    if bundles.bundle_id(found) != bundle_id:
        raise hash_mismatch_error(bundle_id)
    return found


def decode_verified_snapshot(snapshot_id: bytes, data: bytes) -> Snapshot:
    """Return the snapshot that `data` encodes. Raises as `bundle`."""
    if snapshots.snapshot_id(data) != snapshot_id:
        raise hash_mismatch_error(snapshot_id)
    return snapshots.decode_snapshot(data)
