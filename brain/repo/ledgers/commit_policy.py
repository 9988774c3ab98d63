"""Commit automatically after a write, as the manifest's policy says."""

from __future__ import annotations

from collections.abc import Callable

from ...chain.ledger_protocol import Ledger
from ...errors import BrainError, Conflict, error_from_os
from ...results import Committed, NotCommitted
from ..manifest import CommitPolicy, load_commit_policy
from ..session import Session
from ..signing import rights
from . import commit, seen
from .seen import LastSeenHead

OpenLedger = Callable[[str], Ledger]
"""Opens a ledger by its name. Raises `NotFound` (`no_ledger`)."""

_MAX_SNAPSHOTS_SEARCHED = 64
"""Snapshots along first parents that are searched for enough signatures."""


def try_commit(session: Session, ledger: Ledger, snapshot: str) -> Committed | NotCommitted:
    """Commit the snapshot of an id; a failure is a result, and the snapshot stays."""
    try:
        return _commit_or_find_covering(session, ledger, snapshot)
    except (BrainError, OSError) as error:
        return _describe_failure(ledger.name, snapshot, error)


def commit_if_due(
    session: Session, open_ledger: OpenLedger, snapshot: str
) -> Committed | NotCommitted | None:
    """Commit what is due after a snapshot was recorded; None if nothing is.

    If the policy asks for signatures, the latest ancestor along first parents that has
    enough is committed: others can sign a snapshot only after it is recorded.
    """
    name, candidate = "?", snapshot
    try:
        policy = load_commit_policy(session, bytes.fromhex(snapshot))
        if policy is None:
            return None
        name = policy.ledger
        if policy.branch not in ("", session.current_branch()):
            return None
        ledger = open_ledger(name)
        last = seen.read_last_seen_heads(session.reader).get(ledger.identity)
        if last is not None and commit.is_covered(session, bytes.fromhex(snapshot), last.snapshot):
            # Another process has committed a descendant since the snapshot was recorded.
            return commit.describe_covering_head(session, ledger, bytes.fromhex(snapshot))
        committable = _find_latest_committable(session, policy, bytes.fromhex(snapshot), last)
        if committable is None or not is_commit_due(session, policy, last, committable):
            return None
        candidate = committable.hex()
        return _commit_or_find_covering(session, ledger, candidate)
    except (BrainError, OSError) as error:
        return _describe_failure(name, candidate, error)


def _commit_or_find_covering(session: Session, ledger: Ledger, snapshot: str) -> Committed:
    """Commit a snapshot, unless another process has committed a descendant."""
    try:
        return commit.commit_snapshot(session, ledger, snapshot)
    except Conflict:
        commitment = commit.describe_covering_head(session, ledger, bytes.fromhex(snapshot))
        if commitment is None:
            raise
        return commitment


def _find_latest_committable(
    session: Session, policy: CommitPolicy, snapshot: bytes, last: LastSeenHead | None
) -> bytes | None:
    """Return the latest snapshot that may be committed, None if the ledger has it."""
    for _ in range(_MAX_SNAPSHOTS_SEARCHED):
        if last is not None and snapshot == last.snapshot:
            return None
        if not policy.signed or rights.has_enough_signatures(session, snapshot):
            return snapshot
        parents = session.load_snapshot(snapshot).parents
        if not parents:
            return None
        snapshot = parents[0]
    return None


def is_commit_due(
    session: Session, policy: CommitPolicy, last: LastSeenHead | None, snapshot: bytes
) -> bool:
    """Return whether enough snapshots or time passed since the last commitment."""
    if last is None:
        return True
    if policy.every is not None:
        count = commit.count_covered_snapshots(session, snapshot, last.snapshot)
        if count is not None and count >= policy.every:
            return True
    if policy.after is None:
        return False
    return (
        session.load_snapshot(snapshot).time - session.load_snapshot(last.snapshot).time
        >= policy.after
    )


def _describe_failure(ledger: str, snapshot: str, problem: BrainError | OSError) -> NotCommitted:
    error = error_from_os(problem) if isinstance(problem, OSError) else problem
    hint = f"the snapshot is recorded; try again with `brain chain commit --ledger {ledger}`"
    return NotCommitted(ledger, snapshot, "failed", error.code, error.message, error.hint or hint)
