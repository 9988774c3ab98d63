"""An open brain as its parts share it: the session and the lock around it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .. import results
    from ..chain.ledger_protocol import Ledger
    from ..experience.store import Store
    from ..repo.ledgers.commit_policy import OpenLedger
    from ..repo.open.session import Session
    from ..util.progress import Progress
    from .recorder import Recorder

T = TypeVar("T")
Written = TypeVar(
    "Written",
    "results.Decided",
    "results.MemoryChanged",
    "results.Merged",
    "results.Recorded",
    "results.SkillMergeResult",
    "results.Upserted",
)


class LockedSession:
    """A session, its lock among threads, and the ledgers that the manifest may name."""

    def __init__(self, session: Session, open_ledger: OpenLedger | None = None) -> None:
        self.session = session
        self.open_ledger = open_ledger
        self.recorder: Recorder | None = None
        """Notes what runs leave to learn from, once there is something."""
        self.lock = threading.RLock()

    def open_experience(self) -> Store:
        """Return the store of experience, with all that runs of this brain have left.

        Raises `InvalidInput` (`bad_experience_url`), `StoreError` (`not_installed`).
        """
        self.wait_for_recorder()
        return self.session.experience

    def wait_for_recorder(self, timeout: float | None = None) -> None:
        """Wait until all that runs have left is noted."""
        if self.recorder is not None:
            self.recorder.wait(timeout)

    def run(self, action: Callable[..., T], *args: Any) -> T:
        """Call `action(session, *args)`, one thread at a time."""
        with self.lock:
            return call_system(action, self.session, *args)

    def iterate(self, action: Callable[..., Iterator[T]], *args: Any) -> Iterator[T]:
        """Yield from `action(session, *args)`; other threads may work between two items."""
        with self.lock:
            items = action(self.session, *args)
        end = object()
        while True:
            with self.lock:
                item = call_system(next, items, end)
            if item is end:
                return
            yield item

    def run_write(
        self, action: Callable[..., Written], *args: Any, commit_to: Ledger | None = None
    ) -> Written:
        """Run an action that records a snapshot; commit it if `commit_to` or the manifest asks.

        A commitment that fails leaves the snapshot in place; the result says what happened.
        """
        result = self.run(action, *args)
        if commit_to is not None:
            from ..repo.ledgers import commit_policy

            commitment = self.run(commit_policy.try_commit, commit_to, result.snapshot)
            return result._replace(commitment=commitment)
        return self.commit_if_due(result)

    def commit_if_due(self, result: Written) -> Written:
        """Return a result with its commitment, if the manifest asks for one."""
        if self.open_ledger is None or not result.changed:
            return result
        from ..repo.open import manifest

        if not self.run(manifest.may_have_commit_policy, bytes.fromhex(result.snapshot)):
            return result
        from ..repo.ledgers import commit_policy

        return result._replace(
            commitment=self.run(commit_policy.commit_if_due, self.open_ledger, result.snapshot)
        )


class Part:
    """A part of `Brain`: operations of one kind on the same open brain."""

    def __init__(self, locked: LockedSession) -> None:
        self._locked = locked


def call_system(action: Callable[..., T], *args: Any) -> T:
    """Call `action`; an error of the operating system becomes a `BrainError`."""
    try:
        return action(*args)
    except OSError as error:
        from ..errors import error_from_os

        raise error_from_os(error) from error


def progress_args(progress: Progress | None) -> tuple[Progress, ...]:
    """Return the progress as arguments; none if it is None, so that an action's default holds."""
    return () if progress is None else (progress,)


def encode_body(body: str | bytes | None) -> bytes | None:
    """Return the text of a skill as bytes; None stays None."""
    return body.encode() if isinstance(body, str) else body
