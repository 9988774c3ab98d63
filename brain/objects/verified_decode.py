"""Decode objects and verify that they hash to their ids.

Checksums do not protect against other programs that write to the store. Only ids do: each
object is named by another one, up to the head.
"""

from __future__ import annotations

from ..errors import FormatError, corrupt_object_error, malformed_object_error
from . import bundle as bundles
from . import snapshot as snapshots
from .bundle import Bundle
from .snapshot import Snapshot


def decode_verified_bundle(bundle_id: bytes, data: bytes) -> Bundle:
    """Return the bundle that `data` encodes.

    Raises `FormatError` as `decode_bundle`, and `StoreError` (`corrupt_object`) if it has
    another id.
    """
    try:
        bundle = bundles.decode_bundle(data)
    except FormatError as error:
        raise malformed_object_error("bundle", bundle_id, error) from error
    if bundles.bundle_id(bundle) != bundle_id:
        raise corrupt_object_error(bundle_id)
    return bundle


def decode_verified_snapshot(snapshot_id: bytes, data: bytes) -> Snapshot:
    """Return the snapshot that `data` encodes. Raises `StoreError`, and as `decode_snapshot`."""
    if snapshots.snapshot_id(data) != snapshot_id:
        raise corrupt_object_error(snapshot_id)
    try:
        return snapshots.decode_snapshot(data)
    except FormatError as error:
        raise malformed_object_error("snapshot", snapshot_id, error) from error
