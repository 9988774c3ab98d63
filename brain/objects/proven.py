"""Objects as they are read from where others may have written: decoded, and hashed to their ids.

A checksum that everybody can compute proves nothing against somebody who writes to the
store; the id does, and what leads to it is an id again, up to the head.
"""

from __future__ import annotations

from ..errors import altered
from . import bundle as bundles
from . import snapshot as snapshots
from .bundle import Bundle
from .snapshot import Snapshot


def bundle(bundle_id: bytes, data: bytes) -> Bundle:
    """Return the bundle that `data` encodes.

    Raises `FormatError` as `bundle.decode`, and `StoreError` (`corrupt_object`) if it has
    another id.
    """
    found = bundles.decode(data)
    if bundles.bundle_id(found) != bundle_id:
        raise altered(bundle_id)
    return found


def snapshot(snapshot_id: bytes, data: bytes) -> Snapshot:
    """Return the snapshot that `data` encodes. Raises as `bundle`."""
    if snapshots.snapshot_id(data) != snapshot_id:
        raise altered(snapshot_id)
    return snapshots.decode(data)
