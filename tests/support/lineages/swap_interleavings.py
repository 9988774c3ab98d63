"""All interleavings of writers that move one head by compare-and-swap, with lost messages.

A writer reads the head, builds a snapshot on it, and asks for the head to be moved. The request
may be delayed, or lost; so may its acknowledgement. A writer that waits in vain reads the head
again, and a rule says whether what it wanted has been done. The ancestry is that of the library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from brain.objects import lineage
from brain.objects import snapshot as snapshots
from brain.objects.snapshot import Snapshot
from tests.support.snapshot_graphs import SnapshotGraph

LoadSnapshot = Callable[[bytes], Snapshot]
AcceptanceRule = Callable[[LoadSnapshot, tuple[bytes, ...], bytes], bool]
"""Tells from all attempts of a writer and the head whether one of them was accepted."""
SwapRule = Callable[[bytes, bytes], bool]
"""Tells from the head that there is and the one that a writer saw whether the head moves."""


class WriterState(NamedTuple):
    """A writer of one change; `patience` is how often it still gives up waiting."""

    phase: str
    attempts: tuple[bytes, ...]
    retries_left: int


class SystemState(NamedTuple):
    """A moment: the head, the writers, and requests under way (writer, old, new)."""

    head: bytes
    writers: tuple[WriterState, ...]
    requests: frozenset[tuple[int, bytes, bytes]]

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


def compare_and_swap(head: bytes, old: bytes) -> bool:
    """Move the head as the library does."""
    return head == old


def overwrite(head: bytes, old: bytes) -> bool:
    """Move the head wherever it is."""
    return True


def explore_interleavings(
    patience: tuple[int, ...], rule: AcceptanceRule, swap: SwapRule = compare_and_swap
) -> ExplorationResult:
    """Go through all interleavings of writers of some patience each.

    Right is an end where each change is in the lineage of the head, once.
    """
    graph = SnapshotGraph()
    writers = tuple(WriterState("reads", (), each) for each in patience)
    waiting = [SystemState(graph.ids[0], writers, frozenset())]
    seen, ends, wrong = set(), 0, []
    while waiting:
        world = waiting.pop()
        if world in seen:
            continue
        seen.add(world)
        following = list(_next_states(graph, world, rule, swap))
        waiting += following
        if not following:
            ends += 1
            wrong += _find_faults(graph, world)
    return ExplorationResult(len(seen), ends, wrong)


def _next_states(
    graph: SnapshotGraph, world: SystemState, rule: AcceptanceRule, swap: SwapRule
) -> Iterator[SystemState]:
    for number, writer in enumerate(world.writers):
        if writer.phase == "reads":
            yield _read_head(graph, world, number, rule)
        elif writer.phase == "waits" and writer.retries_left:
            impatient = writer._replace(phase="reads", retries_left=writer.retries_left - 1)
            yield world.with_writer(number, impatient)
    for request in world.requests:
        yield from _deliver_request(world, request, swap)
        if world.writers[request[0]].retries_left:
            yield world._replace(requests=world.requests - {request})


def _read_head(
    graph: SnapshotGraph, world: SystemState, number: int, rule: AcceptanceRule
) -> SystemState:
    """Read the head; be done, or build on it and send a request."""
    writer, head = world.writers[number], world.head
    if rule(graph.load, writer.attempts, head):
        return world.with_writer(number, writer._replace(phase="done"))
    parent = graph.load(head)
    made = parent._replace(
        brain=parent.brain or head,
        parents=(head,),
        generation=parent.generation + 1,
        jump=lineage.next_jump(graph.load, head, parent),
        operation=("snapshot",),
        author=f"writer {number}",
        time=len(writer.attempts),  # so that each attempt is a snapshot of its own
    )
    here = snapshots.snapshot_id(snapshots.encode_snapshot(made))
    graph.known[here] = made
    sent = writer._replace(phase="waits", attempts=(*writer.attempts, here))
    requests = world.requests | {(number, head, here)}
    return world._replace(requests=requests).with_writer(number, sent)


def _deliver_request(
    world: SystemState, request: tuple[int, bytes, bytes], swap: SwapRule
) -> Iterator[SystemState]:
    """Let a request arrive; its answer arrives too, unless nobody waits for it any more."""
    number, old, new = request
    writer = world.writers[number]
    done = swap(world.head, old)
    head = new if done else world.head
    after = SystemState(head, world.writers, world.requests - {request})
    if writer.phase == "waits" and writer.attempts[-1] == new:
        yield after.with_writer(number, writer._replace(phase="done" if done else "reads"))
    if writer.phase != "waits" or writer.attempts[-1] != new or writer.retries_left:
        yield after


def _find_faults(graph: SnapshotGraph, world: SystemState) -> Iterator[str]:
    """Yield what is wrong in the end with the lineage of the head."""
    found = lineage.walk_ancestors(graph.load, world.head)
    times = Counter(snapshot.author for _, snapshot in found if snapshot.parents)
    for number, writer in enumerate(world.writers):
        if writer.phase != "done":
            yield f"writer {number} waits for ever"
        elif times[f"writer {number}"] == 0:
            yield "lost"
        elif times[f"writer {number}"] > 1:
            yield "twice"
