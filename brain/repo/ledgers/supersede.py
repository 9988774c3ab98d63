"""Disown commitments that a stolen or wrong signer made, and commit a snapshot in their place.

The commitments up to the first that does not fit are kept: each is of a snapshot that is here,
descends from the one before, and is an ancestor of the superseding snapshot or that itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...chain.ledger_protocol import Commitment, not_open_error
from ...errors import Conflict
from ...results import Superseded
from ..session import Session
from . import seen
from .commit import (
    describe_commitment,
    describe_quote,
    is_covered,
    read_checked_history,
    refuse_read_only,
)

if TYPE_CHECKING:
    from ...chain.evm.evm_ledger import EvmLedger


class RepairPlan(NamedTuple):
    """The commitment to keep, and those after it to disown; none if `snapshot` did so before."""

    brain: bytes
    snapshot: bytes
    last_valid: Commitment
    disowned: list[Commitment]


def plan_repair(session: Session, ledger: EvmLedger, rev: str = "@") -> RepairPlan:
    """Return what `supersede` would disown; the plan is its argument.

    Raises `NotFound` (`not_open`), `Conflict` (`nothing_to_disown`, `not_descended`),
    `VerificationFailed` (`rolled_back`).
    """
    brain, snapshot = session.brain_id(), session.resolve(rev)
    history = read_checked_history(session, ledger, brain)
    if not history:
        raise not_open_error(ledger.name, ledger.creator)
    kept = _valid_commitments(session, history, snapshot)
    if not kept:
        raise Conflict(
            f"{snapshot.hex()[:12]} descends from no commitment of {ledger.name}",
            code="not_descended",
            hint="name a snapshot that descends from the last commitment of your own",
        )
    disowned = [each for each in history[kept[-1].seq :] if not each.disowned_by]
    if not disowned and not _has_superseded(history, snapshot):
        raise Conflict(
            f"all commitments in {ledger.name} lead to {snapshot.hex()[:12]}",
            code="nothing_to_disown",
            hint=f"commit it with `brain chain commit --ledger {ledger.name}`",
        )
    return RepairPlan(brain, snapshot, kept[-1], disowned)


def supersede(session: Session, ledger: EvmLedger, plan: RepairPlan) -> Superseded:
    """Disown commitments of a stolen signer, and commit a snapshot in their place.

    The signer loses its right. Raises `InvalidInput` (`unauthorized`), `Conflict`
    (`stale_parent`) if there are more commitments by now.
    """
    refuse_read_only(session)
    brain, snapshot = plan.brain, plan.snapshot
    if plan.disowned:
        since, head = plan.disowned[0].seq, plan.disowned[-1].snapshot
        commitment = ledger.supersede(brain, snapshot, head, since)
    else:  # a run before was stopped after it was sent
        commitment = ledger.status(brain, snapshot)
    # 7. Note the commitment in the brain; the steps before are those of chain/evm/tx_sender.
    seen.record_last_seen_head(session, commitment)
    seen.note_final_parent(session, ledger, commitment)
    return Superseded(
        commitment=describe_commitment(session, ledger, commitment)._replace(
            changed=bool(plan.disowned)
        ),
        kept=plan.last_valid.seq,
        disowned=[describe_commitment(session, ledger, each) for each in plan.disowned],
        price=None,
    )


def quote_supersede(session: Session, ledger: EvmLedger, plan: RepairPlan) -> Superseded:
    """Return what `supersede` disowns and costs, and send nothing; raises as it does."""
    price = None
    if plan.disowned:
        since, head = plan.disowned[0].seq, plan.disowned[-1].snapshot
        price = ledger.quote_supersede(plan.brain, plan.snapshot, head, since)
    return Superseded(
        commitment=None,
        kept=plan.last_valid.seq,
        disowned=[describe_commitment(session, ledger, each) for each in plan.disowned],
        price=describe_quote(ledger, plan.brain, plan.snapshot, price),
    )


def _valid_commitments(
    session: Session, history: Sequence[Commitment], snapshot: bytes
) -> list[Commitment]:
    kept: list[Commitment] = []
    for commitment in history:
        if commitment.disowned_by:
            continue
        follows = not kept or is_covered(session, kept[-1].snapshot, commitment.snapshot)
        if not follows or not is_covered(session, commitment.snapshot, snapshot):
            break
        kept.append(commitment)
    return kept


def _has_superseded(history: Sequence[Commitment], snapshot: bytes) -> bool:
    last = history[-1]
    return last.snapshot == snapshot and any(each.disowned_by == last.seq for each in history)
