"""The store in memory: the twin of the one on disk, for tests and for scratch brains.

It keeps everything unpacked and in the clear. A transaction works on a copy
that takes the place of the state when it commits, so nothing half done is seen.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from ..digest import EMPTY, blob_id
from ..errors import FormatError, Locked, NotFound, StoreError
from . import facts, oplog
from .blobs import absent
from .chunks import Meter, whole
from .memory_lineage import MemoryLineageReader, MemoryLineageWriter
from .protocol import (
    LARGE,
    Checked,
    Kind,
    OpenTransaction,
    OperationRow,
    Pending,
    SkillRow,
    Source,
)


class State:
    """Everything a store holds."""

    def __init__(self) -> None:
        self.objects: dict[bytes, tuple[int, bytes]] = {}
        self.blobs: dict[bytes, bytes] = {}
        self.facts: dict[str, bytes] = {}
        self.operations: tuple[OperationRow, ...] = ()
        self.signatures: dict[tuple[bytes, bytes], bytes] = {}
        self.pending: dict[str, Pending] = {}
        self.cards: dict[bytes, bytes] = {}
        self.skills: tuple[SkillRow, ...] = ()
        self.skill_paths: tuple[tuple[str, str], ...] = ()
        self.merges: dict[bytes, int] = {}

    def copy(self) -> State:
        """Return a state of its own; what it holds is immutable."""
        twin = State()
        for name, value in vars(self).items():
            setattr(twin, name, value if isinstance(value, tuple) else dict(value))
        return twin


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

    def blob_size(self, id: bytes) -> int:
        """See `Reader.blob_size`."""
        return len(self.read_blob(id))

    def read_blob(self, id: bytes) -> bytes:
        """See `Reader.read_blob`."""
        content = self._state.blobs.get(id)
        if content is None:
            raise absent(id)
        return content

    def read_blobs(self, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """See `Reader.read_blobs`."""
        for id in dict.fromkeys(ids):
            content = self.read_blob(id)
            if len(content) < LARGE:
                yield id, content

    def stream_blob(self, id: bytes) -> Iterator[bytes]:
        """See `Reader.stream_blob`."""
        content = self.read_blob(id)
        for start in range(0, len(content) or 1, LARGE):
            yield content[start : start + LARGE]

    @contextmanager
    def check_blobs(self) -> Iterator[Iterator[Checked]]:
        """See `Reader.check_blobs`."""
        blobs = self._state.blobs.items()
        sizes = [(id, len(content)) for id, content in blobs if blob_id(content) == id]
        sound = {id for id, _ in sizes}
        faults = [(id, "its content is damaged") for id, _ in blobs if id not in sound]
        yield iter([Checked(sizes, faults)])

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

    def cards(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """See `Reader.cards`."""
        known = self._state.cards
        return {blob: known[blob] for blob in blobs if blob in known}

    def skill_paths(self, slug: str) -> list[str]:
        """See `Reader.skill_paths`."""
        return sorted({path for known, path in self._state.skill_paths if known == slug})

    def skill_log(self, path: str) -> list[SkillRow]:
        """See `Reader.skill_log`."""
        return [row for row in self._state.skills if row.path == path]

    def derived_version(self) -> int:
        """See `Reader.derived_version`."""
        return int.from_bytes(self._state.facts.get(facts.DERIVED, b""), "big")

    def integrity(self) -> list[str]:
        """See `Reader.integrity`."""
        return []

    def size_on_disk(self) -> int:
        """See `Reader.size_on_disk`; nothing is on disk."""
        return 0

    def close(self) -> None:
        """See `Reader.close`."""


class MemoryTransaction(MemoryReader, MemoryLineageWriter):
    """A change in progress; see `Transaction` for what each method promises."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(State())
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

    def put(self, kind: int, id: bytes, data: bytes) -> None:
        """See `Transaction.put`."""
        self._state.objects.setdefault(id, (kind, data))

    def put_blob(self, content: bytes) -> bytes:
        """See `Transaction.put_blob`."""
        id = blob_id(content)
        self._state.blobs[id] = content
        return id

    def put_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        """See `Transaction.put_blobs`."""
        self._state.blobs.update(batch)

    def packing(self, samples: list[bytes]) -> None:
        """See `Transaction.packing`; nothing is packed."""

    def put_stream(self, source: Source, size: int, base: bytes | None) -> bytes:
        """See `Transaction.put_stream`."""
        from blake3 import blake3

        return self.put_blob(whole(Meter(source, size, blake3()), size))

    def set_ref(self, name: str, old: bytes | None, new: bytes | None) -> None:
        """See `Transaction.set_ref`."""
        facts.move(self._state.facts, name, old, new)

    def set_meta(self, key: str, value: bytes) -> None:
        """See `Transaction.set_meta`."""
        self._state.facts[facts.META + key] = value

    def append_operation(self, data: bytes) -> bytes:
        """See `Transaction.append_operation`."""
        log = self._state.operations
        id = oplog.link(log[-1].id if log else EMPTY, data)
        self._state.operations = (*log, OperationRow(len(log) + 1, id, data))
        return id

    def set_pending(self, rows: Iterable[Pending]) -> None:
        """See `Transaction.set_pending`."""
        self._state.pending.update((row.path, row) for row in rows)

    def clear_pending(self, paths: Iterable[str]) -> None:
        """See `Transaction.clear_pending`."""
        for path in paths:
            self._state.pending.pop(path, None)

    def put_cards(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """See `Transaction.put_cards`."""
        self._state.cards.update(rows)

    def log_skills(self, rows: Iterable[SkillRow]) -> None:
        """See `Transaction.log_skills`."""
        new = tuple(rows)
        self._state.skills += new
        self.name_skills((slug, row.path) for row in new for slug in row.slugs)

    def name_skills(self, pairs: Iterable[tuple[str, str]]) -> None:
        """See `Transaction.name_skills`."""
        self._state.skill_paths += tuple(pairs)

    def reset_derived(self, version: int) -> None:
        """See `Transaction.reset_derived`."""
        self._state.cards = {}
        self._state.skills = ()
        self._state.skill_paths = ()
        self._state.merges = {}
        self._state.facts[facts.DERIVED] = version.to_bytes(4, "big")


class MemoryStore(MemoryReader):
    """A store that can be written; see `Store`. Threads may share it.

    `timeout` is how many seconds to wait for another thread's transaction.
    """

    def __init__(self, timeout: float = 5.0) -> None:
        super().__init__(State())
        self._timeout = timeout
        self._writer = threading.Lock()
        self._owner = 0

    def transaction(self, expected_bytes: int = 0) -> OpenTransaction:
        """See `Store.transaction`."""
        return MemoryTransaction(self)

    def settle(self) -> None:
        """See `Store.settle`."""
        with MemoryTransaction(self) as transaction:
            transaction.clear_pending([row.path for row in self.pending()])

    def begin(self) -> State:
        """Take the writer's place and return a state to work on; `Locked` if it is taken."""
        if self._owner == threading.get_ident():
            raise StoreError("a transaction is open already", code="transaction_open")
        if not self._writer.acquire(timeout=self._timeout):
            raise Locked("another thread is writing to the brain")
        self._owner = threading.get_ident()
        return self._state.copy()

    def end(self, state: State | None) -> None:
        """Give the writer's place back, with the new state unless it was abandoned."""
        if state is not None:
            self._state = state
        self._owner = 0
        self._writer.release()
