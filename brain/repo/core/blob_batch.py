"""A batch of blobs, with the skill cards among them, that are stored together."""

from __future__ import annotations

from ...digest import blob_id
from ...store.rows import StoreTransaction
from .. import derive, lineage_cache
from ..open.session import Session

_MAX_BATCH_BYTES = 1 << 20


class BlobBatch:
    """Blobs and skill cards to store; each is a row of id and data."""

    def __init__(self, session: Session) -> None:
        self.blobs: list[tuple[bytes, bytes]] = []
        self.cards: list[tuple[bytes, bytes]] = []
        self._session = session
        self._size = 0

    def add(self, path: str, content: bytes) -> bytes:
        """Add the content of the file at the full `path`; return its blob id."""
        blob = blob_id(content)
        self.blobs.append((blob, content))
        self._size += len(content)
        if derive.may_be_skill(path):
            self.cards.append(lineage_cache.build_card_row(self._session, path, blob, content))
        return blob

    def is_full(self) -> bool:
        """Tell whether the batch should be stored before more is added."""
        return self._size >= _MAX_BATCH_BYTES

    def store(self, tx: StoreTransaction) -> None:
        """Put the blobs into the store and the cards into the cache, and start anew."""
        tx.put_blobs(self.blobs)
        lineage_cache.stage_cards(self._session, self.cards)
        self.blobs, self.cards, self._size = [], [], 0
