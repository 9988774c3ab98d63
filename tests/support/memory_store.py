"""A store in memory: the simplest implementation of the store protocol, to test against.

It keeps everything unpacked. A transaction works on a copy of the state that replaces
the state at commit, so no reader sees half a transaction. What each method promises is
said in `brain.store.protocol`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from types import TracebackType
from typing import Self

from blake3 import blake3

from brain.digest import NO_DIGEST, blob_id
from brain.errors import FormatError, Locked, NotFound, StoreError
from brain.store import operation_log, redaction_table, ref_table
from brain.store.blobs.blob_reader import missing_object_error
from brain.store.blobs.large_blob_writer import HashingReader, read_to_end
from brain.store.protocol import (
    LARGE_BLOB_BYTES,
    BlobCheckResult,
    BlobPredicate,
    BlobSource,
    ExpectedSize,
    FindStandalone,
    ObjectKind,
    ObjectRange,
    OperationRow,
    PendingWrite,
    StoredObject,
    TransactionContext,
    accept_claimed_size,
)


class MemoryState:
    """Everything the store holds; the values are immutable."""

    def __init__(self) -> None:
        self.objects: dict[bytes, tuple[int, bytes]] = {}
        self.blobs: dict[bytes, bytes] = {}
        self.facts: dict[str, bytes] = {}
        self.operations: tuple[OperationRow, ...] = ()
        self.signatures: dict[tuple[bytes, bytes], bytes] = {}
        self.pending: dict[str, PendingWrite] = {}
        self.redactions: dict[bytes, bytes] = {}

    def copy(self) -> MemoryState:
        copy = MemoryState()
        for name, value in vars(self).items():
            setattr(copy, name, value if isinstance(value, tuple) else dict(value))
        return copy


class MemoryReader:
    """Reads a `MemoryState`: a `StoreReader`."""

    _new_redactions: Mapping[bytes, bytes] = {}

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def read_object(self, kind: int, id: bytes) -> bytes:
        if not self.has_object(id):
            raise missing_object_error(id)
        stored_kind, data = self._state.objects.get(id, (ObjectKind.BLOB, b""))
        if stored_kind != kind or kind == ObjectKind.BLOB:
            raise FormatError(f"object {id.hex()} is of another kind", code="wrong_type")
        return data

    def has_object(self, id: bytes) -> bool:
        return id in self._state.objects or id in self._state.blobs

    def find_missing(self, ids: Iterable[bytes]) -> set[bytes]:
        return {id for id in ids if not self.has_object(id)}

    def find_snapshots(self, prefix: str) -> list[tuple[int, bytes]]:
        objects = sorted(self._state.objects.items())
        found = [(kind, id) for id, (kind, _) in objects if id.hex().startswith(prefix or "-")]
        return [row for row in found if row[0] == ObjectKind.SNAPSHOT][:2]

    def stream_object_ids(self) -> Iterator[tuple[int, bytes]]:
        for id, (kind, _) in self._state.objects.items():
            yield kind, id
        for id in self._state.blobs:
            yield ObjectKind.BLOB, id

    def count_objects(self) -> int:
        return len(self._state.objects) + len(self._state.blobs)

    def stream_objects(self, kind: int) -> Iterator[tuple[bytes, bytes]]:
        for id, (stored_kind, data) in self._state.objects.items():
            if stored_kind == kind:
                yield id, data

    def split_objects(self, size: int, max_ranges: int) -> list[ObjectRange]:
        last = len(self._state.objects)
        step = max(size, -(-last // max_ranges))
        return [(start, min(start + step - 1, last)) for start in range(1, last + 1, step)]

    def read_object_range(self, object_range: ObjectRange) -> Iterator[StoredObject]:
        for id, (kind, data) in islice(
            self._state.objects.items(), object_range[0] - 1, object_range[1]
        ):
            yield kind, id, data

    @contextmanager
    def reopen_for_fork(self) -> Iterator[Self]:
        yield self  # a forked child has its own copy of the memory

    def blob_size(self, id: bytes) -> int:
        return len(self.read_blob(id))

    def read_blob(self, id: bytes, size: int | None = None) -> bytes:
        content = self._state.blobs.get(id)
        if content is None:
            raise self.missing_blob_error(id)
        return content

    def read_small_blobs(self, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        for id in dict.fromkeys(ids):
            content = self.read_blob(id)
            if len(content) < LARGE_BLOB_BYTES:
                yield id, content

    def stream_blob(self, id: bytes, size: int | None = None) -> Iterator[bytes]:
        content = self.read_blob(id)
        for start in range(0, len(content) or 1, LARGE_BLOB_BYTES):
            yield content[start : start + LARGE_BLOB_BYTES]

    def check_chunk_lists(self) -> BlobCheckResult:
        return BlobCheckResult([], [], [])

    @contextmanager
    def check_blobs(
        self, predicate: BlobPredicate, expected: ExpectedSize = accept_claimed_size
    ) -> Iterator[Iterator[BlobCheckResult]]:
        blobs = self._state.blobs.items()
        sizes = [(id, len(content)) for id, content in blobs if blob_id(content) == id]
        sound = {id for id, _ in sizes}
        faults = [(id, "its content is damaged") for id, _ in blobs if id not in sound]
        named = [id for id, content in blobs if id in sound and predicate(id, content)]
        yield iter([BlobCheckResult(sizes, faults, named)])

    def read_ref(self, name: str) -> bytes | None:
        return self._state.facts.get(ref_table.REF_PREFIX + name)

    def list_refs(self) -> dict[str, bytes]:
        return ref_table.select_refs(self._state.facts)

    def read_meta(self, key: str) -> bytes | None:
        return self._state.facts.get(ref_table.META_PREFIX + key)

    def operation_count(self) -> int:
        return len(self._state.operations)

    def read_operation(self, number: int) -> OperationRow:
        if not 1 <= number <= self.operation_count():
            raise NotFound(f"there is no operation {number}", code="missing_operation")
        return self._state.operations[number - 1]

    def stream_operations(self) -> Iterator[OperationRow]:
        return reversed(self._state.operations)

    def list_pending_writes(self) -> list[PendingWrite]:
        return sorted(self._state.pending.values())

    def inspect_pending_writes(self) -> tuple[list[PendingWrite], list[str]]:
        return self.list_pending_writes(), []

    def check_stray_rows(self) -> list[str]:
        return []

    def check_integrity(self) -> list[str]:
        return []

    def size_on_disk(self) -> int:
        return 0

    def close(self) -> None:
        pass

    def list_signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        return [row[1:] for row in self.stream_signatures() if row[0] == snapshot]

    def stream_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        for (snapshot, key), signature in sorted(self._state.signatures.items()):
            yield snapshot, key, signature

    def find_redactions(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        known = self._state.redactions
        rows = {blob: known[blob] for blob in blobs if blob in known}
        refs = ref_table.select_refs(self._state.facts).values()
        return redaction_table.select_valid_redactions(
            self._read_snapshot_data, refs, rows, self._new_redactions
        )

    def list_redaction_rows(self) -> dict[bytes, bytes]:
        return dict(sorted(self._state.redactions.items()))

    def needs_compaction(self) -> bool:
        return False

    def removal_epoch(self) -> int:
        return int.from_bytes(self._state.facts.get(ref_table.EPOCH_FACT, b""), "big")

    def missing_blob_error(self, blob: bytes) -> NotFound:
        """Return the error for a blob that is missing or redacted."""
        snapshot = self.find_redactions([blob]).get(blob)
        if snapshot is None:
            return missing_object_error(blob)
        return redaction_table.redacted_content_error(
            blob, snapshot, self._read_snapshot_data(snapshot)
        )

    def _read_snapshot_data(self, snapshot: bytes) -> bytes | None:
        return self._state.objects.get(snapshot, (0, None))[1]


class MemoryTransaction(MemoryReader):
    """A change in progress: a `StoreTransaction`."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(MemoryState())
        self._store = store

    def __enter__(self) -> Self:
        self._state = self._store.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store.end(self._state if error is None else None)

    def put_object(self, kind: int, id: bytes, data: bytes) -> None:
        self._state.objects.setdefault(id, (kind, data))

    def put_blob(self, content: bytes) -> bytes:
        id = blob_id(content)
        self.put_blobs([(id, content)])
        return id

    def put_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        self.refuse_redacted(id for id, _ in batch)
        self._state.blobs.update(batch)

    def get_packing(self, samples: list[bytes]) -> None:
        pass

    def put_blob_stream(self, source: BlobSource, size: int, base: bytes | None) -> bytes:
        return self.put_blob(read_to_end(HashingReader(source, size, blake3()), size))

    def update_ref(self, name: str, old: bytes | None, new: bytes | None) -> None:
        ref_table.compare_and_swap_ref(self._state.facts, name, old, new)

    def write_meta(self, key: str, value: bytes) -> None:
        self._state.facts[ref_table.META_PREFIX + key] = value

    def append_operation(self, data: bytes) -> bytes:
        log = self._state.operations
        id = operation_log.chain_operation_id(log[-1].id if log else NO_DIGEST, data)
        self._state.operations = (*log, OperationRow(len(log) + 1, id, data))
        return id

    def add_pending_writes(self, rows: Iterable[PendingWrite]) -> None:
        rows = list(rows)
        for blob in self.find_redactions([row.blob for row in rows]):
            raise self.missing_blob_error(blob)
        self._state.pending.update((row.path, row) for row in rows)

    def remove_pending_writes(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._state.pending.pop(path, None)

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        self._state.signatures[snapshot, key] = signature

    def redact_blob(self, blob: bytes, snapshot: bytes, find_standalone: FindStandalone) -> None:
        self._state.blobs.pop(blob, None)
        self._state.redactions[blob] = snapshot
        self._new_redactions = {**self._new_redactions, blob: snapshot}
        ref_table.increment_counter(self._state.facts, ref_table.EPOCH_FACT)

    def sweep_objects(self, marked: set[bytes], max_count: int) -> int:
        state = self._state
        ref_table.increment_counter(state.facts, ref_table.EPOCH_FACT)
        removed = [id for id in (*reversed(state.objects), *state.blobs) if id not in marked][
            :max_count
        ]
        for id in removed:
            state.objects.pop(id, None)
            state.blobs.pop(id, None)
        state.signatures = {
            key: row for key, row in state.signatures.items() if key[0] in state.objects
        }
        return len(removed)

    def refuse_redacted(self, blobs: Iterable[bytes]) -> None:
        """Raise `Conflict` (`redacted`) if one of `blobs` was redacted."""
        for blob, snapshot in self.find_redactions(list(blobs)).items():
            raise redaction_table.redacted_conflict_error(
                blob, snapshot, self._read_snapshot_data(snapshot)
            )


class MemoryStore(MemoryReader):
    """A store that can be written: a `Store`. Threads may share it.

    `timeout` is the number of seconds to wait for the transaction of another thread.
    """

    def __init__(self, timeout: float = 5.0) -> None:
        super().__init__(MemoryState())
        self._timeout = timeout
        self._writer = threading.Lock()
        self._owner = 0

    def transaction(self, expected_bytes: int = 0) -> TransactionContext:
        return MemoryTransaction(self)

    def compact(self) -> bool:
        return True

    def clear_pending_writes(self) -> None:
        with MemoryTransaction(self) as transaction:
            transaction.remove_pending_writes([row.path for row in self.list_pending_writes()])

    def begin(self) -> MemoryState:
        """Lock out other writers and return a state to change. Raises `Locked`."""
        if self._owner == threading.get_ident():
            raise StoreError("a transaction of this store is open already", code="transaction_open")
        if not self._writer.acquire(timeout=self._timeout):
            raise Locked("another thread is writing to the brain")
        self._owner = threading.get_ident()
        return self._state.copy()

    def end(self, state: MemoryState | None) -> None:
        """Unlock, and replace the state unless the transaction was rolled back (None)."""
        if state is not None:
            self._state = state
        self._owner = 0
        self._writer.release()
