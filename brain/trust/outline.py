"""A lineage as the check of signatures needs it: numbered, with the rights each snapshot holds.

Rights may name snapshots ("until …"), and whether one snapshot descends from another is
known from the oldest on, while a lineage is read from its head back. So it is read once,
children first, into a few plain lists: about 200 bytes a snapshot.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

from ..errors import BrainError, FormatError
from ..objects.lineage import Load
from ..objects.snapshot import Snapshot
from .place import Locate, content
from .policy import Policy, parse

Rights = Policy | BrainError | None
"""What the trust file of a snapshot says; an error if it says nothing or cannot be read."""

BROKEN = "bad_trust"
"""The code of a trust file that is there, but is none: the last good ones before it hold."""

AUTHOR = "ed25519:"
"""How an author begins who is a key."""

_NO_CHILD = 1 << 64
"""Stands for the generation of a child where there is none."""


class Source(NamedTuple):
    """Where a lineage is read from, snapshot by snapshot and blob by blob.

    What cannot be read raises a `BrainError`.
    """

    load: Load
    locate: Locate
    read_blob: Callable[[bytes], bytes]


class Step(NamedTuple):
    """One snapshot; `parents` and `rights` are numbers, `author` is "" unless it is a key."""

    id: bytes
    parents: tuple[int, ...]
    rights: int
    author: str


class Outline:
    """The ancestors of a head, once they are `read`. Steps are numbered as met, the head being 0.

    `order` has the numbers, children before parents; `rights[0]` is None, for none.
    """

    def __init__(self, source: Source, head: bytes) -> None:
        self._source = source
        self.steps: list[Step] = []
        self.order: list[int] = []
        self.rights: list[Rights] = [None]
        self._rights: dict[bytes, int] = {b"": 0}
        self._queue: list[tuple[int, bytes]] = []
        self._waiting: dict[bytes, tuple[int, Snapshot]] = {}
        self._lost: dict[bytes, int] = {}
        self._meet(head, _NO_CHILD)

    def read(self, down_to: int = 0) -> Outline:
        """Read on, down to this generation; who walks the lineage himself does so in step."""
        while self._queue and -self._queue[0][0] >= down_to:
            self._take(heapq.heappop(self._queue)[1])
        return self

    def _take(self, snapshot_id: bytes) -> None:
        number, snapshot = self._waiting.pop(snapshot_id)
        self.order.append(number)
        below = snapshot.generation
        parents = tuple([self._meet(parent, below) for parent in snapshot.parents])
        self.steps[number] = self.steps[number]._replace(parents=parents)

    def _meet(self, snapshot_id: bytes, below: int) -> int:
        """Return the number of a snapshot whose generation is lower than that of its child.

        As it is, all its children come before it, and it is met once.
        """
        known = self._waiting.get(snapshot_id)
        if known and known[1].generation < below:
            return known[0]
        if snapshot_id in self._lost:
            return self._lost[snapshot_id]
        try:
            snapshot = self._source.load(snapshot_id)
            if snapshot.generation >= below:
                raise FormatError("a parent as late as its child", code="bad_generation")
        except BrainError as error:
            return self._lose(snapshot_id, error)
        number = len(self.steps)
        author = snapshot.author if snapshot.author.startswith(AUTHOR) else ""
        self.steps.append(Step(snapshot_id, (), self._find(snapshot), author))
        self._waiting[snapshot_id] = (number, snapshot)
        heapq.heappush(self._queue, (-snapshot.generation, snapshot_id))
        return number

    def _lose(self, snapshot_id: bytes, error: BrainError) -> int:
        number = self._lost[snapshot_id] = len(self.steps)
        self.steps.append(Step(snapshot_id, (), self._fault(error), ""))
        self.order.append(number)
        return number

    def _find(self, snapshot: Snapshot) -> int:
        """Return the number of the rights that a snapshot holds."""
        try:
            blob = self._source.locate(snapshot)
        except BrainError as error:
            return self._fault(error)
        if blob not in self._rights:
            self._rights[blob] = self._read(blob)
        return self._rights[blob]

    def _read(self, blob: bytes) -> int:
        try:
            self.rights.append(parse(content(self._source.read_blob, blob)))
        except BrainError as error:
            return self._fault(error)
        return len(self.rights) - 1

    def _fault(self, error: BrainError) -> int:
        self.rights.append(error)
        return len(self.rights) - 1
