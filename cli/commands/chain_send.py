"""The commands of `brain chain` about transactions that are sent or pending."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from brain.errors import InvalidInput

from ..chosen_ledger import require_evm_ledger
from ..command import COMMIT_EXITS, argument, brain_command, exit_statuses, option
from ..context import App
from ..error_report import LOCKED
from ..options import chain_option, unsigned_options
from ..output import emit
from ..params import CountType, TextType
from ..render.costs import transaction_lines
from ..render.human_format import short_id
from ..render.ledgers import committed_lines
from ..settings import evm_ledgers
from ..terminal import escape
from ..user_files import named_in_errors, read_input
from .chain_evm import emit_deployment

if TYPE_CHECKING:
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.evm.pending import MendedTransaction

_SEND_EXITS = exit_statuses(LOCKED)
_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_nonce_option = option(
    "--nonce", type=CountType(), help="The nonce of the transaction.  [default: the only one]"
)


@brain_command(
    "send",
    examples=(
        "brain chain send signed.json --ledger sepolia",
        "brain chain send --mined HASH --ledger sepolia",
    ),
    exits=COMMIT_EXITS,
)
@argument("file", required=False, type=None)
@option(
    "--mined",
    type=TextType("bad_hash"),
    metavar="HASH",
    help="Record the commitment of a transaction that is in a block; send nothing.",
)
@chain_option
def chain_send_command(app: App, file: str | None, mined: str | None, ledger: str | None) -> None:
    """Send a transaction that was signed elsewhere.

    FILE holds what a wallet made of the output of --unsigned: the signed bytes in hex, or
    JSON with them; - is standard input. The transaction is decoded, compared with the
    ledger, and then followed like one of your own key. A commitment is recorded in this
    brain. If the wallet sent it itself, as a Safe does, --mined records the commitment that
    the transaction made.
    """
    if (file is None) == (mined is None):
        raise click.UsageError("Give either FILE or --mined HASH.")
    if mined is not None:
        _record_mined(app, ledger, mined)
    elif file is not None:
        _send_signed(app, ledger, file)


def _send_signed(app: App, ledger: str | None, file: str) -> None:
    from brain.chain.evm import signed_sender
    from brain.chain.evm.signing import signed_transaction

    content = read_input(file, signed_transaction.MAX_SIGNED_BYTES, "the signed transaction")
    with named_in_errors(file):
        received = signed_transaction.read_signed_file(content)
        kind = signed_sender.signed_kind(received)
    app.transactions_signed_by = received.sender
    chain = require_evm_ledger(app, ledger)
    if kind in signed_sender.COMMITMENT_KINDS:
        result = app.brain.ledger.send_signed(chain, received)
        if kind == "open":
            evm_ledgers.save_creator(chain, result.sender)
        emit(app, result, committed_lines(result))
        return
    intent = chain.presigned.read_intent(received, None)
    if kind == "deploy":
        record = chain.presigned.send(received, intent)
        emit_deployment(app, chain, chain.deployment.conclude(record))
        return
    from brain.chain.evm.pending import MendedTransaction

    sent = chain.presigned.transact(received, intent)
    _emit_mended(app, chain, MendedTransaction(received.transaction.nonce, intent, sent))


def _record_mined(app: App, ledger: str | None, mined: str) -> None:
    if not _HASH.fullmatch(mined):
        raise InvalidInput(
            f'"{mined}" is not the hash of a transaction',
            code="bad_hash",
            hint="it is 0x and 64 hex digits; explorers and wallets show it",
        )
    chain, hash = require_evm_ledger(app, ledger), mined.lower()
    if not evm_ledgers.has_creator(chain.name):
        evm_ledgers.save_creator(chain, app.brain.ledger.find_creator(chain, hash))
        chain = require_evm_ledger(app, ledger)
    result = app.brain.ledger.record_mined(chain, hash)
    emit(app, result, committed_lines(result._replace(changed=True)))


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
@unsigned_options
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
@unsigned_options
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
