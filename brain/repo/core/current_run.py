"""The run that is in progress in this thread or asyncio task."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Protocol

from ...objects.bundle import Bundle
from ...objects.operation import SnapshotOperation
from ...objects.tree_entry import TreeEntry
from ..open.session import Session


class RunDraft(Protocol):
    """The receipts that a run writes for the snapshots of one transaction."""

    def encode_receipt(
        self,
        before: Bundle,
        after: Bundle,
        edits: Mapping[str, TreeEntry | None],
        operation: SnapshotOperation,
    ) -> bytes:
        """Return the receipt of the snapshot that is about to be recorded."""

    def add_carrier(self, snapshot_id: bytes) -> None:
        """Note which snapshot carries the last receipt."""

    def mark_durable(self) -> None:
        """Note that the transaction is durable, so that its steps are not written again."""


class ActiveRun(Protocol):
    """A run as the transaction sees it."""

    @property
    def session(self) -> Session:
        """The brain that the run is recorded in."""

    @property
    def closed(self) -> bool:
        """True if the run has ended."""

    def begin_draft(self) -> RunDraft:
        """Begin the receipts of one transaction."""


CURRENT_RUN: ContextVar[ActiveRun | None] = ContextVar("brain_run", default=None)
"""The run of this thread, or of this asyncio task."""


def current_draft(session: Session) -> RunDraft | None:
    """Return the receipt draft of the run in progress in a session, None without one."""
    run = CURRENT_RUN.get()
    if run is None or run.session is not session or run.closed:
        return None
    return run.begin_draft()
