"""Reading the store in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Self

from ..digest import blob_id
from ..errors import FormatError, NotFound
from . import facts
from .blobs import absent
from .memory_lineage import MemoryLineageReader
from .memory_state import State
from .parts import Part, Stored, cut
from .protocol import (
    LARGE,
    Checked,
    ExpectedSize,
    Kind,
    Look,
    OperationRow,
    Pending,
    as_claimed,
)


class MemoryReader(MemoryLineageReader):
    """Answers from a `State`; see `Reader` for what each method promises."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, kind: int, id: bytes) -> bytes:
        """See `Reader.get`."""
        if not self.has(id):
            raise absent(id)
        found, data = self._state.objects.get(id, (Kind.BLOB, b""))
        if found != kind or kind == Kind.BLOB:
            raise FormatError(f"object {id.hex()} is of another kind", code="wrong_type")
        return data

    def has(self, id: bytes) -> bool:
        """See `Reader.has`."""
        return id in self._state.objects or id in self._state.blobs

    def missing(self, ids: Iterable[bytes]) -> set[bytes]:
        """See `Reader.missing`."""
        return {id for id in ids if not self.has(id)}

    def find(self, prefix: str) -> list[tuple[int, bytes]]:
        """See `Reader.find`."""
        objects = sorted(self._state.objects.items())
        found = [(kind, id) for id, (kind, _) in objects if id.hex().startswith(prefix or "-")]
        return [row for row in found if row[0] == Kind.SNAPSHOT][:2]

    def objects(self) -> Iterator[tuple[int, bytes]]:
        """See `Reader.objects`."""
        for id, (kind, _) in self._state.objects.items():
            yield kind, id
        for id in self._state.blobs:
            yield Kind.BLOB, id

    def count_objects(self) -> int:
        """See `Reader.count_objects`."""
        return len(self._state.objects) + len(self._state.blobs)

    def structured(self, kind: int) -> Iterator[tuple[bytes, bytes]]:
        """See `Reader.structured`."""
        for id, (found, data) in self._state.objects.items():
            if found == kind:
                yield id, data

    def parts(self, size: int, most: int) -> list[Part]:
        """See `Reader.parts`."""
        return cut(1, len(self._state.objects), size, most)

    def part(self, part: Part) -> Iterator[Stored]:
        """See `Reader.part`."""
        for id, (kind, data) in islice(self._state.objects.items(), part[0] - 1, part[1]):
            yield kind, id, data

    @contextmanager
    def aside(self) -> Iterator[Self]:
        """See `Reader.aside`; a child has a memory of its own."""
        yield self

    def blob_size(self, id: bytes) -> int:
        """See `Reader.blob_size`."""
        return len(self.read_blob(id))

    def read_blob(self, id: bytes, size: int | None = None) -> bytes:
        """See `Reader.read_blob`."""
        content = self._state.blobs.get(id)
        if content is None:
            raise self.lost(id)
        return content

    def read_blobs(self, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """See `Reader.read_blobs`."""
        for id in dict.fromkeys(ids):
            content = self.read_blob(id)
            if len(content) < LARGE:
                yield id, content

    def stream_blob(self, id: bytes, size: int | None = None) -> Iterator[bytes]:
        """See `Reader.stream_blob`."""
        content = self.read_blob(id)
        for start in range(0, len(content) or 1, LARGE):
            yield content[start : start + LARGE]

    def check_recipes(self) -> Checked:
        """See `Reader.check_recipes`; nothing is kept in chunks."""
        return Checked([], [], [])

    @contextmanager
    def check_blobs(
        self, look: Look, expected: ExpectedSize = as_claimed
    ) -> Iterator[Iterator[Checked]]:
        """See `Reader.check_blobs`."""
        blobs = self._state.blobs.items()
        sizes = [(id, len(content)) for id, content in blobs if blob_id(content) == id]
        sound = {id for id, _ in sizes}
        faults = [(id, "its content is damaged") for id, _ in blobs if id not in sound]
        named = [id for id, content in blobs if id in sound and look(id, content)]
        yield iter([Checked(sizes, faults, named)])

    def ref(self, name: str) -> bytes | None:
        """See `Reader.ref`."""
        return self._state.facts.get(facts.REF + name)

    def refs(self) -> dict[str, bytes]:
        """See `Reader.refs`."""
        return facts.refs(self._state.facts)

    def meta(self, key: str) -> bytes | None:
        """See `Reader.meta`."""
        return self._state.facts.get(facts.META + key)

    def operation_count(self) -> int:
        """See `Reader.operation_count`."""
        return len(self._state.operations)

    def operation(self, number: int) -> OperationRow:
        """See `Reader.operation`."""
        if not 1 <= number <= self.operation_count():
            raise NotFound(f"there is no operation {number}", code="missing_operation")
        return self._state.operations[number - 1]

    def operations(self) -> Iterator[OperationRow]:
        """See `Reader.operations`."""
        return reversed(self._state.operations)

    def pending(self) -> list[Pending]:
        """See `Reader.pending`."""
        return sorted(self._state.pending.values())

    def pending_notes(self) -> tuple[list[Pending], list[str]]:
        """See `Reader.pending_notes`; none is ever damaged."""
        return self.pending(), []

    def strays(self) -> list[str]:
        """See `Reader.strays`."""
        return []

    def integrity(self) -> list[str]:
        """See `Reader.integrity`."""
        return []

    def size_on_disk(self) -> int:
        """See `Reader.size_on_disk`; nothing is on disk."""
        return 0

    def close(self) -> None:
        """See `Reader.close`."""
