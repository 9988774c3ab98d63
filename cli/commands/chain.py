"""The commands of `brain chain`: commitments in a ledger, and evidence of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import BrainError, InvalidInput, NotFound
from brain.util.utc_time import epoch_ms, iso_second

from ..chosen_ledger import open_anchoring_ledger, open_chosen_ledger, require_evm_ledger
from ..command import (
    COMMIT_EXITS,
    argument,
    brain_command,
    exit_statuses,
    flag,
    option,
    repeated_option,
)
from ..context import App
from ..error_report import CONFLICT, LOCKED, NO_BRAIN, VERIFICATION_FAILED
from ..options import (
    chain_option,
    dry_run_option,
    end_of_hours,
    hours_option,
    ledger_option,
    no_record_option,
    output_option,
    revision_argument,
    unsigned_options,
)
from ..output import emit, emit_file, to_json
from ..params import NonEmptyType, TextType
from ..render.costs import pending_prefix, price_lines, transaction_lines
from ..render.human_format import align_columns, format_ether, format_size, pluralize, short_id
from ..render.ledgers import committed_lines, disowned_lines
from ..settings import user_ledgers
from ..settings.user_ledgers import LOCAL_LEDGER, MAX_NOTE_BYTES, open_local_log
from ..terminal import escape
from ..user_files import named_in_errors, read_input, write_output_file

if TYPE_CHECKING:
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.results import Batch, Committed, CostQuote, LedgerStatus


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
        user_ledgers.save_creator(found, result.sender)
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

            quote = quote_log_anchor(log, chain) if chain else None
            _emit_price(app, user_ledgers.quote_price(chain or log, quote))
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
    examples=("brain chain status", "brain chain status --ledger local -o checkpoint.txt"),
    exits=exit_statuses(VERIFICATION_FAILED, NO_BRAIN, CONFLICT),
)
@revision_argument
@ledger_option
@option(
    "-o",
    "--output",
    type=None,
    metavar="FILE",
    help="Also write the checkpoint of the log of this machine to FILE.",
)
def chain_status_command(app: App, rev: str | None, ledger: str | None, output: str | None) -> None:
    """Show the commitments of this brain in a ledger.

    Lists the commitments, how final each is, how many snapshots each covers, and how
    many snapshots of REV, by default the head, are not covered yet.

    Of the log of this machine it also prints the key, which readers of evidence have to know.
    A checkpoint (C2SP tlog-checkpoint) is the signed size and root hash of the log. It binds
    you once others have it: publish it, have witnesses cosign it (`brain chain record`), or
    anchor it in a chain (`brain chain batch`). `brain verify --ledger local --compare FILE`
    compares the log with one that was kept elsewhere.
    """
    opened = open_anchoring_ledger(app, ledger)
    found = app.brain.ledger.status(opened, rev or "@")
    key, checkpoint = _read_log() if opened.name == LOCAL_LEDGER else (None, None)
    if output is not None:
        if checkpoint is None:
            raise click.UsageError("-o is for the checkpoint of the log, once it has an entry.")
        write_output_file(output, checkpoint.encode())
    lines = [*_ledger_status_lines(found), *([f"Key of the log: {escape(key)}"] if key else [])]
    document = {**to_json(found), "key": key, "checkpoint": checkpoint, "file": output}
    emit(app, document, lines)


def _read_log() -> tuple[str | None, str | None]:
    """Return the verifier key of the log of this machine, and its last checkpoint, if any."""
    with open_local_log() as log:
        try:
            return log.key, log.checkpoint()
        except NotFound:
            return None, None


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
    "evidence",
    examples=(
        "brain chain evidence -o evidence.json",
        "brain chain evidence @~2 --path skills/reentrancy/SKILL.md --ledger sepolia -o e.json",
    ),
    exits=exit_statuses(VERIFICATION_FAILED, NO_BRAIN, CONFLICT),
)
@revision_argument
@option(
    "--path",
    type=TextType("bad_path"),
    metavar="PATH",
    help="Also prove that the snapshot has this file, with its content.",
)
@ledger_option
@output_option("the evidence")
def chain_evidence_command(
    app: App, rev: str | None, path: str | None, ledger: str | None, output: str | None
) -> None:
    """Write evidence of a commitment to a file.

    The file proves the path from the snapshot, or a file in it, to the signature of the
    ledger or a block of a chain; `brain verify FILE` and `python -m brain.chain.check`
    need nothing else. A snapshot without a commitment is proven by the next commitment.
    """
    data = app.brain.ledger.build_evidence(
        open_anchoring_ledger(app, ledger), rev or "@", path or ""
    )
    from brain import check_evidence

    note = (
        f"Evidence in {escape(output or '')}, {format_size(len(data))}\n"
        "To verify it, one must know the block hash or the key of the log from another source."
    )
    found = check_evidence(data, in_store=app.brain.history.has)
    emit_file(app, found, "evidence", data, output, note)


_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


@brain_command(
    "record",
    examples=(
        "brain chain record 0x9f86d081... --ledger sepolia",
        "brain chain record cosigned.txt --witness KEY",
    ),
    exits=COMMIT_EXITS,
)
@argument("made", metavar="TX|FILE", type=TextType("bad_hash"))
@option(
    "--ledger", type=TextType("bad_ledger"), metavar="NAME", help="The ledger on a chain, for TX."
)
@repeated_option(
    "--witness",
    "witnesses",
    type=TextType("bad_key"),
    metavar="KEY",
    help="The verifier key of a witness who signed the checkpoint in FILE; repeatable.",
)
def chain_record_command(
    app: App, made: str, ledger: str | None, witnesses: tuple[str, ...]
) -> None:
    """Record what a wallet or a witness made elsewhere.

    TX is the hash of a transaction that a wallet sent after --unsigned printed it. Its
    commitment is noted in this brain, and the account that opened the brain in the settings of
    the ledger. Nothing is sent. Other commands take back what they printed when they are run
    again: `chain deploy` the contract, `chain batch` the anchor.

    With --witness, FILE is a checkpoint of the log of this machine, as `chain status -o` wrote
    it, with the lines of the witnesses. Their signatures are stored, and evidence has them.
    """
    if witnesses:
        _record_cosignatures(app, made, witnesses)
        return
    if not _HASH.fullmatch(made):
        raise InvalidInput(
            f'"{made}" is not the hash of a transaction',
            code="bad_hash",
            hint="it is 0x and 64 hex digits; explorers and wallets show it",
        )
    chain, hash = require_evm_ledger(app, ledger), made.lower()
    if not user_ledgers.has_creator(chain.name):
        user_ledgers.save_creator(chain, app.brain.ledger.find_creator(chain, hash))
        chain = require_evm_ledger(app, ledger)
    result = app.brain.ledger.record_mined(chain, hash)
    emit(app, result, committed_lines(result._replace(changed=True)))


def _record_cosignatures(app: App, file: str, witnesses: tuple[str, ...]) -> None:
    note = read_input(file, MAX_NOTE_BYTES, "the checkpoint").decode("utf-8", "replace")
    with open_local_log() as log, named_in_errors(file):
        names = [one.key.name for one in log.add_cosignature(note, witnesses)]
        document = {"ledger": log.name, "identity": log.identity, "cosigned": names}
    stored = f"Stored {pluralize(len(names), 'cosignature')}: {', '.join(map(escape, names))}"
    emit(app, document, [stored])


@brain_command(
    "deploy",
    examples=(
        "brain chain deploy --ledger sepolia --dry-run",
        "brain chain deploy --ledger sepolia",
    ),
    exits=exit_statuses(LOCKED, CONFLICT),
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
        price = user_ledgers.quote_price(chain, chain.deployment.quote_deploy())
        emit(app, price, price_lines(price))
        return
    result = chain.deployment.deploy()
    user_ledgers.save_contract(chain.name, result.contract, result.since)
    if not result.since:
        app.print_note(user_ledgers.UNKNOWN_SINCE_NOTE)
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


_OFFER_HOURS = 168
_NOBODY = "none"


@brain_command(
    "owner",
    examples=(
        "brain chain owner --signer 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --ledger sepolia",
        "brain chain owner --offer 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --ledger sepolia",
        "brain chain owner --accept --ledger sepolia",
        "brain chain owner --disown @ --ledger sepolia --dry-run",
    ),
    exits=COMMIT_EXITS,
)
@option(
    "--signer",
    type=TextType("bad_address"),
    metavar="ADDRESS",
    help="Let this account commit, in place of any before; none: only the owner.",
)
@option(
    "--offer",
    type=TextType("bad_address"),
    metavar="ADDRESS",
    help="Offer the brain to another owner; none: withdraw the offer.",
)
@hours_option(f"With --offer: how many hours it stands.  [default: {_OFFER_HOURS}]")
@flag("--accept", help="Take over a brain that was offered to your account.")
@option(
    "--disown",
    type=NonEmptyType(),
    metavar="REV",
    help="Disown commitments of a stolen or wrong signer, and commit REV in their place.",
)
@chain_option
@dry_run_option
@unsigned_options
def chain_owner_command(
    app: App,
    signer: str | None,
    offer: str | None,
    hours: int | None,
    accept: bool,
    disown: str | None,
    ledger: str | None,
    dry_run: bool,
) -> None:
    """Change who may commit this brain on a chain.

    Only the owner may, with one of the options; whom a brain is offered to may --accept. A
    signer can only commit, and loses that right if the owner changes or disowns. An offer has to
    be accepted in time, so a mistyped address cannot become the owner.

    --disown keeps the commitments that REV descends from, lists all later ones, and then disowns
    them: they stay on the chain, marked. --dry-run prints what it disowns and costs.

    On another machine the settings of the ledger must name the creator of the brain, which stays
    part of its id there: `brain config ledger.NAME.creator ADDRESS`.
    """
    if sum((signer is not None, offer is not None, accept, disown is not None)) != 1:
        raise click.UsageError("Give one of --signer, --offer, --accept and --disown.")
    if hours is not None and offer in (None, _NOBODY):
        raise click.UsageError("--hours is for an offer.")
    if dry_run and disown is None:
        raise click.UsageError("--dry-run is for --disown.")
    chain, brain = require_evm_ledger(app, ledger), app.brain.ledger
    if disown is not None:
        _disown(app, chain, disown, dry_run)
        return
    if accept:
        sent, effect = brain.accept_offer(chain), "The brain is yours, and nobody else can commit"
    elif offer is not None and offer != _NOBODY:
        ends = end_of_hours(hours or _OFFER_HOURS)
        sent = brain.offer(chain, offer, ends=ends)
        effect = f"Offered to {offer} until {iso_second(ends)}"
    elif offer is not None:
        sent, effect = brain.withdraw_offer(chain), "The offer is withdrawn"
    elif signer != _NOBODY:
        sent, effect = brain.set_signer(chain, signer or ""), f"Signer is {signer}"
    else:
        sent, effect = brain.set_signer(chain, ""), "Only the owner can commit"
    document = {
        "ledger": chain.name,
        "identity": chain.identity,
        "brain": app.brain.id,
        **sent._asdict(),
    }
    emit(app, document, [escape(pending_prefix(sent, effect)), *transaction_lines(sent)])


def _disown(app: App, chain: EvmLedger, rev: str, dry_run: bool) -> None:
    plan = app.brain.ledger.plan_repair(chain, rev)
    lines = list(disowned_lines(plan.last_valid.seq, plan.disowned))
    if dry_run:
        priced = app.brain.ledger.quote_supersede(chain, plan)
        emit(app, priced, [*lines, *price_lines(priced.price)] if priced.price else lines)
        return
    for line in lines:
        app.print_note(line)
    result = app.brain.ledger.supersede(chain, plan)
    emit(app, result, committed_lines(result.commitment) if result.commitment else [])
