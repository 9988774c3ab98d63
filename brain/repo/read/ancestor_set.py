"""The ancestors of a snapshot, as a set that is tested lazily."""

from __future__ import annotations

from functools import cached_property

from ...errors import NotFound
from ...objects import lineage
from ..open.session import Session
from . import lineage_cache


class AncestorSet:
    """The ancestors of `head` and itself, as a container of ids.

    For an ancestor along first parents a test reads O(log n) snapshots; for others it reads
    the merges, which are fewer than the snapshots.
    """

    def __init__(self, session: Session, head: bytes) -> None:
        self._session = session
        self._head = head
        session.note_resolved(head)

    def __contains__(self, snapshot_id: bytes) -> bool:
        load = self._session.load_snapshot
        try:
            depth = load(snapshot_id).jump.depth
        except NotFound:  # the cache also has what copies of this brain recorded
            return False
        if lineage.find_ancestor_at(load, self._head, depth) == snapshot_id:
            return True
        if not self._merges:
            return False
        from ...objects import ancestry

        return ancestry.find_merge_bases(load, self._merges, snapshot_id, self._head) == [
            snapshot_id
        ]

    @cached_property
    def _merges(self) -> list[tuple[bytes, int]]:
        return lineage_cache.list_merges(self._session)
