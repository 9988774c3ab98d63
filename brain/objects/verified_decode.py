"""Decode objects and verify that they hash to their ids.

Any program that writes to the store can compute its checksums. Only ids protect objects: each
is named by another object, up to the head.
"""

from __future__ import annotations

from ..errors import hash_mismatch_error
from . import bundle as bundles
from . import snapshot as snapshots
from .bundle import Bundle
from .snapshot import Snapshot


def decode_verified_bundle(bundle_id: bytes, data: bytes) -> Bundle:
    """Return the bundle that `data` encodes.

    Raises `FormatError` as `decode_bundle`, and `StoreError` (`corrupt_object`) if it has
    another id.
    """
    found = bundles.decode_bundle(data)
    if bundles.bundle_id(found) != bundle_id:
        raise hash_mismatch_error(bundle_id)
    return found


def decode_verified_snapshot(snapshot_id: bytes, data: bytes) -> Snapshot:
    """Return the snapshot that `data` encodes. Raises `StoreError`, and as `decode_snapshot`."""
    if snapshots.snapshot_id(data) != snapshot_id:
        raise hash_mismatch_error(snapshot_id)
    return snapshots.decode_snapshot(data)
