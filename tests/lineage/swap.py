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
from brain.store.memory import MemoryStore, State
from brain.store.protocol import Kind
from tests.dags import Dag

REF = "heads/main"

Load = Callable[[bytes], Snapshot]
Rule = Callable[[Load, tuple[bytes, ...], bytes], bool]
"""Tells from all attempts of a writer and the head whether one of them was accepted."""
Swap = Callable[[MemoryStore, bytes, bytes], bool]
"""Moves the head from one snapshot to another; tells whether it did."""


class Writer(NamedTuple):
    """A writer of one change; `patience` is how often it still gives up waiting."""

    phase: str
    attempts: tuple[bytes, ...]
    patience: int


class World(NamedTuple):
    """A moment: what is stored, the writers, and requests under way (writer, old, new)."""

    stored: State
    writers: tuple[Writer, ...]
    requests: frozenset[tuple[int, bytes, bytes]]

    def store(self) -> MemoryStore:
        """Return a store of its own that holds what is stored."""
        made = MemoryStore()
        made.begin()
        made.end(self.stored.copy())
        return made

    def with_writer(self, number: int, writer: Writer) -> World:
        """Return the moment with another state of one writer."""
        writers = (*self.writers[:number], writer, *self.writers[number + 1 :])
        return self._replace(writers=writers)


class Outcome(NamedTuple):
    """How many moments there are, how many ends, and the ends that are wrong."""

    moments: int
    ends: int
    wrong: list[str]


def careful(load: Load, attempts: tuple[bytes, ...], head: bytes) -> bool:
    """Accepted is what the head descends from, whichever attempt it was."""
    return any(lineage.is_ancestor(load, attempt, head) for attempt in attempts)


def blind(load: Load, attempts: tuple[bytes, ...], head: bytes) -> bool:
    """Try again until one hears that it was done."""
    return False


def trusting(load: Load, attempts: tuple[bytes, ...], head: bytes) -> bool:
    """Take it that what was sent was done."""
    return bool(attempts)


def forgetful(load: Load, attempts: tuple[bytes, ...], head: bytes) -> bool:
    """Look for the last attempt only, though an earlier one may have come late."""
    return careful(load, attempts[-1:], head)


def compare_and_swap(store: MemoryStore, old: bytes, new: bytes) -> bool:
    """Move the head as the library does."""
    try:
        with store.transaction() as tx:
            tx.set_ref(REF, old, new)
    except Conflict:
        return False
    return True


def overwrite(store: MemoryStore, old: bytes, new: bytes) -> bool:
    """Move the head wherever it is."""
    with store.transaction() as tx:
        tx.set_ref(REF, tx.ref(REF), new)
    return True


def explore(patience: tuple[int, ...], rule: Rule, swap: Swap = compare_and_swap) -> Outcome:
    """Go through all interleavings of writers of some patience each.

    Right is an end where each change is in the lineage of the head, once.
    """
    waiting = [_beginning(patience)]
    seen, ends, wrong = set(), 0, []
    while waiting:
        world = waiting.pop()
        key = (world.stored.facts["ref:" + REF], world.writers, world.requests)
        if key in seen:
            continue
        seen.add(key)
        following = list(_next(world, rule, swap))
        waiting += following
        if not following:
            ends += 1
            wrong += _faults(world)
    return Outcome(len(seen), ends, wrong)


def _beginning(patience: tuple[int, ...]) -> World:
    store, dag = MemoryStore(), Dag()
    with store.transaction() as tx:
        tx.put(Kind.SNAPSHOT, dag.ids[0], snapshots.encode(dag.known[dag.ids[0]]))
        tx.set_ref(REF, None, dag.ids[0])
    stored = store.begin()
    store.end(None)
    return World(stored, tuple(Writer("reads", (), each) for each in patience), frozenset())


def _next(world: World, rule: Rule, swap: Swap) -> Iterator[World]:
    for number, writer in enumerate(world.writers):
        if writer.phase == "reads":
            yield _read(world, number, rule)
        elif writer.phase == "waits" and writer.patience:
            impatient = writer._replace(phase="reads", patience=writer.patience - 1)
            yield world.with_writer(number, impatient)
    for request in world.requests:
        yield from _delivered(world, request, swap)
        if world.writers[request[0]].patience:
            yield world._replace(requests=world.requests - {request})


def _read(world: World, number: int, rule: Rule) -> World:
    """Read the head; be done, or build on it and send a request."""
    store, writer = world.store(), world.writers[number]
    head = store.ref(REF)
    assert head is not None
    if rule(_loading(store), writer.attempts, head):
        return world.with_writer(number, writer._replace(phase="done"))
    data = _built(store, head, number, len(writer.attempts))
    here = snapshots.snapshot_id(data)
    with store.transaction() as tx:
        tx.put(Kind.SNAPSHOT, here, data)
    stored = store.begin()
    store.end(None)
    sent = writer._replace(phase="waits", attempts=(*writer.attempts, here))
    requests = world.requests | {(number, head, here)}
    return World(stored, world.writers, requests).with_writer(number, sent)


def _delivered(world: World, request: tuple[int, bytes, bytes], swap: Swap) -> Iterator[World]:
    """Let a request arrive; its answer arrives too, unless nobody waits for it any more."""
    number, old, new = request
    store, writer = world.store(), world.writers[number]
    done = swap(store, old, new)
    stored = store.begin()
    store.end(None)
    after = World(stored, world.writers, world.requests - {request})
    if writer.phase == "waits" and writer.attempts[-1] == new:
        yield after.with_writer(number, writer._replace(phase="done" if done else "reads"))
    if writer.phase != "waits" or writer.attempts[-1] != new or writer.patience:
        yield after


def _built(store: MemoryStore, head: bytes, writer: int, attempt: int) -> bytes:
    """Return a snapshot on `head`; each attempt has a time of its own, as attempts have."""
    load = _loading(store)
    parent = load(head)
    return snapshots.encode(
        parent._replace(
            brain=parent.brain or head,
            parents=(head,),
            generation=parent.generation + 1,
            jump=lineage.jump_after(load, head, parent),
            operation=("snapshot",),
            author=f"writer {writer}",
            time=attempt,
        )
    )


def _loading(store: MemoryStore) -> Load:
    return lambda here: snapshots.decode(store.get(Kind.SNAPSHOT, here))


def _faults(world: World) -> Iterator[str]:
    """Yield what is wrong in the end with the lineage of the head."""
    store = world.store()
    head = store.ref(REF)
    assert head is not None
    found = lineage.history(_loading(store), head)
    times = Counter(snapshot.author for _, snapshot in found if snapshot.parents)
    for number, writer in enumerate(world.writers):
        if writer.phase != "done":
            yield f"writer {number} waits for ever"
        elif times[f"writer {number}"] == 0:
            yield "lost"
        elif times[f"writer {number}"] > 1:
            yield "twice"
