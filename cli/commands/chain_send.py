"""The commands of `brain chain` about transactions that are sent or pending."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..chosen_ledger import require_evm_ledger
from ..command import brain_command, exit_statuses, option
from ..context import App
from ..error_report import LOCKED
from ..options import chain_option
from ..output import emit
from ..params import CountType
from ..render.costs import transaction_lines
from ..render.human_format import short_id
from ..settings import evm_ledgers
from ..terminal import escape

if TYPE_CHECKING:
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.evm.pending import MendedTransaction

_SEND_EXITS = exit_statuses(LOCKED)
_nonce_option = option(
    "--nonce", type=CountType(), help="The nonce of the transaction.  [default: the only one]"
)


@brain_command("resend", examples=("brain chain resend --ledger sepolia",), exits=_SEND_EXITS)
@chain_option
def chain_resend_command(app: App, ledger: str | None) -> None:
    """Send all pending transactions of your key again.

    Use this if a transaction stays pending. Nodes that forgot it get it again; one that
    waits for a nonce that nobody uses takes that nonce; one whose price was overtaken
    offers more, within the caps. What nodes say about transactions of other programs with
    the same key is ignored.
    """
    chain = require_evm_ledger(app, ledger)
    mended = chain.pending.resend()
    document = {
        "ledger": chain.name,
        "sender": chain.sender,
        "transactions": [_mended_document(chain, one) for one in mended],
    }
    lines = [line for one in mended for line in _mended_lines(one)]
    emit(app, document, lines or ["No transaction is pending"])


@brain_command(
    "speed-up",
    examples=("brain chain speed-up --ledger sepolia",),
    exits=_SEND_EXITS,
)
@_nonce_option
@chain_option
def chain_speed_up_command(app: App, nonce: int | None, ledger: str | None) -> None:
    """Offer a higher price for a pending transaction.

    The same call is sent at the same nonce for at least an eighth more, within the caps of
    the ledger, so only one of the two can happen. All transactions of a key wait for the
    one with the lowest nonce.
    """
    chain = require_evm_ledger(app, ledger)
    _emit_mended(app, chain, chain.pending.speed_up(nonce))


@brain_command(
    "cancel",
    examples=("brain chain cancel --ledger sepolia", "brain chain cancel --nonce 7 --ledger base"),
    exits=_SEND_EXITS,
)
@_nonce_option
@chain_option
def chain_cancel_command(app: App, nonce: int | None, ledger: str | None) -> None:
    """Take back a pending transaction.

    An empty transaction to your own account, at the same nonce and for a higher price,
    replaces it. That costs gas, but less than most calls. If the first is included
    meanwhile, the command fails and says so.
    """
    chain = require_evm_ledger(app, ledger)
    _emit_mended(app, chain, chain.pending.cancel(nonce))


def _emit_mended(app: App, chain: EvmLedger, mended: MendedTransaction) -> None:
    emit(app, _mended_document(chain, mended), _mended_lines(mended))


def _mended_document(chain: EvmLedger, mended: MendedTransaction) -> dict[str, Any]:
    intent = mended.intent
    return {
        **evm_ledgers.transaction_document(
            chain, intent.brain.hex() or None, mended.sent, intent.snapshot.hex() or None
        ),
        "nonce": mended.nonce,
        "kind": intent.kind,
    }


def _mended_lines(mended: MendedTransaction) -> Iterator[str]:
    snapshot = f" of {short_id(mended.intent.snapshot.hex())}" if mended.intent.snapshot else ""
    yield escape(f"Nonce {mended.nonce}: {mended.intent.kind}{snapshot}, {mended.sent.status}")
    yield from transaction_lines(mended.sent)
