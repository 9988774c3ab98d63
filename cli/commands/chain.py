"""The commands of `brain chain` that commit to a ledger and verify against it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain.errors import BrainError, VerificationFailed
from brain.util.utc_time import epoch_ms, iso_second

from ..chosen_ledger import (
    open_anchoring_ledger,
    open_chosen_ledger,
    open_ledgers,
    require_evm_ledger,
    resolve_ledger_name,
)
from ..command import COMMIT_EXITS, VERIFY_EXITS, argument, brain_command, exit_statuses, option
from ..context import App
from ..error_report import CONFLICT, LOCKED, NO_BRAIN, VERIFICATION_FAILED
from ..options import (
    dry_run_option,
    ledger_option,
    no_record_option,
    revision_argument,
    unsigned_options,
)
from ..output import emit
from ..params import TextType
from ..render.costs import price_lines
from ..render.human_format import align_columns, format_ether, pluralize, short_id
from ..render.ledgers import committed_lines, ledger_advice, verified_ledger_lines
from ..render.verdicts import finding_line
from ..settings.user_ledgers import LOCAL_LEDGER, open_local_log
from ..terminal import escape

if TYPE_CHECKING:
    from brain.results import Batch, Committed, CostQuote, LedgerStatus, LedgersVerified


@brain_command(
    "open",
    examples=("brain chain open --ledger sepolia", "brain chain open --ledger sepolia --dry-run"),
    exits=COMMIT_EXITS,
)
@revision_argument
@ledger_option
@dry_run_option
@unsigned_options
@no_record_option
def chain_open_command(app: App, rev: str | None, ledger: str | None, dry_run: bool) -> None:
    """Make the first commitment of this brain in a ledger.

    REV is by default the head. On a chain, the account that opens a brain becomes its
    first owner; no other account can open it under that creator.
    """
    found = open_chosen_ledger(app, ledger)
    if dry_run:
        _emit_price(app, app.brain.ledger.quote_open(found, rev or "@"))
        return
    app.record_edits(rev=rev)
    result = app.brain.ledger.open(found, rev or "@")
    if result.transaction is not None:
        from ..settings import evm_ledgers

        evm_ledgers.save_creator(found, result.sender)
    emit(app, result, committed_lines(result))


def _emit_price(app: App, price: CostQuote) -> None:
    emit(app, price, price_lines(price))


@brain_command(
    "commit",
    examples=("brain chain commit", "brain chain commit @~1 --ledger sepolia --dry-run"),
    exits=COMMIT_EXITS,
)
@revision_argument
@ledger_option
@dry_run_option
@unsigned_options
@no_record_option
def chain_commit_command(app: App, rev: str | None, ledger: str | None, dry_run: bool) -> None:
    """Record a snapshot in a ledger.

    REV is by default the head. It must descend from the last commitment of this brain;
    merge diverged branches first. Committing the same snapshot again changes nothing
    and costs nothing. On a chain the cost is printed before the transaction is sent,
    and the brain must be opened there first.
    """
    found = open_chosen_ledger(app, ledger)
    if dry_run:
        _emit_price(app, app.brain.ledger.quote_commit(found, rev or "@"))
        return
    app.record_edits(rev=rev)
    result = app.brain.ledger.commit(found, rev or "@")
    emit(app, result, committed_lines(result))


@brain_command(
    "batch",
    examples=("brain chain batch brains/*", "brain chain batch --ledger base brains/*"),
    exits=exit_statuses(VERIFICATION_FAILED, LOCKED, CONFLICT),
)
@argument("folders", metavar="DIR...", nargs=-1, required=True, type=TextType("bad_path"))
@option(
    "--ledger",
    type=TextType("bad_ledger"),
    metavar="NAME",
    help="Also anchor the log in this ledger, in one transaction.  [default: local]",
)
@dry_run_option
@unsigned_options
def chain_batch_command(
    app: App, folders: tuple[str, ...], ledger: str | None, dry_run: bool
) -> None:
    """Commit many brains in one step.

    The heads of the brains in all DIR become entries of the log of this machine. With a
    ledger on a chain, a checkpoint of the log is anchored there, in one transaction for any
    number of brains. `brain chain evidence` then writes evidence for each brain. A brain
    that cannot be committed is reported and left out.
    """
    from brain import commit_batch

    chain = None
    if ledger not in (None, LOCAL_LEDGER) or app.transactions_signed_by is not None:
        chain = require_evm_ledger(app, ledger)
    with open_local_log() as log:
        if dry_run:
            from brain.chain.anchored_log import quote_log_anchor

            from ..settings import evm_ledgers

            quote = quote_log_anchor(log, chain) if chain else None
            _emit_price(app, evm_ledgers.quote_price(chain or log, quote))
            return
        result = commit_batch(folders, log, chain, author=app.author)
    emit(app, result, _batch_lines(result))
    if result.left:
        raise BrainError(
            f"{pluralize(len(result.left), 'brain')} not committed",
            code="left_out",
            hint="the output has the reason for each; the others are committed",
        )


def _batch_lines(result: Batch) -> Iterator[str]:
    for one in result.committed:
        yield f"{short_id(one.brain)}: commitment {one.seq} of {short_id(one.snapshot)}"
    for omitted in result.left:
        yield escape(f"{omitted.path}: {omitted.message}")
    same = f", {result.unchanged} had nothing new" if result.unchanged else ""
    yield f"{pluralize(len(result.committed), 'brain')} committed to {escape(result.ledger)}{same}"
    anchored = result.anchored
    if anchored is None:
        return
    yield f"Log of {anchored.size:,} anchored in {escape(anchored.ledger)}, {anchored.status}"
    if anchored.transaction is None:
        return  # it was anchored before
    yield f"Transaction {anchored.transaction}"
    if anchored.gas is not None and anchored.fee is not None:
        each = anchored.gas / max(len(result.committed) + result.unchanged, 1)
        yield f"Gas {anchored.gas:,}, {each:,.1f} a brain, {format_ether(anchored.fee)}"


@brain_command(
    "status",
    examples=("brain chain status", "brain chain status --ledger sepolia --json"),
    exits=exit_statuses(VERIFICATION_FAILED, NO_BRAIN, CONFLICT),
)
@revision_argument
@ledger_option
def chain_status_command(app: App, rev: str | None, ledger: str | None) -> None:
    """Show the commitments of this brain in a ledger.

    Lists the commitments, how final each is, how many snapshots each covers, and how
    many snapshots of REV, by default the head, are not covered yet.
    """
    found = app.brain.ledger.status(open_anchoring_ledger(app, ledger), rev or "@")
    emit(app, found, _ledger_status_lines(found))


def _ledger_status_lines(found: LedgerStatus) -> Iterator[str]:
    identity = escape(found.identity) or "not created yet"
    yield f"Ledger {escape(found.ledger)}, {identity}"
    if not found.commitments:
        yield "No commitment of this brain"
        return
    if found.owner:
        signer = f", signer {found.signer}" if found.signer else ""
        yield f"Owner {found.owner}{signer}"
    if found.offered_to and found.offer_ends:
        ends = iso_second(epoch_ms(found.offer_ends) // 1000)
        yield f"Offered to {found.offered_to} until {ends}"
    yield from align_columns(_commitment_row(one, found.owner) for one in found.commitments)
    match found.behind:
        case None:
            yield "The last commitment is of a snapshot that this copy of the brain does not have"
        case 0:
            yield "All snapshots are covered"
        case behind:
            yield f"{pluralize(behind, 'snapshot')} not covered yet"


def _commitment_row(one: Committed, owner: str | None) -> tuple[str, ...]:
    remark = "" if one.snapshots is None else pluralize(one.snapshots, "snapshot")
    if one.disowned_by is not None:
        remark = f"disowned by commitment {one.disowned_by}"
    by = f"by {one.author}" if one.author not in (None, owner) else ""
    return str(one.seq), short_id(one.snapshot), one.status, one.trust_level, remark, by


@brain_command(
    "verify",
    examples=("brain chain verify", "brain chain verify --ledger all"),
    exits=VERIFY_EXITS,
)
@ledger_option
def chain_verify_command(app: App, ledger: str | None) -> None:
    """Verify this brain against a ledger.

    Every commitment must be of a snapshot of this brain and descend from the commitment
    before, and a branch must descend from the last one. The ledger itself is verified
    too. `--ledger all` checks every ledger. `brain verify --ledger NAME` also verifies
    the whole lineage.
    """
    found = app.brain.ledger.verify(open_ledgers(app, resolve_ledger_name(app, ledger)))
    emit(app, found, _chain_verification_lines(found))
    if not found.ok:
        errors = sum(one.severity == "error" for one in found.findings)
        raise VerificationFailed(
            f"verification against the ledger failed: {pluralize(errors, 'error')}",
            hint=ledger_advice(found.findings),
        )


def _chain_verification_lines(found: LedgersVerified) -> Iterator[str]:
    yield from map(finding_line, found.findings)
    yield from verified_ledger_lines(found.ledgers)
