"""Runs of an agent: record their steps, write their receipts, and read a whole run.

Each snapshot that a run causes carries the steps since the one before, those that the
snapshot itself is, and the id of the one before. What a turn has taken counts only once
its transaction is durable; else the steps wait for the next snapshot.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ... import limits
from ...digest import NO_DIGEST
from ...errors import FormatError, InvalidInput, printable_text
from ...objects import bundle as bundles
from ...objects import operation as operations
from ...objects.bundle import Bundle
from ...objects.operation import SnapshotOperation
from ...objects.tree_entry import TreeEntry
from ...receipts import RUN_OUTCOMES, Receipt, RunStep, encode_receipt, keep_text
from ...receipts.size_budget import SizeBudget, shorten_without_secrets
from ..core.current_run import CURRENT_RUN
from ..core.transaction import locked_write_transaction
from ..open.session import Session
from ..read import skill_lookup
from ..read.ancestor_set import AncestorSet
from ..read.read_receipts import ReceiptPart, iter_parts, read_part_at_revision
from ..read.write_steps import build_edit_steps


class Run:
    """One run. `header` is its receipt without what single parts say. Threads may share it."""

    def __init__(self, session: Session, header: Receipt) -> None:
        self.session = session
        self.header = header
        self.closed = False
        self.ending = ("", "")
        self._lock = threading.Lock()
        self._pending: list[RunStep] = []
        self._size_budget = SizeBudget()
        self._carriers: list[bytes] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened so far."""
        return not self._pending and not self._carriers

    def is_recorded(self) -> bool:
        """Tell whether a snapshot in the lineage of the head carries a part of it."""
        return bool(self.begin_draft().carriers)

    def add_step(self, step: RunStep) -> None:
        """Note a step; of many long ones the later lose their texts, but for the digests.

        Raises `InvalidInput` (`task_ended`, `too_many_steps`).
        """
        with self._lock:
            if self.closed:
                raise InvalidInput("this task has ended", code="task_ended")
            kept = self._size_budget.add_step(step)
            if kept is None:
                raise InvalidInput(
                    f"{len(self._pending)} steps without a change of the brain",
                    code="too_many_steps",
                    hint="end this task and begin another",
                )
            self._pending.append(kept)

    def pending_steps(self, after: int) -> tuple[RunStep, ...]:
        """Return the steps that no snapshot carries, but for the first `after`."""
        with self._lock:
            return tuple(self._pending[after:])

    def read_chain_state(self) -> tuple[int, bytes, tuple[RunStep, ...]]:
        """Return the number of parts so far, the snapshot that carries the last, and what waits."""
        with self._lock:
            previous = self._carriers[-1] if self._carriers else NO_DIGEST
            return len(self._carriers), previous, tuple(self._pending)

    def begin_draft(self) -> ReceiptDraft:
        """Return what one turn makes of this run.

        It goes on after the last part that is in the lineage of the head: what was undone
        since is told by the snapshots that were undone. If all was, and more, the run begins
        where the brain was brought back to.
        """
        head, header = self.session.head(), self.header
        inside = AncestorSet(self.session, head)
        kept = len(self._carriers)
        while kept and self._carriers[kept - 1] not in inside:
            kept -= 1
        if not kept and header.snapshot_before not in inside:
            bundle = self.session.load_snapshot(head).bundle
            header = header._replace(snapshot_before=head, bundle_before=bundle)
        return ReceiptDraft(self, header, self._carriers[:kept])

    def drop_recorded_steps(self, header: Receipt, step_count: int, carriers: list[bytes]) -> None:
        """Forget the first `taken` steps, which snapshots carry by now."""
        with self._lock:
            self.header = header
            del self._pending[:step_count]
            self._size_budget = SizeBudget()
            self._pending = [
                kept for step in self._pending if (kept := self._size_budget.add_step(step))
            ]
            self._carriers = carriers

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Let what this thread, or task of asyncio, writes meanwhile belong to the run."""
        token = CURRENT_RUN.set(self)
        try:
            yield
        finally:
            CURRENT_RUN.reset(token)


class ReceiptDraft:
    """The receipts of the snapshots of one turn; `settle` makes them count.

    `carriers` are the snapshots that carry the parts so far.
    """

    def __init__(self, run: Run, header: Receipt, carriers: list[bytes]) -> None:
        self._run = run
        self._header = header
        self.carriers = carriers
        self._steps_taken = 0

    def encode_receipt(
        self,
        before: Bundle,
        after: Bundle,
        edits: Mapping[str, TreeEntry | None],
        operation: SnapshotOperation,
    ) -> bytes:
        """Return the receipt of the snapshot that the turn is about to record."""
        session = self._run.session
        waiting = self._run.pending_steps(self._steps_taken)
        self._steps_taken += len(waiting)
        part = self._header._replace(
            bundle_after=bundles.bundle_id(after),
            part=len(self.carriers),
            previous=self.carriers[-1] if self.carriers else NO_DIGEST,
            steps=waiting + build_edit_steps(session, before, after, edits, operation),
        )
        if operations.is_task_end(operation):
            outcome, reason = self._run.ending
            part = part._replace(outcome=outcome, reason=reason, ended=session.timestamp_ms())
        return encode_receipt(part)

    def add_carrier(self, snapshot_id: bytes) -> None:
        """Note which snapshot carries the last receipt."""
        self.carriers.append(snapshot_id)

    def mark_durable(self) -> None:
        """Note that the turn is durable."""
        self._run.drop_recorded_steps(self._header, self._steps_taken, self.carriers)


def close_run(session: Session, run: Run, outcome: str, reason: str) -> str | None:
    """End a run with a snapshot that carries its last receipt; return its id.

    A run in which nothing happened leaves nothing.
    """
    if run.closed:
        raise InvalidInput("this task has ended already", code="task_ended")
    if run.is_empty:
        run.closed = True
        return None
    run.ending = outcome, shorten_without_secrets(reason, limits.MAX_TASK_BYTES)
    with (
        run.activate(),
        locked_write_transaction(session, "task", f"task {run.header.run}: {outcome}") as txn,
    ):
        txn.record_snapshot(
            {}, operations.task_operation(run.header.run, outcome), _build_message(run.header)
        )
    run.closed = True
    return txn.head.hex()


def abandon_run(session: Session, run: Run, reason: str) -> str | None:
    """End a run of which nobody says how it went; return the snapshot that carries its end.

    One that no snapshot of the head's lineage carries leaves nothing, nor does one in a
    proposal that was taken over since, which this would open again.
    """
    is_open = session.has_folder or session.base() != session.head()
    if not (is_open and run.is_recorded()):
        run.closed = True
        return None
    return close_run(session, run, "unknown", reason)


def _build_message(header: Receipt) -> str:
    return " ".join(header.task.split())[:120]


_RUN_ID_BYTES = 16
_MAX_NAME_CHARS = 200
"""Characters of a name or an error that is noted."""


def begin_run(session: Session, task: str, agent: str, model: str, run: str) -> Run:
    """Return a new run that begins where the brain stands now."""
    head = session.head()
    header = Receipt(
        run=printable_text(run, _MAX_NAME_CHARS) or secrets.token_hex(_RUN_ID_BYTES),
        task=shorten_without_secrets(task, limits.MAX_TASK_BYTES),
        agent=printable_text(agent, _MAX_NAME_CHARS),
        model=printable_text(model, _MAX_NAME_CHARS),
        started=session.timestamp_ms(),
        snapshot_before=head,
        bundle_before=bundles.bundle_id(session.bundle_of(head)),
    )
    return Run(session, header)


def record_step(
    run: Run,
    kind: str,
    name: str,
    input: object,
    output: object,
    error: str,
    *,
    version: str = "",
    **more: Any,
) -> None:
    """Note a step that ends now."""
    took = more.get("took", 0)
    run.add_step(
        RunStep(
            kind,
            max(run.session.timestamp_ms() - took, 0),
            printable_text(name, _MAX_NAME_CHARS),
            input=keep_text(to_excerpt_text(input)),
            output=keep_text(to_excerpt_text(output)),
            error=shorten_without_secrets(error, limits.MAX_EXCERPT_BYTES),
            version=printable_text(version, _MAX_NAME_CHARS),
            **more,
        )
    )


def to_excerpt_text(value: object) -> str:
    """Return what was said as text: JSON, if it is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of several types, loops, depth
        return repr(value)


def find_version_at_head(session: Session, slug: str) -> str:
    """Return the version of a skill at the head, "" if there is none of that name."""
    found = skill_lookup.find_skill_or_none(session, session.bundle_of(session.head()), slug)
    return found.card.version if found else ""


def check_outcome(outcome: str) -> str:
    """Return an outcome. Raises `InvalidInput` (`bad_outcome`)."""
    if outcome not in RUN_OUTCOMES:
        raise InvalidInput(
            f"no outcome: {printable_text(outcome, 80)!r}",
            code="bad_outcome",
            hint=f"it is one of {', '.join(RUN_OUTCOMES)}",
        )
    return outcome


MAX_JOINED_STEPS = 200_000
"""Steps of one run that are put together."""


def read_whole_run(session: Session, rev: str) -> Receipt:
    """Return the run of which a revision carries a part, as one receipt up to there.

    Raises as `receipts.resolved` and `receipts.back`, and `FormatError` (`too_many`).
    """
    return _join_parts(session, read_part_at_revision(session, rev), ())


def read_open_run(session: Session, run: Run) -> Receipt:
    """Return a run that goes on, as one receipt up to now."""
    part, previous, pending = run.read_chain_state()
    header = run.header._replace(part=part, previous=previous)
    return _join_parts(session, ReceiptPart(header, NO_DIGEST, NO_DIGEST), pending)


def _join_parts(session: Session, last: ReceiptPart, pending: tuple[RunStep, ...]) -> Receipt:
    """Return `last` with the steps of the parts before it, its own, and those that wait."""
    pieces = [pending]
    count = len(pending)
    for part in iter_parts(session, last):
        pieces.append(part.receipt.steps)
        count += len(part.receipt.steps)
        if count > MAX_JOINED_STEPS:
            raise FormatError(f"a run of more than {MAX_JOINED_STEPS} steps", code="too_many")
    steps = tuple(step for piece in reversed(pieces) for step in piece)
    return last.receipt._replace(steps=steps, part=0, previous=NO_DIGEST)
