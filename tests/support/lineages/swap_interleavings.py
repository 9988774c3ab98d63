"""All interleavings of writers that move one head by compare-and-swap, with lost messages.

A writer reads the head, builds a snapshot on it, and asks the store to move the head.
The request may be delayed, or lost; so may its acknowledgement. A writer that waits in
vain reads the head again, and a rule says whether what it wanted has been done. The
store is the one in memory, and the ancestry that of the library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from brain.errors import Conflict
from brain.objects import lineage
from brain.objects import snapshot as snapshots
from brain.objects.snapshot import Snapshot
from brain.store.protocol import ObjectKind
from tests.support.memory_store import MemoryState, MemoryStore
from tests.support.snapshot_graphs import SnapshotGraph

HEAD_REF = "heads/main"

LoadSnapshot = Callable[[bytes], Snapshot]
AcceptanceRule = Callable[[LoadSnapshot, tuple[bytes, ...], bytes], bool]
"""Tells from all attempts of a writer and the head whether one of them was accepted."""
SwapFunction = Callable[[MemoryStore, bytes, bytes], bool]
"""Moves the head from one snapshot to another; tells whether it did."""


class WriterState(NamedTuple):
    """A writer of one change; `patience` is how often it still gives up waiting."""

    phase: str
    attempts: tuple[bytes, ...]
    retries_left: int


class SystemState(NamedTuple):
    """A moment: what is stored, the writers, and requests under way (writer, old, new)."""

    stored: MemoryState
    writers: tuple[WriterState, ...]
    requests: frozenset[tuple[int, bytes, bytes]]

    def store(self) -> MemoryStore:
        """Return a store of its own that holds what is stored."""
        made = MemoryStore()
        made.begin()
        made.end(self.stored.copy())
        return made

    def with_writer(self, number: int, writer: WriterState) -> SystemState:
        """Return the moment with another state of one writer."""
        writers = (*self.writers[:number], writer, *self.writers[number + 1 :])
        return self._replace(writers=writers)


class ExplorationResult(NamedTuple):
    """How many moments there are, how many ends, and the ends that are wrong."""

    states: int
    final_states: int
    wrong: list[str]


def rule_descends_from_any(load: LoadSnapshot, attempts: tuple[bytes, ...], head: bytes) -> bool:
    """Accepted is what the head descends from, whichever attempt it was."""
    return any(lineage.is_ancestor(load, attempt, head) for attempt in attempts)


def rule_retry_until_heard(load: LoadSnapshot, attempts: tuple[bytes, ...], head: bytes) -> bool:
    """Try again until one hears that it was done."""
    return False


def rule_assume_done(load: LoadSnapshot, attempts: tuple[bytes, ...], head: bytes) -> bool:
    """Take it that what was sent was done."""
    return bool(attempts)


def rule_check_last_only(load: LoadSnapshot, attempts: tuple[bytes, ...], head: bytes) -> bool:
    """Look for the last attempt only, though an earlier one may have come late."""
    return rule_descends_from_any(load, attempts[-1:], head)


def compare_and_swap(store: MemoryStore, old: bytes, new: bytes) -> bool:
    """Move the head as the library does."""
    try:
        with store.transaction() as tx:
            tx.update_ref(HEAD_REF, old, new)
    except Conflict:
        return False
    return True


def overwrite(store: MemoryStore, old: bytes, new: bytes) -> bool:
    """Move the head wherever it is."""
    with store.transaction() as tx:
        tx.update_ref(HEAD_REF, tx.read_ref(HEAD_REF), new)
    return True


def explore_interleavings(
    patience: tuple[int, ...], rule: AcceptanceRule, swap: SwapFunction = compare_and_swap
) -> ExplorationResult:
    """Go through all interleavings of writers of some patience each.

    Right is an end where each change is in the lineage of the head, once.
    """
    waiting = [_initial_state(patience)]
    seen, ends, wrong = set(), 0, []
    while waiting:
        world = waiting.pop()
        key = (world.stored.facts["ref:" + HEAD_REF], world.writers, world.requests)
        if key in seen:
            continue
        seen.add(key)
        following = list(_next_states(world, rule, swap))
        waiting += following
        if not following:
            ends += 1
            wrong += _find_faults(world)
    return ExplorationResult(len(seen), ends, wrong)


def _initial_state(patience: tuple[int, ...]) -> SystemState:
    store, dag = MemoryStore(), SnapshotGraph()
    with store.transaction() as tx:
        tx.put_object(
            ObjectKind.SNAPSHOT, dag.ids[0], snapshots.encode_snapshot(dag.known[dag.ids[0]])
        )
        tx.update_ref(HEAD_REF, None, dag.ids[0])
    stored = store.begin()
    store.end(None)
    return SystemState(
        stored, tuple(WriterState("reads", (), each) for each in patience), frozenset()
    )


def _next_states(
    world: SystemState, rule: AcceptanceRule, swap: SwapFunction
) -> Iterator[SystemState]:
    for number, writer in enumerate(world.writers):
        if writer.phase == "reads":
            yield _read_head(world, number, rule)
        elif writer.phase == "waits" and writer.retries_left:
            impatient = writer._replace(phase="reads", retries_left=writer.retries_left - 1)
            yield world.with_writer(number, impatient)
    for request in world.requests:
        yield from _deliver_request(world, request, swap)
        if world.writers[request[0]].retries_left:
            yield world._replace(requests=world.requests - {request})


def _read_head(world: SystemState, number: int, rule: AcceptanceRule) -> SystemState:
    """Read the head; be done, or build on it and send a request."""
    store, writer = world.store(), world.writers[number]
    head = store.read_ref(HEAD_REF)
    assert head is not None
    if rule(_make_loader(store), writer.attempts, head):
        return world.with_writer(number, writer._replace(phase="done"))
    data = _build_snapshot(store, head, number, len(writer.attempts))
    here = snapshots.snapshot_id(data)
    with store.transaction() as tx:
        tx.put_object(ObjectKind.SNAPSHOT, here, data)
    stored = store.begin()
    store.end(None)
    sent = writer._replace(phase="waits", attempts=(*writer.attempts, here))
    requests = world.requests | {(number, head, here)}
    return SystemState(stored, world.writers, requests).with_writer(number, sent)


def _deliver_request(
    world: SystemState, request: tuple[int, bytes, bytes], swap: SwapFunction
) -> Iterator[SystemState]:
    """Let a request arrive; its answer arrives too, unless nobody waits for it any more."""
    number, old, new = request
    store, writer = world.store(), world.writers[number]
    done = swap(store, old, new)
    stored = store.begin()
    store.end(None)
    after = SystemState(stored, world.writers, world.requests - {request})
    if writer.phase == "waits" and writer.attempts[-1] == new:
        yield after.with_writer(number, writer._replace(phase="done" if done else "reads"))
    if writer.phase != "waits" or writer.attempts[-1] != new or writer.retries_left:
        yield after


def _build_snapshot(store: MemoryStore, head: bytes, writer: int, attempt: int) -> bytes:
    """Return a snapshot on `head`; each attempt has a time of its own, as attempts have."""
    load = _make_loader(store)
    parent = load(head)
    return snapshots.encode_snapshot(
        parent._replace(
            brain=parent.brain or head,
            parents=(head,),
            generation=parent.generation + 1,
            jump=lineage.next_jump(load, head, parent),
            operation=("snapshot",),
            author=f"writer {writer}",
            time=attempt,
        )
    )


def _make_loader(store: MemoryStore) -> LoadSnapshot:
    return lambda here: snapshots.decode_snapshot(store.read_object(ObjectKind.SNAPSHOT, here))


def _find_faults(world: SystemState) -> Iterator[str]:
    """Yield what is wrong in the end with the lineage of the head."""
    store = world.store()
    head = store.read_ref(HEAD_REF)
    assert head is not None
    found = lineage.walk_ancestors(_make_loader(store), head)
    times = Counter(snapshot.author for _, snapshot in found if snapshot.parents)
    for number, writer in enumerate(world.writers):
        if writer.phase != "done":
            yield f"writer {number} waits for ever"
        elif times[f"writer {number}"] == 0:
            yield "lost"
        elif times[f"writer {number}"] > 1:
            yield "twice"
