"""What the store in memory knows about snapshots beside their content: signatures, merges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .memory import State


class MemoryLineageReader:
    """The part of `Reader` that deals with signatures and merges."""

    _state: State

    def signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        """See `Reader.signatures`."""
        return [row[1:] for row in self.all_signatures() if row[0] == snapshot]

    def all_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """See `Reader.all_signatures`."""
        for (snapshot, key), signature in sorted(self._state.signatures.items()):
            yield snapshot, key, signature

    def merges(self) -> list[tuple[bytes, int]]:
        """See `Reader.merges`."""
        return list(self._state.merges.items())


class MemoryLineageWriter:
    """The part of `Transaction` that deals with signatures and merges."""

    _state: State

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        """See `Transaction.put_signature`."""
        self._state.signatures.setdefault((snapshot, key), signature)

    def note_merge(self, snapshot: bytes, generation: int) -> None:
        """See `Transaction.note_merge`."""
        self._state.merges[snapshot] = generation
