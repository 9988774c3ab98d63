"""Record manual edits before an operation would overwrite them."""

from __future__ import annotations

from collections.abc import Mapping

from ...objects import operation
from ...objects.tree_entry import TreeEntry
from .transaction import WriteTransaction


def record_manual_edits(txn: WriteTransaction, edits: Mapping[str, TreeEntry | None]) -> None:
    """Record what somebody changed by hand, so that it is not overwritten unseen."""
    if edits:
        txn.record_external(edits, operation.snapshot_operation(), "Record changes made by hand")
        txn.files_base = txn.head
