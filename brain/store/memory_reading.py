"""Reading the store in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Self

from ..digest import blob_id
from ..errors import FormatError, NotFound
from . import ref_table
from .blobs.blob_reader import missing_object_error
from .memory_lineage import MemoryAnnotationReader
from .memory_state import MemoryState
from .object_ranges import ObjectRange, StoredObject, split_range
from .protocol import (
    LARGE_BLOB_BYTES,
    BlobCheckResult,
    BlobPredicate,
    ExpectedSize,
    ObjectKind,
    OperationRow,
    PendingWrite,
    accept_claimed_size,
)


class MemoryReader(MemoryAnnotationReader):
    """Answers from a `State`; see `Reader` for what each method promises."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def read_object(self, kind: int, id: bytes) -> bytes:
        """See `Reader.get`."""
        if not self.has_object(id):
            raise missing_object_error(id)
        found, data = self._state.objects.get(id, (ObjectKind.BLOB, b""))
        if found != kind or kind == ObjectKind.BLOB:
            raise FormatError(f"object {id.hex()} is of another kind", code="wrong_type")
        return data

    def has_object(self, id: bytes) -> bool:
        """See `Reader.has`."""
        return id in self._state.objects or id in self._state.blobs

    def find_missing(self, ids: Iterable[bytes]) -> set[bytes]:
        """See `Reader.missing`."""
        return {id for id in ids if not self.has_object(id)}

    def find_snapshots(self, prefix: str) -> list[tuple[int, bytes]]:
        """See `Reader.find`."""
        objects = sorted(self._state.objects.items())
        found = [(kind, id) for id, (kind, _) in objects if id.hex().startswith(prefix or "-")]
        return [row for row in found if row[0] == ObjectKind.SNAPSHOT][:2]

    def stream_object_ids(self) -> Iterator[tuple[int, bytes]]:
        """See `Reader.objects`."""
        for id, (kind, _) in self._state.objects.items():
            yield kind, id
        for id in self._state.blobs:
            yield ObjectKind.BLOB, id

    def count_objects(self) -> int:
        """See `Reader.count_objects`."""
        return len(self._state.objects) + len(self._state.blobs)

    def stream_objects(self, kind: int) -> Iterator[tuple[bytes, bytes]]:
        """See `Reader.structured`."""
        for id, (found, data) in self._state.objects.items():
            if found == kind:
                yield id, data

    def split_objects(self, size: int, max_ranges: int) -> list[ObjectRange]:
        """See `Reader.parts`."""
        return split_range(1, len(self._state.objects), size, max_ranges)

    def read_object_range(self, object_range: ObjectRange) -> Iterator[StoredObject]:
        """See `Reader.part`."""
        for id, (kind, data) in islice(
            self._state.objects.items(), object_range[0] - 1, object_range[1]
        ):
            yield kind, id, data

    @contextmanager
    def reopen_for_fork(self) -> Iterator[Self]:
        """See `Reader.aside`; a child has a memory of its own."""
        yield self

    def blob_size(self, id: bytes) -> int:
        """See `Reader.blob_size`."""
        return len(self.read_blob(id))

    def read_blob(self, id: bytes, size: int | None = None) -> bytes:
        """See `Reader.read_blob`."""
        content = self._state.blobs.get(id)
        if content is None:
            raise self.missing_blob_error(id)
        return content

    def read_small_blobs(self, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """See `Reader.read_blobs`."""
        for id in dict.fromkeys(ids):
            content = self.read_blob(id)
            if len(content) < LARGE_BLOB_BYTES:
                yield id, content

    def stream_blob(self, id: bytes, size: int | None = None) -> Iterator[bytes]:
        """See `Reader.stream_blob`."""
        content = self.read_blob(id)
        for start in range(0, len(content) or 1, LARGE_BLOB_BYTES):
            yield content[start : start + LARGE_BLOB_BYTES]

    def check_chunk_lists(self) -> BlobCheckResult:
        """See `Reader.check_recipes`; nothing is kept in chunks."""
        return BlobCheckResult([], [], [])

    @contextmanager
    def check_blobs(
        self, predicate: BlobPredicate, expected: ExpectedSize = accept_claimed_size
    ) -> Iterator[Iterator[BlobCheckResult]]:
        """See `Reader.check_blobs`."""
        blobs = self._state.blobs.items()
        sizes = [(id, len(content)) for id, content in blobs if blob_id(content) == id]
        sound = {id for id, _ in sizes}
        faults = [(id, "its content is damaged") for id, _ in blobs if id not in sound]
        named = [id for id, content in blobs if id in sound and predicate(id, content)]
        yield iter([BlobCheckResult(sizes, faults, named)])

    def read_ref(self, name: str) -> bytes | None:
        """See `Reader.ref`."""
        return self._state.facts.get(ref_table.REF_PREFIX + name)

    def list_refs(self) -> dict[str, bytes]:
        """See `Reader.refs`."""
        return ref_table.select_refs(self._state.facts)

    def read_meta(self, key: str) -> bytes | None:
        """See `Reader.meta`."""
        return self._state.facts.get(ref_table.META_PREFIX + key)

    def operation_count(self) -> int:
        """See `Reader.operation_count`."""
        return len(self._state.operations)

    def read_operation(self, number: int) -> OperationRow:
        """See `Reader.operation`."""
        if not 1 <= number <= self.operation_count():
            raise NotFound(f"there is no operation {number}", code="missing_operation")
        return self._state.operations[number - 1]

    def stream_operations(self) -> Iterator[OperationRow]:
        """See `Reader.operations`."""
        return reversed(self._state.operations)

    def list_pending_writes(self) -> list[PendingWrite]:
        """See `Reader.pending`."""
        return sorted(self._state.pending.values())

    def inspect_pending_writes(self) -> tuple[list[PendingWrite], list[str]]:
        """See `Reader.pending_notes`; none is ever damaged."""
        return self.list_pending_writes(), []

    def check_stray_rows(self) -> list[str]:
        """See `Reader.strays`."""
        return []

    def check_integrity(self) -> list[str]:
        """See `Reader.integrity`."""
        return []

    def size_on_disk(self) -> int:
        """See `Reader.size_on_disk`; nothing is on disk."""
        return 0

    def close(self) -> None:
        """See `Reader.close`."""
