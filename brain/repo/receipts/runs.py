"""Runs of an agent: record steps, write receipts, and read a whole run.

Each snapshot of a run carries a receipt: the steps since the last snapshot, the writes of
this one, and the id of the last one. If the transaction fails, its steps stay pending for
the next snapshot.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

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
from ...receipts.tool_calls import ToolCallCounts
from ...receipts.used_skills import UsedSkill
from ...skills.skill_version import recorded_version
from ..core.current_run import CURRENT_RUN
from ..core.transaction import locked_write_transaction
from ..open.session import Session
from ..read import skill_lookup
from ..read.ancestor_set import AncestorSet
from ..read.read_receipts import ReceiptPart, iter_parts, read_part_at_revision
from ..read.receipt_steps import build_edit_steps

_RUN_ID_BYTES = 16
_MAX_MESSAGE_CHARS = 120
_MAX_NAME_CHARS = 200
MAX_USED_SKILLS = 10_000
"""Uses of skills that one run remembers, the first ones."""
MAX_JOINED_STEPS = 200_000
"""The most steps of one run that are joined."""


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

    def is_recorded(self) -> bool:
        """Tell whether a snapshot in the lineage of the head carries a part of this run."""
        return bool(self.begin_draft().carriers)

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
        if len(self.used_skills) < MAX_USED_SKILLS:
            self.used_skills.append(UsedSkill(slug, max(self.session.timestamp_ms() - took, 0)))

    def pending_steps(self, after: int) -> tuple[RunStep, ...]:
        """Return the steps that no snapshot carries yet, without the first `after`."""
        with self._lock:
            return tuple(self._pending[after:])

    def read_chain_state(self) -> tuple[int, bytes, tuple[RunStep, ...]]:
        """Return the number of parts, the snapshot with the last part, and the pending steps."""
        with self._lock:
            previous = self._carriers[-1] if self._carriers else NO_DIGEST
            return len(self._carriers), previous, tuple(self._pending)

    def begin_draft(self) -> RunReceiptDraft:
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
        return RunReceiptDraft(self, header, self._carriers[:count])

    def drop_recorded_steps(self, header: Receipt, step_count: int, carriers: list[bytes]) -> None:
        """Drop the first `step_count` pending steps, which snapshots carry now."""
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


class RunReceiptDraft:
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
        before: Bundle,
        after: Bundle,
        edits: Mapping[str, TreeEntry | None],
        operation: SnapshotOperation,
    ) -> bytes:
        """Return the receipt of the snapshot that is about to be recorded."""
        session = self._run.session
        pending = self._run.pending_steps(self._steps_taken)
        self._steps_taken += len(pending)
        part = self._header._replace(
            bundle_after=bundles.bundle_id(after),
            part=len(self.carriers),
            previous=self.carriers[-1] if self.carriers else NO_DIGEST,
            steps=pending + build_edit_steps(session, before, after, edits, operation),
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


def close_run(session: Session, run: Run, outcome: str, reason: str) -> str | None:
    """End a run with a snapshot that carries its last receipt; return its id.

    A run without steps leaves no snapshot.
    """
    if run.closed:
        raise InvalidInput(
            "this task has ended already, and takes no further step",
            code="task_ended",
            hint="begin another task",
        )
    if run.is_empty:
        run.closed = True
        return None
    run.ending = outcome, shorten_without_secrets(reason, limits.MAX_TASK_BYTES)
    with (
        run.activate(),
        locked_write_transaction(session, "task", f"task {run.header.run}: {outcome}") as txn,
    ):
        message = " ".join(run.header.task.split())[:_MAX_MESSAGE_CHARS]
        txn.record_snapshot({}, operations.task_operation(run.header.run, outcome), message)
    run.closed = True
    return txn.head.hex()


def abandon_run(session: Session, run: Run, reason: str) -> str | None:
    """End a run with the outcome "unknown"; return the snapshot with its last receipt.

    No snapshot is made if the lineage of the head carries no part of the run, or if the run
    is in a proposal that was merged since, which a snapshot would open again.
    """
    is_open = session.has_folder or session.base() != session.head()
    if not (is_open and run.is_recorded()):
        run.closed = True
        return None
    return close_run(session, run, "unknown", reason)


def begin_run(session: Session, task: str, agent: str, model: str, run: str) -> Run:
    """Begin a run at the head."""
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
    """Record a step that ends now; `more` are further fields of `RunStep`."""
    took = more.get("took", 0)
    run.add_step(
        RunStep(
            kind=kind,
            at=max(run.session.timestamp_ms() - took, 0),
            name=printable_text(name, _MAX_NAME_CHARS),
            input=keep_text(to_excerpt_text(input)),
            output=keep_text(to_excerpt_text(output)),
            error=shorten_without_secrets(error, limits.MAX_EXCERPT_BYTES),
            version=printable_text(version, _MAX_NAME_CHARS),
            **more,
        )
    )


def to_excerpt_text(value: object) -> str:
    """Return a value as text: other types than text and bytes as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of several types, loops, depth
        return repr(value)


def find_version_at_head(session: Session, slug: str) -> str:
    """Return the version of a skill at the head, "" if there is no such skill."""
    bundle = session.bundle_of(session.head())
    skill = skill_lookup.find_skill_or_none(session, bundle, slug)
    return recorded_version(skill.card.version) if skill else ""


def check_outcome(outcome: str) -> str:
    """Return an outcome. Raises `InvalidInput` (`bad_outcome`)."""
    if outcome not in RUN_OUTCOMES:
        raise InvalidInput(
            f"{printable_text(outcome, 80)!r} is not an outcome of a run",
            code="bad_outcome",
            hint=f"it is one of {', '.join(RUN_OUTCOMES)}",
        )
    return outcome


def read_whole_run(session: Session, rev: str) -> Receipt:
    """Return the run that a revision carries a part of, up to this part, as one receipt.

    Raises as `read_part_at_revision` and `iter_parts`, and `FormatError` (`too_many`).
    """
    return _join_parts(session, read_part_at_revision(session, rev), ())


def read_open_run(session: Session, run: Run) -> Receipt:
    """Return a run in progress as one receipt."""
    part, previous, pending = run.read_chain_state()
    header = run.header._replace(part=part, previous=previous)
    return _join_parts(session, ReceiptPart(header, NO_DIGEST, NO_DIGEST), pending)


def _join_parts(session: Session, last: ReceiptPart, pending: tuple[RunStep, ...]) -> Receipt:
    pieces = [pending]
    count = len(pending)
    for part in iter_parts(session, last):
        pieces.append(part.receipt.steps)
        count += len(part.receipt.steps)
        if count > MAX_JOINED_STEPS:
            raise FormatError(
                f"the run has more than {MAX_JOINED_STEPS} steps",
                code="too_many",
                hint="read its parts one by one, by the snapshots that `brain why SLUG` names",
            )
    steps = tuple(step for piece in reversed(pieces) for step in piece)
    return last.receipt._replace(steps=steps, part=0, previous=NO_DIGEST)
