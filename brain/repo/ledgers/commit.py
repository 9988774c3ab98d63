"""Commit snapshots to a ledger, quote the cost, and report the state of a ledger.

The ledger's head of the brain has to be an ancestor of the committed snapshot: a fork has to
be merged first. The store records the last commitment seen, which detects a rollback of the
ledger, and keeps its snapshot from being collected.
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
    OwnedLedger,
    PricedLedger,
)
from ...errors import Conflict, NotFound, VerificationFailed
from ...objects import lineage
from ...results import Committed, CostQuote, LedgerStatus
from .. import lineage_cache
from ..lineage_cache import AncestorSet
from ..session import Session
from ..transaction import lock_for_writing
from . import seen

if TYPE_CHECKING:
    from ...chain.evm.evm_ledger import EvmLedger
    from ...chain.evm.fees import Quote

ANOTHER_LOG_HINT = (
    "restore the folder of that log from a backup; to begin in this one, as on another machine,"
    " run `brain chain open --ledger local`"
)
_MAX_COMMIT_ATTEMPTS = 64
"""Attempts of a commitment if other processes of this brain commit first."""


def commit_snapshot(session: Session, ledger: Ledger, rev: str = "@") -> Committed:
    """Commit a revision to a ledger that already has an ancestor of it.

    Committing it again changes nothing. Raises `Conflict` (`ledger_ahead`, `ledger_forked`,
    `stale_parent`), `NotFound` (`not_open`), `VerificationFailed` (`rolled_back`, `another_log`)
    or `LedgerError`.
    """
    snapshot = session.resolve(rev)
    refuse_read_only(session)
    commitment, changed = _send_commitment(session, ledger, snapshot)
    return record_commitment(session, ledger, commitment)._replace(changed=changed)


def record_mined_commitment(session: Session, ledger: EvmLedger, transaction: str) -> Committed:
    """Record the commitment that another wallet made in a transaction.

    Raises `NotFound` (`not_committed`).
    """
    refuse_read_only(session)
    for commitment in ledger.history(session.brain_id()):
        if commitment.transaction == transaction:
            return record_commitment(session, ledger, commitment)
    raise NotFound(
        f"{ledger.name} has no commitment of this brain in the transaction {transaction}",
        code="not_committed",
        hint="wait until it is included, and check that it succeeded",
    )


def _send_commitment(session: Session, ledger: Ledger, snapshot: bytes) -> tuple[Commitment, bool]:
    """Commit a snapshot; retry if another process of this brain committed in between.

    Returns whether the ledger did not have it as its head before.
    """
    for _ in range(_MAX_COMMIT_ATTEMPTS):
        request = build_commit_request(session, ledger, snapshot)
        try:
            return ledger.commit(*request), request.parent != snapshot
        except Conflict as error:
            if error.code != "stale_parent":
                raise
    request = build_commit_request(session, ledger, snapshot)
    return ledger.commit(*request), request.parent != snapshot


def describe_covering_head(session: Session, ledger: Ledger, snapshot: bytes) -> Committed | None:
    """Return the last commitment if it covers a snapshot, else None."""
    brain = session.brain_id()
    head = _read_head(session, ledger, brain)
    if head is None or not is_covered(session, snapshot, head.snapshot):
        return None
    return describe_commitment(session, ledger, ledger.status(brain, head.snapshot))


def is_covered(session: Session, snapshot: bytes, committed: bytes) -> bool:
    """Return whether a committed snapshot is, or descends from, a snapshot.

    False for a committed snapshot of another copy of this brain that is not here.
    """
    try:
        return snapshot in AncestorSet(session, committed)
    except NotFound:
        return False


def refuse_read_only(session: Session) -> None:
    """Refuse a brain in which the commitment could not be recorded, before sending it.

    Raises `StoreError` (`read_only`), `Locked`.
    """
    with lock_for_writing(session):
        return


def build_commit_request(session: Session, ledger: Ledger, snapshot: bytes) -> CommitRequest:
    """Return the request to commit a snapshot; raises as `commit_snapshot`, sends nothing."""
    brain = session.brain_id()
    head = _read_head(session, ledger, brain)
    if head is not None and head.snapshot != snapshot:
        _refuse_fork(session, ledger, head.snapshot, snapshot)
    return CommitRequest(brain, snapshot, head.snapshot if head else NO_PARENT)


def build_request(session: Session, ledger: Ledger, rev: str = "@") -> CommitRequest:
    """Return the request that `commit` would send, with raw ids. Raises as `commit`."""
    return build_commit_request(session, ledger, session.resolve(rev))


def quote_commit(session: Session, ledger: Ledger, rev: str = "@") -> CostQuote:
    """Return the cost of `commit`, and send nothing. Raises as `commit`."""
    request = build_request(session, ledger, rev)
    price = ledger.quote_commit(*request) if isinstance(ledger, PricedLedger) else None
    return describe_quote(ledger, request.brain, request.snapshot, price)


def quote_open(session: Session, ledger: Ledger, rev: str = "@") -> CostQuote:
    """Return the cost of `open`, and send nothing. Raises as `open`."""
    brain, snapshot = session.brain_id(), session.resolve(rev)
    price = ledger.quote_open(brain, snapshot) if isinstance(ledger, PricedLedger) else None
    return describe_quote(ledger, brain, snapshot, price)


def describe_quote(ledger: Ledger, brain: bytes, snapshot: bytes, price: Quote | None) -> CostQuote:
    """Return a price as a result; a price of None is zero."""
    return CostQuote(
        ledger=ledger.name,
        identity=ledger.identity,
        brain=brain.hex() or None,
        snapshot=snapshot.hex() or None,
        status="quoted",
        gas=price.gas if price else 0,
        expected_gas=price.expected_gas if price else 0,
        base_fee=price.base_fee if price else 0,
        max_fee=price.max_fee if price else 0,
        expected=price.expected if price else 0,
        worst=price.worst if price else 0,
    )


def open_in_ledger(session: Session, ledger: Ledger, rev: str = "@") -> Committed:
    """Make the first commitment of this brain in a ledger.

    Raises `Conflict` (`already_open`) or `LedgerError`.
    """
    snapshot = session.resolve(rev)
    refuse_read_only(session)
    if seen.read_final_head(session.store, ledger, session.brain_id()):
        _read_head(session, ledger, session.brain_id())  # a chain that lost the brain is refused
    commitment = ledger.open(session.brain_id(), snapshot)
    return record_commitment(session, ledger, commitment)._replace(changed=True)


def read_ledger_status(session: Session, ledger: Ledger, rev: str = "@") -> LedgerStatus:
    """Return the commitment of this brain in a ledger, and its distance to a revision.

    Raises `VerificationFailed` (`rolled_back`, `another_log`) or `LedgerError`.
    """
    from ...util.utc_time import LAST_SECOND, utc_time

    brain = session.brain_id()
    head = _read_head(session, ledger, brain)
    snapshot = session.resolve(rev)
    history = read_checked_history(session, ledger, brain)
    seen.note_final_head(session, ledger, history)
    if snapshot not in {commitment.snapshot for commitment in history}:
        with suppress(NotFound):  # else it is pending, failed or replaced
            history.append(ledger.status(brain, snapshot))
    commitments = [describe_commitment(session, ledger, commitment) for commitment in history]
    last = commitments[-1] if commitments else None
    behind = count_covered_snapshots(session, snapshot, head.snapshot if head else None)
    offer = ledger.offer(brain) if head and isinstance(ledger, OwnedLedger) else None
    return LedgerStatus(
        ledger=ledger.name,
        identity=ledger.identity,
        brain=brain.hex(),
        snapshot=head.snapshot.hex() if head else None,
        seq=head.seq if head else 0,
        status=last.status if last else "none",
        trust_level=last.trust_level if last else "L0",
        owner=(head.owner or None) if head else None,
        signer=(head.signer or None) if head else None,
        offered_to=offer.to if offer else None,
        offer_ends=utc_time(min(offer.ends, LAST_SECOND) * 1000) if offer else None,
        behind=behind,
        transaction=last.transaction if last else None,
        gas=last.gas if last else None,
        commitments=commitments,
    )


def describe_commitment(session: Session, ledger: Ledger, commitment: Commitment) -> Committed:
    """Return a commitment as a result."""
    from ...util.utc_time import utc_time

    parent = None if commitment.parent == NO_PARENT else commitment.parent
    return Committed(
        ledger=ledger.name,
        identity=commitment.identity,
        brain=commitment.brain.hex(),
        snapshot=commitment.snapshot.hex(),
        parent=parent.hex() if parent else None,
        seq=commitment.seq,
        status=commitment.status,
        trust_level=ledger.trust_level(commitment),
        time=utc_time(commitment.time) if commitment.time else None,
        snapshots=count_covered_snapshots(session, commitment.snapshot, parent),
        block=commitment.block,
        block_hash=commitment.block_hash or None,
        transaction=commitment.transaction or None,
        sender=commitment.sender or None,
        author=commitment.author or None,
        gas=commitment.gas,
        fee=commitment.fee,
        disowned_by=commitment.disowned_by or None,
        changed=False,
    )


def count_covered_snapshots(session: Session, new: bytes, old: bytes | None) -> int | None:
    """Count the ancestors of `new` that are not those of `old`; None if one is not here."""
    try:
        last = session.load_snapshot(new)
        first = None if old is None else session.load_snapshot(old)
    except NotFound:
        return None
    floor = first.generation if first else 0
    if any(floor < rank <= last.generation for _, rank in lineage_cache.list_merges(session)):
        return sum(1 for _ in lineage.walk_range(session.load_snapshot, new, old))
    # Without merges in between, the depths give the count.
    return max(last.jump.depth - (first.jump.depth if first else -1), 0)


def record_commitment(session: Session, ledger: Ledger, commitment: Commitment) -> Committed:
    """Note a commitment as the last one seen, if it is, and return it as a result."""
    # 7. Note the commitment in the brain; the steps before are those of chain/evm/tx_sender.
    seen.record_last_seen_head(session, commitment)
    seen.note_final_parent(session, ledger, commitment)
    return describe_commitment(session, ledger, commitment)


def read_checked_history(session: Session, ledger: Ledger, brain: bytes) -> list[Commitment]:
    """Return all commitments of a brain. Raises `VerificationFailed` (`rolled_back`)."""
    last_final = seen.read_final_head(session.store, ledger, brain)
    history = ledger.history(brain)
    _refuse_rollback(seen.describe_final_rollback(ledger, last_final, history))
    return history


def _read_head(session: Session, ledger: Ledger, brain: bytes) -> LedgerHead | None:
    """Return the ledger's head. Raises `VerificationFailed` (`rolled_back`, `another_log`)."""
    # Read first: another process may commit, and record it, after the head was read.
    last_seen = seen.read_last_seen_heads(session.store)
    last_final = seen.read_final_head(session.store, ledger, brain)
    head = ledger.head(brain)
    _refuse_rollback(
        seen.describe_rollback(ledger, head, last_seen.get(ledger.identity))
        or seen.describe_final_rollback(ledger, last_final, [head] if head else [])
    )
    other = seen.describe_other_log(ledger, head, last_seen)
    if other:
        raise VerificationFailed(other, code="another_log", hint=ANOTHER_LOG_HINT)
    return head


def _refuse_rollback(fault: str) -> None:
    if fault:
        raise VerificationFailed(
            fault,
            code="rolled_back",
            hint="it is another ledger, it was rolled back, or a node lags; do not commit to it",
        )


def _refuse_fork(session: Session, ledger: Ledger, head: bytes, snapshot: bytes) -> None:
    name = head.hex()[:12]
    try:
        session.load_snapshot(head)
    except NotFound as error:
        raise Conflict(
            f"{ledger.name} holds a snapshot of this brain that is not here: {name}",
            code="ledger_ahead",
            hint="if another copy of this brain committed it, fetch its snapshots and merge them"
            + _supersede_hint(ledger),
        ) from error
    if head in AncestorSet(session, snapshot):
        return
    if snapshot in AncestorSet(session, head):
        raise Conflict(
            f"{ledger.name} is ahead: {name} descends from {snapshot.hex()[:12]}",
            code="ledger_ahead",
            hint="a later commitment covers this snapshot; see `brain chain evidence`",
        )
    raise Conflict(
        f"{snapshot.hex()[:12]} does not descend from the head of {ledger.name}, {name}",
        code="ledger_forked",
        hint=f"merge it first: `brain merge {name}`{_supersede_hint(ledger)}",
    )


def _supersede_hint(ledger: Ledger) -> str:
    if not isinstance(ledger, PricedLedger):
        return ""
    return (
        "; if a stolen key did, the owner disowns it with"
        f" `brain chain owner --disown REV --ledger {ledger.name}`"
    )
