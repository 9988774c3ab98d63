"""The store in memory: the twin of the one on disk, for tests and for scratch brains.

It keeps everything unpacked and in the clear. A transaction works on a copy
that takes the place of the state when it commits, so nothing half done is seen.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from ..digest import NO_DIGEST, blob_id
from ..errors import Locked, StoreError
from . import operation_log, ref_table
from .blobs.large_blob_writer import HashingReader, read_to_end
from .memory_lineage import MemoryAnnotationWriter
from .memory_reading import MemoryReader
from .memory_state import MemoryState
from .protocol import BlobSource, OperationRow, PendingWrite, TransactionContext


class MemoryTransaction(MemoryReader, MemoryAnnotationWriter):
    """A change in progress; see `Transaction` for what each method promises."""

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
        """See `Transaction.put`."""
        self._state.objects.setdefault(id, (kind, data))

    def put_blob(self, content: bytes) -> bytes:
        """See `Transaction.put_blob`."""
        id = blob_id(content)
        self.put_blobs([(id, content)])
        return id

    def put_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        """See `Transaction.put_blobs`."""
        self.refuse_redacted(id for id, _ in batch)
        self._state.blobs.update(batch)

    def get_packing(self, samples: list[bytes]) -> None:
        """See `Transaction.packing`; nothing is packed."""

    def put_blob_stream(self, source: BlobSource, size: int, base: bytes | None) -> bytes:
        """See `Transaction.put_stream`."""
        from blake3 import blake3

        return self.put_blob(read_to_end(HashingReader(source, size, blake3()), size))

    def update_ref(self, name: str, old: bytes | None, new: bytes | None) -> None:
        """See `Transaction.set_ref`."""
        ref_table.compare_and_swap_ref(self._state.facts, name, old, new)

    def write_meta(self, key: str, value: bytes) -> None:
        """See `Transaction.set_meta`."""
        self._state.facts[ref_table.META_PREFIX + key] = value

    def append_operation(self, data: bytes) -> bytes:
        """See `Transaction.append_operation`."""
        log = self._state.operations
        id = operation_log.chain_operation_id(log[-1].id if log else NO_DIGEST, data)
        self._state.operations = (*log, OperationRow(len(log) + 1, id, data))
        return id

    def add_pending_writes(self, rows: Iterable[PendingWrite]) -> None:
        """See `Transaction.set_pending`."""
        rows = list(rows)
        for blob in self.find_redactions([row.blob for row in rows]):
            raise self.missing_blob_error(blob)
        self._state.pending.update((row.path, row) for row in rows)

    def remove_pending_writes(self, paths: Iterable[str]) -> None:
        """See `Transaction.clear_pending`."""
        for path in paths:
            self._state.pending.pop(path, None)


class MemoryStore(MemoryReader):
    """A store that can be written; see `Store`. Threads may share it.

    `timeout` is how many seconds to wait for another thread's transaction.
    """

    def __init__(self, timeout: float = 5.0) -> None:
        super().__init__(MemoryState())
        self._timeout = timeout
        self._writer = threading.Lock()
        self._owner = 0

    def transaction(self, expected_bytes: int = 0) -> TransactionContext:
        """See `Store.transaction`."""
        return MemoryTransaction(self)

    def compact(self) -> bool:
        """See `Store.compact`; nothing is in a file."""
        return True

    def clear_pending_writes(self) -> None:
        """See `Store.settle`."""
        with MemoryTransaction(self) as transaction:
            transaction.remove_pending_writes([row.path for row in self.list_pending_writes()])

    def begin(self) -> MemoryState:
        """Take the writer's place and return a state to work on; `Locked` if it is taken."""
        if self._owner == threading.get_ident():
            raise StoreError("a transaction is open already", code="transaction_open")
        if not self._writer.acquire(timeout=self._timeout):
            raise Locked("another thread is writing to the brain")
        self._owner = threading.get_ident()
        return self._state.copy()

    def end(self, state: MemoryState | None) -> None:
        """Give the writer's place back, with the new state unless it was abandoned."""
        if state is not None:
            self._state = state
        self._owner = 0
        self._writer.release()
