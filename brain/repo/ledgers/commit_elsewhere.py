"""Commitments that a wallet elsewhere signed, or sent itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Conflict, NotFound
from ...results import Committed
from ..session import Session
from .commit import build_commit_request, record_commitment, refuse_read_only

if TYPE_CHECKING:
    from ...chain.evm.evm_ledger import EvmLedger
    from ...chain.evm.signing.signed_transaction import ReceivedTransaction


def send_signed_commitment(
    session: Session, ledger: EvmLedger, received: ReceivedTransaction
) -> Committed:
    """Send a commitment of this brain that was signed elsewhere; `ledger` has that account.

    The snapshot has to be here. Raises `InvalidInput` (`another_brain`, `not_ours`,
    `wrong_chain`), and as `commit_snapshot`.
    """
    intent = ledger.presigned.read_intent(received, session.brain_id())
    try:
        session.load_snapshot(intent.snapshot)
    except NotFound as error:
        raise NotFound(
            f"the transaction commits {intent.snapshot.hex()[:12]}, which this copy of the brain"
            " does not have",
            code="no_revision",
            hint="send it where `--unsigned` wrote it, or fetch its snapshots first",
        ) from error
    refuse_read_only(session)
    changed = True
    if intent.kind == "commit":
        request = build_commit_request(session, ledger, intent.snapshot)
        changed = request.parent != intent.snapshot
        if changed and request.parent != intent.parent:
            raise Conflict(
                f"the ledger is at {request.parent.hex()[:12]}, and the transaction follows"
                f" {intent.parent.hex()[:12]}",
                code="stale_parent",
                hint="write it again with `brain chain commit --unsigned`, and sign that",
            )
    commitment = ledger.commit_signed(received, intent)
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
