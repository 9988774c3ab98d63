"""What somebody changed by hand, recorded before it would be overwritten unseen."""

from __future__ import annotations

from collections.abc import Mapping

from ..objects import operation
from ..objects.entry import Entry
from .turn import Turn


def record_by_hand(mine: Turn, edits: Mapping[str, Entry | None]) -> None:
    """Record what somebody changed by hand, so that it is not overwritten unseen."""
    if edits:
        mine.take_in(edits, operation.snapshot(), "Record changes made by hand")
        mine.files_before = mine.head
