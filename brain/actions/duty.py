"""Commitments that are due by themselves: what the manifest says of them, followed."""

from __future__ import annotations

from collections.abc import Callable

from ..chain.protocol import Ledger
from ..errors import BrainError, Conflict, of_system
from ..manifest import CommitPolicy, commit_policy
from ..results import Committed, NotCommitted
from ..session import Session
from . import committing, entitled, noted
from .noted import Seen

Open = Callable[[str], Ledger]
"""Opens a ledger by its name. Raises `NotFound` (`no_ledger`)."""

_LOOKED_BACK = 64
"""Snapshots of a line that are looked at for signatures."""


def commit_now(session: Session, ledger: Ledger, snapshot: str) -> Committed | NotCommitted:
    """Commit a snapshot that is recorded; it stands even if that fails."""
    try:
        return _covered(session, ledger, snapshot)
    except (BrainError, OSError) as error:
        return _failed(ledger.name, snapshot, error)


def follow(session: Session, open_ledger: Open, snapshot: str) -> Committed | NotCommitted | None:
    """Commit what is due, now that a snapshot was recorded; None if nothing is.

    Where signatures are asked for, that is the latest of its line that has them: others
    may sign a snapshot only once it is there.
    """
    name, candidate = "?", snapshot
    try:
        policy = commit_policy(session, bytes.fromhex(snapshot))
        if policy is None:
            return None
        name = policy.ledger
        if policy.branch not in ("", session.branch()):
            return None
        ledger = open_ledger(name)
        last = noted.seen(session.reader).get(ledger.identity)
        found = _latest_that_may(session, policy, bytes.fromhex(snapshot), last)
        if found is None or not is_due(session, policy, last, found):
            return None
        candidate = found.hex()
        return _covered(session, ledger, candidate)
    except (BrainError, OSError) as error:
        return _failed(name, candidate, error)


def _covered(session: Session, ledger: Ledger, snapshot: str) -> Committed:
    """Commit a snapshot, unless others have committed by now what descends from it."""
    try:
        return committing.commit(session, ledger, snapshot)
    except Conflict:
        made = committing.covering(session, ledger, bytes.fromhex(snapshot))
        if made is None:
            raise
        return made


def _latest_that_may(
    session: Session, policy: CommitPolicy, snapshot: bytes, last: Seen | None
) -> bytes | None:
    """Return the latest snapshot of a line that may be committed, None if it is no news."""
    for _ in range(_LOOKED_BACK):
        if last is not None and snapshot == last.snapshot:
            return None
        if not policy.signed or entitled.is_signed(session, snapshot):
            return snapshot
        parents = session.load(snapshot).parents
        if not parents:
            return None
        snapshot = parents[0]
    return None


def is_due(session: Session, policy: CommitPolicy, last: Seen | None, snapshot: bytes) -> bool:
    """Tell whether enough was recorded, or time has passed, since the last commitment."""
    if last is None:
        return True
    if policy.every is not None:
        count = committing.covered(session, snapshot, last.snapshot)
        if count is not None and count >= policy.every:
            return True
    if policy.after is None:
        return False
    return session.load(snapshot).time - session.load(last.snapshot).time >= policy.after


def _failed(ledger: str, snapshot: str, problem: BrainError | OSError) -> NotCommitted:
    error = of_system(problem) if isinstance(problem, OSError) else problem
    hint = f"the snapshot stands; try again with `brain chain commit --ledger {ledger}`"
    return NotCommitted(ledger, snapshot, "failed", error.code, error.message, error.hint or hint)
