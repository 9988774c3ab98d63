"""What the store in memory knows of snapshots beside their content, and what is taken out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import NotFound
from . import facts, redactions
from .blobs import absent
from .lineage import Named

if TYPE_CHECKING:
    from .memory_state import State


class MemoryLineageReader:
    """The part of `Reader` that deals with snapshots as such, and with what is gone."""

    _state: State
    _made: Mapping[bytes, bytes] = {}

    def signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        """See `Reader.signatures`."""
        return [row[1:] for row in self.all_signatures() if row[0] == snapshot]

    def all_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """See `Reader.all_signatures`."""
        for (snapshot, key), signature in sorted(self._state.signatures.items()):
            yield snapshot, key, signature

    def redacted(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """See `Reader.redacted`."""
        known = self._state.redactions
        rows = {blob: known[blob] for blob in blobs if blob in known}
        refs = facts.refs(self._state.facts).values()
        return redactions.counted(self._data, refs, rows, self._made)

    def all_redacted(self) -> dict[bytes, bytes]:
        """See `Reader.all_redacted`."""
        return dict(sorted(self._state.redactions.items()))

    def has_traces(self) -> bool:
        """See `Reader.has_traces`; there are no pages."""
        return False

    def epoch(self) -> int:
        """See `Reader.epoch`."""
        return int.from_bytes(self._state.facts.get(facts.EPOCH, b""), "big")

    def lost(self, blob: bytes) -> NotFound:
        """Return the error for a blob that is not here."""
        snapshot = self.redacted([blob]).get(blob)
        if snapshot is None:
            return absent(blob)
        return redactions.gone(blob, snapshot, self._data(snapshot))

    def _data(self, snapshot: bytes) -> bytes | None:
        return self._state.objects.get(snapshot, (0, None))[1]


class MemoryLineageWriter(MemoryLineageReader):
    """The part of `Transaction` that deals with snapshots as such, and with what is to go."""

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        """See `Transaction.put_signature`."""
        self._state.signatures[snapshot, key] = signature

    def redact(self, blob: bytes, snapshot: bytes, named: Named) -> None:
        """See `Transaction.redact`; blobs are whole, so no other one is concerned."""
        self._state.blobs.pop(blob, None)
        self._state.redactions[blob] = snapshot
        self._made = {**self._made, blob: snapshot}
        self._state.facts[facts.EPOCH] = facts.raised(self._state.facts, facts.EPOCH)

    def sweep(self, kept: set[bytes], most: int) -> int:
        """See `Transaction.sweep`."""
        state = self._state
        state.facts[facts.EPOCH] = facts.raised(state.facts, facts.EPOCH)
        gone = [id for id in (*reversed(state.objects), *state.blobs) if id not in kept][:most]
        for id in gone:
            state.objects.pop(id, None)
            state.blobs.pop(id, None)
        here = state.objects
        state.signatures = {key: row for key, row in state.signatures.items() if key[0] in here}
        return len(gone)

    def refuse_redacted(self, blobs: Iterable[bytes]) -> None:
        """Raise `Conflict` (`redacted`) if one of `blobs` was redacted."""
        for blob, snapshot in self.redacted(list(blobs)).items():
            raise redactions.unwelcome(blob, snapshot, self._data(snapshot))
