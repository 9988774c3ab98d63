"""The run of an agent that is in progress: its steps, and the receipts that carry them.

Each snapshot of a run carries a receipt: the steps since the last snapshot, the writes of
this one, and the id of the last one. If the transaction fails, its steps stay pending for
the next snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ..digest import NO_DIGEST
from ..errors import InvalidInput
from ..named_tuple import NamedTuple
from ..objects import operation as operations
from ..objects.operation import SnapshotOperation
from ..objects.tree_node import TreeEntry
from .lineage_cache import AncestorSet
from .session import BrainState, Session

if TYPE_CHECKING:
    from ..receipts import Receipt, RunStep
    from ..receipts.uses import UsedSkill


MAX_USED_SKILLS = 10_000
"""Uses of skills that one run remembers, the first ones."""
CURRENT_RUN: ContextVar[Run | None] = ContextVar("brain_run", default=None)
"""The run of this thread, or of this asyncio task."""


def current_draft(session: Session) -> ReceiptDraft | None:
    """Return the receipt draft of the run in progress in a session, None without one."""
    run = CURRENT_RUN.get()
    if run is None or run.session is not session or run.closed:
        return None
    return run.begin_draft()


class LoadedSkill(NamedTuple):
    """A skill that a run has read: its address, and its version, "" if unknown."""

    address: str
    version: str


class Run:
    """A run in progress; threads may share it. `header` is its receipt without the parts.

    `loaded_skills` are those that the run has read, each once, in order. `tool_calls` counts
    all calls of tools so far, and `used_skills` are the skills that were read or called, in order.
    """

    def __init__(self, session: Session, header: Receipt) -> None:
        from ..receipts.budget import SizeBudget
        from ..receipts.uses import ToolCallCounts

        self.session = session
        self.header = header
        self.closed = False
        self.ending = ("", "")
        self.loaded_skills: dict[LoadedSkill, None] = {}
        self.tool_calls = ToolCallCounts()
        self.used_skills: list[UsedSkill] = []
        self._lock = threading.Lock()
        self._pending: list[RunStep] = []
        self._size_budget = SizeBudget()
        self._carriers: list[bytes] = []

    @property
    def is_empty(self) -> bool:
        """Whether no step was recorded so far."""
        return not self._pending and not self._carriers

    def add_step(self, step: RunStep) -> None:
        """Record a step; if its run grows large, only the digests of its texts are recorded.

        Raises `InvalidInput` (`task_ended`, `too_many_steps`).
        """
        with self._lock:
            if self.closed:
                raise InvalidInput(
                    "this task has ended, and takes no further step",
                    code="task_ended",
                    hint="begin another task",
                )
            fitted = self._size_budget.add_step(step)
            if fitted is None:
                raise InvalidInput(
                    f"the task has {len(self._pending)} steps without a change of the brain",
                    code="too_many_steps",
                    hint="end this task and begin another",
                )
            self._pending.append(fitted)
            self.tool_calls = self.tool_calls.add(step)

    def add_use(self, slug: str, took: int = 0) -> None:
        """Remember that the run used a skill, which took so many ms and ended now."""
        from ..receipts.uses import UsedSkill

        if len(self.used_skills) < MAX_USED_SKILLS:
            self.used_skills.append(UsedSkill(slug, max(self.session.timestamp_ms() - took, 0)))

    def read_chain_state(self) -> tuple[int, bytes, tuple[RunStep, ...]]:
        """Return the number of parts, the snapshot with the last part, and the pending steps."""
        with self._lock:
            previous = self._carriers[-1] if self._carriers else NO_DIGEST
            return len(self._carriers), previous, tuple(self._pending)

    def begin_draft(self) -> ReceiptDraft:
        """Begin the receipts of one transaction.

        They follow the last part in the lineage of the head, since later ones were undone. If
        the snapshot before the run was undone too, the run now begins at the head.
        """
        head, header = self.session.head(), self.header
        lineage = AncestorSet(self.session, head)
        count = len(self._carriers)
        while count and self._carriers[count - 1] not in lineage:
            count -= 1
        if not count and header.snapshot_before not in lineage:
            bundle = self.session.load_snapshot(head).bundle
            header = header._replace(snapshot_before=head, bundle_before=bundle)
        return ReceiptDraft(self, header, self._carriers[:count])

    def drop_recorded_steps(self, header: Receipt, step_count: int, carriers: list[bytes]) -> None:
        """Drop the first `step_count` pending steps, which snapshots carry now."""
        from ..receipts.budget import SizeBudget

        with self._lock:
            self.header = header
            self._size_budget = SizeBudget()
            fitted = map(self._size_budget.add_step, self._pending[step_count:])
            self._pending = [step for step in fitted if step is not None]
            self._carriers = carriers

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Make the writes of this thread or asyncio task part of the run."""
        token = CURRENT_RUN.set(self)
        try:
            yield
        finally:
            CURRENT_RUN.reset(token)


class ReceiptDraft:
    """The receipts of one transaction; `mark_durable` makes them final.

    `carriers` are the snapshots that carry the parts so far.
    """

    def __init__(self, run: Run, header: Receipt, carriers: list[bytes]) -> None:
        self._run = run
        self._header = header
        self.carriers = carriers
        self._steps_taken = 0

    def encode_receipt(
        self,
        before: BrainState,
        after: BrainState,
        edits: Mapping[str, TreeEntry | None],
        operation: SnapshotOperation,
    ) -> bytes:
        """Return the receipt of the snapshot that is about to be recorded."""
        from ..receipts import encode_receipt
        from .read_receipts import build_edit_steps

        session = self._run.session
        pending = self._run.read_chain_state()[2][self._steps_taken :]
        self._steps_taken += len(pending)
        part = self._header._replace(
            bundle_after=after.id,
            part=len(self.carriers),
            previous=self.carriers[-1] if self.carriers else NO_DIGEST,
            steps=pending + build_edit_steps(before, after, edits, operation),
        )
        if operations.is_task_end(operation):
            outcome, reason = self._run.ending
            part = part._replace(outcome=outcome, reason=reason, ended=session.timestamp_ms())
        return encode_receipt(part)

    def add_carrier(self, snapshot_id: bytes) -> None:
        """Add the snapshot that carries the last receipt."""
        self.carriers.append(snapshot_id)

    def mark_durable(self) -> None:
        """Mark the transaction as durable."""
        self._run.drop_recorded_steps(self._header, self._steps_taken, self.carriers)
