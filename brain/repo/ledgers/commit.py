"""Commit snapshots to a ledger, quote the cost, and report the state of a ledger.

The ledger's head of the brain has to be an ancestor of what is committed: a lineage that
forked has to be merged first. The last commitment seen is noted in the store, so that a
ledger that forgets it is noticed, and so that its snapshot stays however one goes back.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...chain.ledger_protocol import (
    NO_PARENT,
    Commitment,
    CommitRequest,
    Ledger,
    LedgerHead,
    PricedLedger,
)
from ...errors import Conflict, NotFound, VerificationFailed
from ...objects import lineage
from ...results import Committed, CostQuote, LedgerStatus
from ..core.transaction import lock_for_writing
from ..open.session import Session
from ..read import lineage_cache
from ..read.ancestor_set import AncestorSet
from ..read.revisions import resolve_revision
from . import last_seen_head

if TYPE_CHECKING:
    from ...chain.evm.fees import Quote

_MAX_COMMIT_ATTEMPTS = 64
"""Times that others may come first before a commitment is given up."""


def commit_snapshot(session: Session, ledger: Ledger, revision: str = "@") -> Committed:
    """Record a revision in a ledger, after what it holds of this brain.

    Recording it again changes nothing. Raises `Conflict` (`ledger_ahead`, `ledger_forked`,
    `stale_parent`), `NotFound` (`not_open`), `VerificationFailed` (`rolled_back`) or
    `LedgerError`.
    """
    snapshot = resolve_revision(session, revision)
    refuse_read_only(session)
    return _record_commitment(session, ledger, _send_commitment(session, ledger, snapshot))


def _send_commitment(session: Session, ledger: Ledger, snapshot: bytes) -> Commitment:
    """Commit a snapshot, again where another process of this brain came in between."""
    for _ in range(_MAX_COMMIT_ATTEMPTS):
        try:
            return ledger.commit(*build_commit_request(session, ledger, snapshot))
        except Conflict as error:
            if error.code != "stale_parent":
                raise
    return ledger.commit(*build_commit_request(session, ledger, snapshot))


def find_covering_commitment(session: Session, ledger: Ledger, snapshot: bytes) -> Committed | None:
    """Return the last commitment if it is of what descends from a snapshot."""
    brain = session.brain_id()
    head = ledger.head(brain)
    with suppress(NotFound):  # of another copy of this brain
        if head is not None and snapshot in AncestorSet(session, head.snapshot):
            return describe_commitment(session, ledger, ledger.status(brain, head.snapshot))
    return None


def refuse_read_only(session: Session) -> None:
    """Refuse what could not be noted in the brain, before anything is sent.

    Raises `StoreError` (`read_only`), `Locked`.
    """
    with lock_for_writing(session):
        return


def build_commit_request(session: Session, ledger: Ledger, snapshot: bytes) -> CommitRequest:
    """Return what is to be committed after what; raises as `commit` before anything is sent."""
    brain = session.brain_id()
    head = ledger.head(brain)
    _refuse_rollback(session, ledger, head)
    if head is not None and head.snapshot != snapshot:
        _refuse_fork(session, ledger, head.snapshot, snapshot)
    return CommitRequest(brain, snapshot, head.snapshot if head else NO_PARENT)


def quote_commit(session: Session, ledger: Ledger, revision: str = "@") -> CostQuote:
    """Return what `commit` would cost; raises as it does."""
    request = build_commit_request(session, ledger, resolve_revision(session, revision))
    price = ledger.quote_commit(*request) if isinstance(ledger, PricedLedger) else None
    return describe_quote(ledger, request.brain, request.snapshot, price)


def quote_open(session: Session, ledger: Ledger, revision: str = "@") -> CostQuote:
    """Return what `open_in` would cost; raises as it does."""
    brain, snapshot = session.brain_id(), resolve_revision(session, revision)
    price = ledger.quote_open(brain, snapshot) if isinstance(ledger, PricedLedger) else None
    return describe_quote(ledger, brain, snapshot, price)


def describe_quote(ledger: Ledger, brain: bytes, snapshot: bytes, price: Quote | None) -> CostQuote:
    """Return a price as it is told, None standing for nothing."""
    costs = (0, 0, 0, 0, 0, 0)
    if price is not None:
        costs = (
            *(price.gas, price.expected_gas, price.base_fee),
            *(price.max_fee, price.expected, price.worst),
        )
    ids = (brain.hex() or None, snapshot.hex() or None)
    return CostQuote(ledger.name, ledger.identity, *ids, "quoted", *costs)


def open_in_ledger(session: Session, ledger: Ledger, revision: str = "@") -> Committed:
    """Make the first commitment of the brain. Raises `Conflict` (`already_open`)."""
    snapshot = resolve_revision(session, revision)
    refuse_read_only(session)
    made = ledger.open(session.brain_id(), snapshot)
    return _record_commitment(session, ledger, made)


def read_ledger_status(session: Session, ledger: Ledger, revision: str = "@") -> LedgerStatus:
    """Return where a ledger stands with this brain. Raises `VerificationFailed` (`rolled_back`)."""
    brain = session.brain_id()
    head = ledger.head(brain)
    _refuse_rollback(session, ledger, head)
    snapshot = resolve_revision(session, revision)
    made = ledger.history(brain)
    if snapshot not in {one.snapshot for one in made}:
        with suppress(NotFound):  # nothing was sent for it; else it waits, or came to nothing
            made.append(ledger.status(brain, snapshot))
    commitments = [describe_commitment(session, ledger, one) for one in made]
    last = commitments[-1] if commitments else None
    behind = count_covered_snapshots(session, snapshot, head.snapshot if head else None)
    return LedgerStatus(
        ledger.name,
        ledger.identity,
        brain.hex(),
        head.snapshot.hex() if head else None,
        head.seq if head else 0,
        last.status if last else "none",
        last.trust_level if last else "L0",
        (head.owner or None) if head else None,
        (head.signer or None) if head else None,
        behind,
        last.transaction if last else None,
        last.gas if last else None,
        commitments,
    )


def describe_commitment(session: Session, ledger: Ledger, made: Commitment) -> Committed:
    """Return a commitment as it is told."""
    parent = None if made.parent == NO_PARENT else made.parent
    return Committed(
        ledger.name,
        made.identity,
        made.brain.hex(),
        made.snapshot.hex(),
        parent.hex() if parent else None,
        made.seq,
        made.status,
        ledger.trust_level(made),
        made.time or None,
        count_covered_snapshots(session, made.snapshot, parent),
        made.block,
        made.block_hash or None,
        made.transaction or None,
        made.sender or None,
        made.gas,
        made.fee,
    )


def count_covered_snapshots(session: Session, new: bytes, old: bytes | None) -> int | None:
    """Count the snapshots behind `new` and not behind `old`; None if one is not here."""
    try:
        last = session.load_snapshot(new)
        first = None if old is None else session.load_snapshot(old)
    except NotFound:
        return None
    floor = first.generation if first else 0
    if any(floor < rank <= last.generation for _, rank in lineage_cache.list_merges(session)):
        return sum(1 for _ in lineage.walk_range(session.load_snapshot, new, old))
    # One line: each snapshot knows how many are behind it.
    return last.jump.depth - (first.jump.depth if first else -1)


def _record_commitment(session: Session, ledger: Ledger, made: Commitment) -> Committed:
    last_seen_head.record_last_seen_head(session, made)
    return describe_commitment(session, ledger, made)


def _refuse_rollback(session: Session, ledger: Ledger, head: LedgerHead | None) -> None:
    fault = last_seen_head.describe_rollback(
        ledger, head, last_seen_head.read_last_seen_heads(session.store).get(ledger.identity)
    )
    if fault:
        raise VerificationFailed(
            fault,
            code="rolled_back",
            hint="it is another ledger, a node that lags, or a ledger that forgets; commit to none",
        )


def _refuse_fork(session: Session, ledger: Ledger, there: bytes, here: bytes) -> None:
    """Refuse to commit what does not descend from the ledger's head."""
    name = there.hex()[:12]
    try:
        session.load_snapshot(there)
    except NotFound as error:
        raise Conflict(
            f"{ledger.name} holds a snapshot of this brain that is not here: {name}",
            code="ledger_ahead",
            hint="another copy of this brain went on; bring its snapshots here and merge them",
        ) from error
    if there in AncestorSet(session, here):
        return
    if here in AncestorSet(session, there):
        raise Conflict(
            f"{ledger.name} is further already: {name} descends from {here.hex()[:12]}",
            code="ledger_ahead",
            hint="a later commitment covers this snapshot; see `brain chain evidence`",
        )
    raise Conflict(
        f"{here.hex()[:12]} does not descend from what {ledger.name} holds, {name}",
        code="ledger_forked",
        hint=f"merge it first: `brain merge {name}`",
    )
