"""The ancestors of a head with the trust policy each of them holds.

Rights may name snapshots ("until …"). Whether one snapshot descends from another is known
only from the oldest on, but a lineage is read from its head back. So it is first read,
children first, into a few plain lists: about 200 bytes a snapshot.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

from ..errors import BrainError, FormatError
from ..objects.lineage import LoadSnapshot
from ..objects.snapshot import Snapshot
from .locate_policy import LocatePolicy, read_policy_blob
from .policy import Policy, parse_policy

PolicyOrError = Policy | BrainError | None
"""The policy of a snapshot; an error if its trust file is invalid or unreadable."""

BROKEN_POLICY_CODE = "bad_trust"
"""Error code of an invalid trust file: the last valid ones before it stay in force."""

KEY_AUTHOR_PREFIX = "ed25519:"
"""How an author that is a key begins."""

_ABOVE_ALL_GENERATIONS = 1 << 64
"""The assumed generation of a child of the head."""


class RightsSource(NamedTuple):
    """Functions that read a lineage; they raise `BrainError`."""

    load: LoadSnapshot
    locate: LocatePolicy
    read_blob: Callable[[bytes], bytes]


class RightsStep(NamedTuple):
    """One snapshot; `parents` and `rights` are numbers, `author` is "" unless it is a key."""

    id: bytes
    parents: tuple[int, ...]
    rights: int
    author: str


class RightsGraph:
    """The ancestors of a head, after `read_ancestors`; steps are numbered, the head is 0.

    `order` lists the numbers, children before parents; `rights[0]` is None, for no policy.
    """

    def __init__(self, source: RightsSource, head: bytes) -> None:
        self._source = source
        self.steps: list[RightsStep] = []
        self.order: list[int] = []
        self.rights: list[PolicyOrError] = [None]
        self._rights: dict[bytes, int] = {b"": 0}
        self._queue: list[tuple[int, bytes]] = []
        self._waiting: dict[bytes, tuple[int, Snapshot]] = {}
        self._unreadable: dict[bytes, int] = {}
        self._add_snapshot(head, _ABOVE_ALL_GENERATIONS)

    def read_ancestors(self, down_to: int = 0) -> RightsGraph:
        """Read ancestors down to this generation, in step with a walk of the caller."""
        while self._queue and -self._queue[0][0] >= down_to:
            self._visit(heapq.heappop(self._queue)[1])
        return self

    def _visit(self, snapshot_id: bytes) -> None:
        number, snapshot = self._waiting.pop(snapshot_id)
        self.order.append(number)
        child_generation = snapshot.generation
        parents = tuple(
            [self._add_snapshot(parent, child_generation) for parent in snapshot.parents]
        )
        self.steps[number] = self.steps[number]._replace(parents=parents)

    def _add_snapshot(self, snapshot_id: bytes, child_generation: int) -> int:
        """Return the number of a snapshot whose generation is lower than that of its child.

        Generations rise, so all children come before it and it is added once.
        """
        known = self._waiting.get(snapshot_id)
        if known and known[1].generation < child_generation:
            return known[0]
        if snapshot_id in self._unreadable:
            return self._unreadable[snapshot_id]
        try:
            snapshot = self._source.load(snapshot_id)
            if snapshot.generation >= child_generation:
                raise FormatError(
                    f"snapshot {snapshot_id.hex()} is not older than its child",
                    code="bad_generation",
                    hint="run `brain verify` to see what else is wrong",
                )
        except BrainError as error:
            return self._add_unreadable(snapshot_id, error)
        number = len(self.steps)
        author = snapshot.author if snapshot.author.startswith(KEY_AUTHOR_PREFIX) else ""
        self.steps.append(RightsStep(snapshot_id, (), self._find_rights(snapshot), author))
        self._waiting[snapshot_id] = (number, snapshot)
        heapq.heappush(self._queue, (-snapshot.generation, snapshot_id))
        return number

    def _add_unreadable(self, snapshot_id: bytes, error: BrainError) -> int:
        number = self._unreadable[snapshot_id] = len(self.steps)
        self.steps.append(RightsStep(snapshot_id, (), self._add_error(error), ""))
        self.order.append(number)
        return number

    def _find_rights(self, snapshot: Snapshot) -> int:
        try:
            blob = self._source.locate(snapshot)
        except BrainError as error:
            return self._add_error(error)
        if blob not in self._rights:
            self._rights[blob] = self._read_policy(blob)
        return self._rights[blob]

    def _read_policy(self, blob: bytes) -> int:
        try:
            self.rights.append(parse_policy(read_policy_blob(self._source.read_blob, blob)))
        except BrainError as error:
            return self._add_error(error)
        return len(self.rights) - 1

    def _add_error(self, error: BrainError) -> int:
        self.rights.append(error)
        return len(self.rights) - 1
