"""Which snapshots belong to the lineage of one."""

from __future__ import annotations

from functools import cached_property

from ..objects import lineage
from ..session import Session
from . import lineage_cache


class Within:
    """The ancestors of `head` and itself, as a container of ids.

    Along first parents the answer takes O(log n) snapshots; else the merges of the
    store are gone down, which are few beside the snapshots.
    """

    def __init__(self, session: Session, head: bytes) -> None:
        self._session = session
        self._head = head
        session.ask_about(head)

    def __contains__(self, snapshot_id: bytes) -> bool:
        load = self._session.load
        depth = load(snapshot_id).jump.depth
        if lineage.ancestor_at(load, self._head, depth) == snapshot_id:
            return True
        if not self._merges:
            return False
        from ..objects import ancestry

        return ancestry.merge_bases(load, self._merges, snapshot_id, self._head) == [snapshot_id]

    @cached_property
    def _merges(self) -> list[tuple[bytes, int]]:
        return lineage_cache.merges(self._session)
