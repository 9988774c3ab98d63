"""Commitments that are due by themselves: what the manifest says of them, followed."""

from __future__ import annotations

from collections.abc import Callable

from ..chain.protocol import Ledger
from ..errors import BrainError
from ..manifest import CommitPolicy, parse
from ..objects import bundle as bundles
from ..results import Committed, NotCommitted
from ..session import Session
from . import committing, entitled

Open = Callable[[str], Ledger]
"""Opens a ledger by its name. Raises `NotFound` (`no_ledger`)."""

_MANIFEST = "manifest.yaml"


def commit_now(session: Session, ledger: Ledger, snapshot: str) -> Committed | NotCommitted:
    """Commit a snapshot that is recorded; it stands even if that fails."""
    try:
        return committing.commit(session, ledger, snapshot)
    except BrainError as error:
        return _failed(ledger.name, snapshot, error)


def follow(session: Session, open_ledger: Open, snapshot: str) -> Committed | NotCommitted | None:
    """Commit a snapshot just recorded if the manifest says so; None if it does not."""
    name = "?"
    try:
        policy = policy_of(session, bytes.fromhex(snapshot))
        if policy is None:
            return None
        name = policy.ledger
        if policy.branch not in ("", session.branch()):
            return None
        ledger = open_ledger(name)
        if not is_due(session, policy, ledger.identity, bytes.fromhex(snapshot)):
            return None
        if policy.signed and not entitled.is_signed(session, bytes.fromhex(snapshot)):
            return None
        return committing.commit(session, ledger, snapshot)
    except BrainError as error:
        return _failed(name, snapshot, error)


def policy_of(session: Session, snapshot: bytes) -> CommitPolicy | None:
    """Return the policy that the manifest of a snapshot states. Raises `InvalidInput`."""
    entry = bundles.get(session.nodes, session.bundle_of(snapshot), _MANIFEST)
    if entry is None:
        return None
    content = session.reader.read_blob(entry.blob)
    if b"commit" not in content:  # spares most brains a parse with each write
        return None
    return parse(content).commit


def is_due(session: Session, policy: CommitPolicy, identity: str, snapshot: bytes) -> bool:
    """Tell whether enough was recorded, or time has passed, since the last commitment."""
    last = committing.seen(session.reader).get(identity)
    if last is None:
        return True
    if policy.every is not None:
        count = committing.covered(session, snapshot, last.snapshot)
        if count is not None and count >= policy.every:
            return True
    if policy.after is None:
        return False
    return session.load(snapshot).time - session.load(last.snapshot).time >= policy.after


def _failed(ledger: str, snapshot: str, error: BrainError) -> NotCommitted:
    hint = f"the snapshot stands; try again with `brain chain commit --ledger {ledger}`"
    return NotCommitted(ledger, snapshot, "failed", error.code, error.message, error.hint or hint)
