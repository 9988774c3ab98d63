"""Snapshot graphs of any shape, in memory, with ancestry computed by plain sets."""

from brain.digest import blob_id
from brain.objects import lineage
from brain.objects.operation import genesis_operation
from brain.objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot, encode_snapshot, snapshot_id

BUNDLE_ID = blob_id(b"bundle")


class SnapshotGraph:
    """Snapshots by id, in the order they were added; `loads` lists the ids that were read."""

    def __init__(self) -> None:
        self.known: dict[bytes, Snapshot] = {}
        self.ids: list[bytes] = []
        self.loads: list[bytes] = []
        first = genesis_operation(bytes(16))
        self._store(
            Snapshot(SNAPSHOT_FORMAT, b"", BUNDLE_ID, (), 0, Jump(0, b""), "", 0, first, "", b"")
        )

    def load(self, snapshot_id: bytes) -> Snapshot:
        self.loads.append(snapshot_id)
        return self.known[snapshot_id]

    def add_fork(self, origin: int) -> bytes:
        """Add the genesis of a brain that came from the snapshot of this number; return its id."""
        first = genesis_operation(bytes(16), self.ids[origin])
        return self._store(
            Snapshot(SNAPSHOT_FORMAT, b"", BUNDLE_ID, (), 0, Jump(0, b""), "", 0, first, "", b"")
        )

    def add(self, *parents: int) -> bytes:
        """Add a snapshot on the ones with these numbers; return its id."""
        ids = tuple(self.ids[number] for number in parents)
        above = [self.known[parent] for parent in ids]
        jump = lineage.next_jump(self.load, ids[0], above[0])
        number, brain = len(self.ids), above[0].brain or ids[0]
        return self._store(
            Snapshot(
                *(SNAPSHOT_FORMAT, brain, BUNDLE_ID, ids, lineage.next_generation(above), jump),
                *("", number, ("graft",) if len(parents) > 1 else ("snapshot",), "", b""),
            )
        )

    def _store(self, made: Snapshot) -> bytes:
        here = snapshot_id(encode_snapshot(made))
        self.known[here] = made
        self.ids.append(here)
        return here

    def first_parents(self, start: bytes) -> list[bytes]:
        """Return `start` and its ancestors along first parents, newest first, by walking."""
        out = [start]
        while parents := self.known[out[-1]].parents:
            out.append(parents[0])
        return out

    def ancestors(self, start: bytes) -> set[bytes]:
        """Return `start` and all its ancestors, by a set."""
        out: set[bytes] = set()
        waiting = [start]
        while waiting:
            here = waiting.pop()
            if here not in out:
                out.add(here)
                waiting.extend(self.known[here].parents)
        return out

    def merges(self) -> list[tuple[bytes, int]]:
        """Return id and generation of all snapshots with several parents."""
        return [
            (here, made.generation) for here, made in self.known.items() if len(made.parents) > 1
        ]

    def best_common_ancestors(self, a: bytes, b: bytes) -> list[bytes]:
        """Return the best common ancestors, by sets."""
        common = self.ancestors(a) & self.ancestors(b)
        beaten = {old for new in common for old in self.ancestors(new) - {new}}
        return sorted(common - beaten)
