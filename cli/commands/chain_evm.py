"""The commands of `brain chain` for ledgers on an EVM chain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from brain.errors import InvalidInput
from brain.util.utc_time import iso_second

from ..chosen_ledger import require_evm_ledger
from ..command import (
    COMMIT_EXITS,
    argument,
    brain_command,
    exit_statuses,
    flag,
)
from ..context import App
from ..error_report import LOCKED
from ..options import (
    chain_option,
    dry_run_option,
    end_of_hours,
    hours_option,
    revision_argument,
    unsigned_options,
)
from ..output import emit
from ..params import TextType
from ..render.costs import pending_prefix, price_lines, transaction_lines
from ..render.ledgers import committed_lines, disowned_lines
from ..settings import evm_ledgers
from ..terminal import escape

if TYPE_CHECKING:
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.evm.tx_status import SentTransaction


@brain_command(
    "deploy",
    examples=(
        "brain chain deploy --ledger sepolia --dry-run",
        "brain chain deploy --ledger sepolia",
    ),
    exits=exit_statuses(LOCKED),
)
@chain_option
@dry_run_option
@unsigned_options
def chain_deploy_command(app: App, ledger: str | None, dry_run: bool) -> None:
    """Deploy the registry contract to a chain.

    One deployment for each chain is enough for all users: the contract has no owner and
    cannot be changed. Where the usual deployment proxy exists, the address is the same
    on all chains. If the contract exists already, nothing is sent. Its address is stored
    in the settings of the ledger.
    """
    chain = require_evm_ledger(app, ledger)
    if dry_run:
        price = evm_ledgers.quote_price(chain, chain.deployment.quote_deploy())
        emit(app, price, price_lines(price))
        return
    result = chain.deployment.deploy()
    evm_ledgers.save_ledger_settings(chain.name, contract=result.contract, since=result.since)
    if not result.since:
        app.print_note(evm_ledgers.UNKNOWN_SINCE_NOTE)
    sent = result.sent
    document = {
        "ledger": chain.name,
        "identity": f"eip155:{chain.config.chain_id}:{result.contract}",
        "contract": result.contract,
        "since": result.since,
        "status": sent.status if sent else "finalized",
        "transaction": sent.transaction if sent else None,
        "gas": sent.gas if sent else None,
        "fee": sent.fee if sent else None,
    }
    was = "exists already" if sent is None else f"deployed in block {result.since}"
    emit(app, document, [escape(f"Contract {result.contract} {was}"), *transaction_lines(sent)])


_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


@brain_command(
    "record", examples=("brain chain record 0x9f86d081... --ledger sepolia",), exits=COMMIT_EXITS
)
@argument("transaction", metavar="TX", type=TextType("bad_hash"))
@chain_option
def chain_record_command(app: App, transaction: str, ledger: str | None) -> None:
    """Record what a wallet elsewhere committed.

    TX is the hash of the transaction, which the wallet sent after --unsigned printed it. Its
    commitment is noted in this brain, and the account that opened the brain in the settings of
    the ledger. Nothing is sent. Other commands take back what they printed when they are run
    again: `chain deploy` the contract, `chain batch` the anchor.
    """
    if not _HASH.fullmatch(transaction):
        raise InvalidInput(
            f'"{transaction}" is not the hash of a transaction',
            code="bad_hash",
            hint="it is 0x and 64 hex digits; explorers and wallets show it",
        )
    chain, hash = require_evm_ledger(app, ledger), transaction.lower()
    if not evm_ledgers.has_creator(chain.name):
        evm_ledgers.save_creator(chain, app.brain.ledger.find_creator(chain, hash))
        chain = require_evm_ledger(app, ledger)
    result = app.brain.ledger.record_mined(chain, hash)
    emit(app, result, committed_lines(result._replace(changed=True)))


@brain_command(
    "signer",
    examples=(
        "brain chain signer 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --ledger sepolia",
        "brain chain signer --none --ledger sepolia",
    ),
    exits=COMMIT_EXITS,
)
@argument("address", required=False, type=TextType("bad_address"))
@flag("--none", "nobody", help="Let only the owner commit.")
@chain_option
@unsigned_options
def chain_signer_command(app: App, address: str | None, nobody: bool, ledger: str | None) -> None:
    """Set the account that may commit this brain.

    It replaces the previous signer, and can only commit. Only the owner can set it; the
    key of the owner is not needed for commitments then.
    """
    if (address is None) != nobody:
        raise click.UsageError("Give either ADDRESS or --none.")
    chain = require_evm_ledger(app, ledger)
    sent = app.brain.ledger.set_signer(chain, address or "")
    effect = f"Signer is {address}" if address else "Only the owner can commit"
    _emit_transaction(app, chain, sent, effect)


@brain_command(
    "supersede",
    examples=(
        "brain chain supersede --ledger sepolia --dry-run",
        "brain chain supersede main --ledger sepolia",
    ),
    exits=COMMIT_EXITS,
)
@revision_argument
@chain_option
@dry_run_option
@unsigned_options
def chain_supersede_command(app: App, rev: str | None, ledger: str | None, dry_run: bool) -> None:
    """Disown commitments of a stolen or wrong signer.

    REV, by default the head, is committed in their place. The commitments that it descends
    from are kept; all later ones are listed, and then disowned. They stay on the chain,
    marked as disowned. Only the owner can do this, and the signer loses its right.
    """
    chain = require_evm_ledger(app, ledger)
    plan = app.brain.ledger.plan_repair(chain, rev or "@")
    if dry_run:
        priced = app.brain.ledger.quote_supersede(chain, plan)
        lines = disowned_lines(plan.last_valid.seq, plan.disowned)
        emit(app, priced, [*lines, *price_lines(priced.price)] if priced.price else lines)
        return
    for line in disowned_lines(plan.last_valid.seq, plan.disowned):
        app.print_note(line)
    result = app.brain.ledger.supersede(chain, plan)
    emit(app, result, committed_lines(result.commitment) if result.commitment else [])


_OFFER_HOURS = 168


@brain_command(
    "transfer",
    examples=(
        "brain chain transfer 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --ledger sepolia",
        "brain chain transfer --withdraw --ledger sepolia",
    ),
    exits=COMMIT_EXITS,
)
@argument("address", required=False, type=TextType("bad_address"))
@flag("--withdraw", help="Withdraw the offer.")
@hours_option(f"How many hours the offer stands.  [default: {_OFFER_HOURS}]")
@chain_option
@unsigned_options
def chain_transfer_command(
    app: App, address: str | None, withdraw: bool, hours: int | None, ledger: str | None
) -> None:
    """Offer this brain to another owner.

    The new owner has to accept with `brain chain accept`, in time, so a mistyped address
    cannot become the owner. The signer loses its right with the old owner.
    """
    if (address is None) != withdraw:
        raise click.UsageError("Give either ADDRESS or --withdraw.")
    if withdraw and hours is not None:
        raise click.UsageError("--hours is for an offer, not for --withdraw.")
    chain = require_evm_ledger(app, ledger)
    if address:
        ends = end_of_hours(hours or _OFFER_HOURS)
        sent = app.brain.ledger.offer(chain, address, ends=ends)
        _emit_transaction(app, chain, sent, f"Offered to {address} until {iso_second(ends)}")
    else:
        sent = app.brain.ledger.withdraw_offer(chain)
        _emit_transaction(app, chain, sent, "The offer is withdrawn")


@brain_command("accept", examples=("brain chain accept --ledger sepolia",), exits=COMMIT_EXITS)
@chain_option
@unsigned_options
def chain_accept_command(app: App, ledger: str | None) -> None:
    """Accept the ownership of an offered brain.

    The settings of the ledger must name the creator of the brain, which stays part of its
    id there: `brain config ledger.NAME.creator ADDRESS`.
    """
    chain = require_evm_ledger(app, ledger)
    sent = app.brain.ledger.accept_offer(chain)
    _emit_transaction(app, chain, sent, "The brain is yours, and nobody else can commit")


def _emit_transaction(app: App, chain: EvmLedger, sent: SentTransaction, effect: str) -> None:
    """Print what a transaction about the brain does."""
    lines = [escape(pending_prefix(sent, effect)), *transaction_lines(sent)]
    emit(app, evm_ledgers.transaction_document(chain, app.brain.id, sent), lines)
