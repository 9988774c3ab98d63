"""What the store in memory knows of snapshots beside their content, and what is taken out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import NotFound
from . import redaction_table, ref_table
from .annotation_protocol import FindStandalone
from .blobs.blob_reader import missing_object_error

if TYPE_CHECKING:
    from .memory_state import MemoryState


class MemoryAnnotationReader:
    """The part of `Reader` that deals with snapshots as such, and with what is gone."""

    _state: MemoryState
    _new_redactions: Mapping[bytes, bytes] = {}

    def list_signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        """See `Reader.signatures`."""
        return [row[1:] for row in self.stream_signatures() if row[0] == snapshot]

    def stream_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """See `Reader.all_signatures`."""
        for (snapshot, key), signature in sorted(self._state.signatures.items()):
            yield snapshot, key, signature

    def find_redactions(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """See `Reader.redacted`."""
        known = self._state.redactions
        rows = {blob: known[blob] for blob in blobs if blob in known}
        refs = ref_table.select_refs(self._state.facts).values()
        return redaction_table.select_valid_redactions(
            self._read_snapshot_data, refs, rows, self._new_redactions
        )

    def list_redaction_rows(self) -> dict[bytes, bytes]:
        """See `Reader.all_redacted`."""
        return dict(sorted(self._state.redactions.items()))

    def needs_compaction(self) -> bool:
        """See `Reader.has_traces`; there are no pages."""
        return False

    def removal_epoch(self) -> int:
        """See `Reader.epoch`."""
        return int.from_bytes(self._state.facts.get(ref_table.EPOCH_FACT, b""), "big")

    def missing_blob_error(self, blob: bytes) -> NotFound:
        """Return the error for a blob that is not here."""
        snapshot = self.find_redactions([blob]).get(blob)
        if snapshot is None:
            return missing_object_error(blob)
        return redaction_table.redacted_content_error(
            blob, snapshot, self._read_snapshot_data(snapshot)
        )

    def _read_snapshot_data(self, snapshot: bytes) -> bytes | None:
        return self._state.objects.get(snapshot, (0, None))[1]


class MemoryAnnotationWriter(MemoryAnnotationReader):
    """The part of `Transaction` that deals with snapshots as such, and with what is to go."""

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        """See `Transaction.put_signature`."""
        self._state.signatures[snapshot, key] = signature

    def redact_blob(self, blob: bytes, snapshot: bytes, find_standalone: FindStandalone) -> None:
        """See `Transaction.redact`; blobs are whole, so no other one is concerned."""
        self._state.blobs.pop(blob, None)
        self._state.redactions[blob] = snapshot
        self._new_redactions = {**self._new_redactions, blob: snapshot}
        self._state.facts[ref_table.EPOCH_FACT] = ref_table.increment_counter(
            self._state.facts, ref_table.EPOCH_FACT
        )

    def sweep_objects(self, marked: set[bytes], max_count: int) -> int:
        """See `Transaction.sweep`."""
        state = self._state
        state.facts[ref_table.EPOCH_FACT] = ref_table.increment_counter(
            state.facts, ref_table.EPOCH_FACT
        )
        gone = [id for id in (*reversed(state.objects), *state.blobs) if id not in marked][
            :max_count
        ]
        for id in gone:
            state.objects.pop(id, None)
            state.blobs.pop(id, None)
        here = state.objects
        state.signatures = {key: row for key, row in state.signatures.items() if key[0] in here}
        return len(gone)

    def refuse_redacted(self, blobs: Iterable[bytes]) -> None:
        """Raise `Conflict` (`redacted`) if one of `blobs` was redacted."""
        for blob, snapshot in self.find_redactions(list(blobs)).items():
            raise redaction_table.redacted_conflict_error(
                blob, snapshot, self._read_snapshot_data(snapshot)
            )
