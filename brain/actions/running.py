"""A run of an agent in a brain: its steps so far, and the receipts they become.

Each snapshot that a run causes carries the steps since the one before, those that the
snapshot itself is, and the id of the one before. What a turn has taken counts only once
its transaction is durable; else the steps wait for the next snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from .. import limits
from ..digest import EMPTY
from ..errors import InvalidInput
from ..objects import bundle as bundles
from ..objects import operation as operations
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..objects.operation import Operation
from ..receipts import Receipt, Step, encode
from ..receipts.excerpt import shortened
from ..receipts.room import Room
from ..session import Session
from .current import RUN
from .traces import written
from .turn import turn
from .within import Within


class Run:
    """One run. `header` is its receipt without what single parts say. Threads may share it."""

    def __init__(self, session: Session, header: Receipt) -> None:
        self.session = session
        self.header = header
        self.closed = False
        self.ending = ("", "")
        self._lock = threading.Lock()
        self._waiting: list[Step] = []
        self._room = Room()
        self._carriers: list[bytes] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened so far."""
        return not self._waiting and not self._carriers

    def is_recorded(self) -> bool:
        """Tell whether a snapshot in the lineage of the head carries a part of it."""
        return bool(self.draft().carriers)

    def add(self, step: Step) -> None:
        """Note a step; of many long ones the later lose their texts, but for the digests.

        Raises `InvalidInput` (`task_ended`, `too_many_steps`).
        """
        with self._lock:
            if self.closed:
                raise InvalidInput("this task has ended", code="task_ended")
            kept = self._room.fit(step)
            if kept is None:
                raise InvalidInput(
                    f"{len(self._waiting)} steps without a change of the brain",
                    code="too_many_steps",
                    hint="end this task and begin another",
                )
            self._waiting.append(kept)

    def waiting(self, after: int) -> tuple[Step, ...]:
        """Return the steps that no snapshot carries, but for the first `after`."""
        with self._lock:
            return tuple(self._waiting[after:])

    def state(self) -> tuple[int, bytes, tuple[Step, ...]]:
        """Return the number of parts so far, the snapshot that carries the last, and what waits."""
        with self._lock:
            previous = self._carriers[-1] if self._carriers else EMPTY
            return len(self._carriers), previous, tuple(self._waiting)

    def draft(self) -> Draft:
        """Return what one turn makes of this run.

        It goes on after the last part that is in the lineage of the head: what was undone
        since is told by the snapshots that were undone. If all was, and more, the run begins
        where the brain was brought back to.
        """
        head, header = self.session.head(), self.header
        inside = Within(self.session, head)
        kept = len(self._carriers)
        while kept and self._carriers[kept - 1] not in inside:
            kept -= 1
        if not kept and header.snapshot_before not in inside:
            bundle = self.session.load(head).bundle
            header = header._replace(snapshot_before=head, bundle_before=bundle)
        return Draft(self, header, self._carriers[:kept])

    def settle(self, header: Receipt, taken: int, carriers: list[bytes]) -> None:
        """Forget the first `taken` steps, which snapshots carry by now."""
        with self._lock:
            self.header = header
            del self._waiting[:taken]
            self._room = Room()
            self._waiting = [kept for step in self._waiting if (kept := self._room.fit(step))]
            self._carriers = carriers

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Let what this thread, or task of asyncio, writes meanwhile belong to the run."""
        token = RUN.set(self)
        try:
            yield
        finally:
            RUN.reset(token)


class Draft:
    """The receipts of the snapshots of one turn; `settle` makes them count.

    `carriers` are the snapshots that carry the parts so far.
    """

    def __init__(self, run: Run, header: Receipt, carriers: list[bytes]) -> None:
        self._run = run
        self._header = header
        self.carriers = carriers
        self._taken = 0

    def receipt(
        self, before: Bundle, after: Bundle, edits: Mapping[str, Entry | None], done: Operation
    ) -> bytes:
        """Return the receipt of the snapshot that the turn is about to record."""
        session = self._run.session
        waiting = self._run.waiting(self._taken)
        self._taken += len(waiting)
        part = self._header._replace(
            bundle_after=bundles.bundle_id(after),
            part=len(self.carriers),
            previous=self.carriers[-1] if self.carriers else EMPTY,
            steps=waiting + written(session, before, after, edits, done),
        )
        if operations.closes_task(done):
            outcome, reason = self._run.ending
            part = part._replace(outcome=outcome, reason=reason, ended=session.time())
        return encode(part)

    def carried_by(self, snapshot_id: bytes) -> None:
        """Note which snapshot carries the last receipt."""
        self.carriers.append(snapshot_id)

    def settle(self) -> None:
        """Note that the turn is durable."""
        self._run.settle(self._header, self._taken, self.carriers)


def close(session: Session, run: Run, outcome: str, reason: str) -> str | None:
    """End a run with a snapshot that carries its last receipt; return its id.

    A run in which nothing happened leaves nothing.
    """
    if run.closed:
        raise InvalidInput("this task has ended already", code="task_ended")
    if run.is_empty:
        run.closed = True
        return None
    run.ending = outcome, shortened(reason, limits.MAX_TASK_BYTES)
    with run.going_on(), turn(session, "task", f"task {run.header.run}: {outcome}") as mine:
        mine.commit({}, operations.task(run.header.run, outcome), _message(run.header))
    run.closed = True
    return mine.head.hex()


def leave(session: Session, run: Run, reason: str) -> str | None:
    """End a run of which nobody says how it went; return the snapshot that carries its end.

    One that no snapshot of the head's lineage carries leaves nothing, nor does one in a
    proposal that was taken over since, which this would open again.
    """
    stands = session.has_folder or session.base() != session.head()
    if not (stands and run.is_recorded()):
        run.closed = True
        return None
    return close(session, run, "unknown", reason)


def _message(header: Receipt) -> str:
    return " ".join(header.task.split())[:120]
