"""Find the trust file of a snapshot."""

from __future__ import annotations

from collections.abc import Callable

from ..digest import blob_id
from ..errors import corrupt_object_error
from ..objects import paths
from ..objects.bundle import State
from ..objects.snapshot import Snapshot
from ..objects.tree_node import LINK
from . import POLICY_PATH
from .policy import MAX_POLICY_BYTES, policy_error

LocatePolicy = Callable[[Snapshot], bytes]
"""Returns the blob id of the trust file in the bundle of a snapshot, b"" if there is none."""

_MAX_CACHED_LOOKUPS = 4096


def policy_locator(load_state: Callable[[bytes], State]) -> LocatePolicy:
    """Return a function that finds trust files; `load_state` returns a state by its bundle.

    It caches by the tree of top-level files. It raises `InvalidInput` (`bad_trust`) if
    trust.json is a link or too large, and what `load_state` and its nodes raise.
    """
    blob_by_node: dict[bytes, bytes] = {}

    def locate(snapshot: Snapshot) -> bytes:
        files = load_state(snapshot.bundle)
        top = files.sections.get(paths.TOP_SECTION)
        if top is None:
            return b""
        found = blob_by_node.get(top.node)
        if found is None:
            entry = files.get(POLICY_PATH)
            if entry and (entry.kind == LINK or entry.size > MAX_POLICY_BYTES):
                raise policy_error("it is a link" if entry.kind == LINK else "it is too large")
            if len(blob_by_node) >= _MAX_CACHED_LOOKUPS:
                blob_by_node.clear()
            found = blob_by_node[top.node] = entry.blob if entry else b""
        return found

    return locate


def read_policy_blob(read_blob: Callable[[bytes], bytes], blob: bytes) -> bytes:
    """Return the content of a trust file, checked against its id.

    Raises `StoreError` (`corrupt_object`) if it does not match, and what `read_blob` raises.
    """
    text = read_blob(blob)
    if blob_id(text) != blob:
        raise corrupt_object_error(blob)
    return text
