"""Where the trust file of a snapshot is: `trust.json` among the files at the top."""

from __future__ import annotations

from collections.abc import Callable

from ..digest import blob_id
from ..errors import StoreError
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import Bundle
from ..objects.entry import LINK
from ..objects.nodes import Nodes
from ..objects.snapshot import Snapshot
from .policy import MAX_BYTES, PATH, bad

Locate = Callable[[Snapshot], bytes]
"""Returns the blob id of the trust file in the bundle of a snapshot, b"" if there is none."""

_KEPT = 4096


def locator(nodes: Nodes, bundle: Callable[[bytes], Bundle]) -> Locate:
    """Return what looks trust files up; `bundle` returns a bundle by its id.

    Snapshots that share the files at the top share the answer. The answer raises
    `InvalidInput` (`bad_trust`) if trust.json is a link or too large, and what `nodes` and
    `bundle` raise.
    """
    known: dict[bytes, bytes] = {}

    def locate(snapshot: Snapshot) -> bytes:
        files = bundle(snapshot.bundle)
        top = files.get(paths.TOP)
        if top is None:
            return b""
        found = known.get(top.node)
        if found is None:
            entry = bundles.get(nodes, files, PATH)
            if entry and (entry.kind == LINK or entry.size > MAX_BYTES):
                raise bad("it is a link" if entry.kind == LINK else "it is too large")
            if len(known) >= _KEPT:
                known.clear()
            found = known[top.node] = entry.blob if entry else b""
        return found

    return locate


def content(read_blob: Callable[[bytes], bytes], blob: bytes) -> bytes:
    """Return the content of a trust file by its id, whatever the store holds under that.

    Raises `StoreError` (`corrupt_object`) if it has another id, and what `read_blob` raises.
    """
    text = read_blob(blob)
    if blob_id(text) != blob:
        raise StoreError(f"blob {blob.hex()}: the content is another one", code="corrupt_object")
    return text
