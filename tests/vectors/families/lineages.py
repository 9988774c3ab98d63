"""Lineages as a whole: the bases of merges, and what was redacted in it."""

from collections.abc import Iterator
from typing import Any

from brain.digest import blob_id
from brain.objects import lineage, operation
from brain.objects.snapshot import Snapshot, encode_snapshot, snapshot_id
from tests.vectors.families.snapshots import GENESIS, LATER, TIME
from tests.vectors.families.vector import Vector, refused, valid


class Line:
    """Snapshots in the order they were added, parents before children."""

    def __init__(self) -> None:
        self.made = [GENESIS]

    def add(
        self, *parents: int, done: operation.SnapshotOperation = ("snapshot",), **fields: Any
    ) -> int:
        """Add a snapshot on those of these numbers; return its number."""
        above = [self.made[parent] for parent in parents]
        load = {id_of(one): one for one in self.made}.__getitem__
        brain = above[0].brain or id_of(above[0])
        made = LATER._replace(
            brain=brain,
            parents=tuple(map(id_of, above)),
            generation=lineage.next_generation(above),
            jump=lineage.next_jump(load, id_of(above[0]), above[0]),
            time=TIME + len(self.made),
            operation=done,
        )._replace(**fields)
        self.made.append(made)
        return len(self.made) - 1

    def merge(self, a: int, b: int, *bases: int) -> int:
        """Add a merge that names these bases."""
        named = sorted(id_of(self.made[base]) for base in bases)
        return self.add(a, b, done=operation.merge_operation(named, []))

    def fork(self, origin: int, **fields: Any) -> int:
        """Add the genesis of a brain that came from a snapshot."""
        from_ = self.made[origin]
        first = operation.genesis_operation(bytes(16), id_of(from_))
        self.made.append(GENESIS._replace(operation=first, bundle=from_.bundle)._replace(**fields))
        return len(self.made) - 1


def id_of(made: Snapshot) -> bytes:
    """Return the id of a snapshot."""
    return snapshot_id(encode_snapshot(made))


def _crossed() -> Line:
    """Two lines that merged each other: 3 and 4 both have 1 and 2."""
    line = Line()
    line.add(0)
    line.add(0)
    line.merge(1, 2, 0)
    line.merge(2, 1, 0)
    return line


def merges() -> Iterator[Vector]:
    """Yield lineages with merges over right and over wrong bases."""
    crossed = _crossed()
    crossed.merge(3, 4, 1, 2)
    yield valid("a merge over two bases", "lineage", _data(crossed))
    line = Line()
    line.add(0)
    line.add(1)
    line.merge(2, 1, 1)
    yield valid("a merge of an ancestor", "lineage", _data(line))
    for name, bases in [
        ("a merge over one base of two", (1,)),
        ("a merge over a base too many", (0, 1, 2)),
        ("a merge over a common ancestor that is not the best", (0,)),
        ("a merge over one side", (3,)),
    ]:
        wrong = _crossed()
        wrong.merge(3, 4, *bases)
        yield refused(name, "lineage", _data(wrong), "bad_bases")
    line = _crossed()
    line.add(3, 4, done=operation.merge_operation([blob_id(b"nowhere")], []))
    yield refused("a merge over what is nowhere", "lineage", _data(line), "bad_bases")


def redactions() -> Iterator[Vector]:
    """Yield which of some blobs a lineage says to be redacted."""
    blobs = [blob_id(name) for name in (b"first", b"second", b"third", b"fourth")]
    line = Line()
    redact = [("redact", "a.md", blob, "a name") for blob in blobs]
    line.add(0, done=redact[0])
    line.add(0, done=redact[1])
    line.add(1)
    fork = line.fork(3)
    line.add(fork, done=redact[2])
    line.add(0, done=("graft", "a.md", blobs[3]), receipt=blobs[3], message=blobs[3].hex())
    for name, head, gone in [
        ("a redaction behind the head", 3, [0]),
        ("a redaction of the head itself", 2, [1]),
        ("a redaction before the fork", 5, [0, 2]),
        ("a lineage without a redaction", 0, []),
        ("a blob that is named otherwise", 6, []),
    ]:
        given = {
            "snapshots": [encode_snapshot(one).hex() for one in line.made],
            "head": id_of(line.made[head]).hex(),
            "missing": [blob.hex() for blob in blobs],
        }
        yield valid(name, "redactions", given, redacted=[blobs[place].hex() for place in gone])


def _data(line: Line) -> dict[str, Any]:
    return {"snapshots": [encode_snapshot(one).hex() for one in line.made]}
