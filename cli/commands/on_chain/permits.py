"""`brain chain authorize` and `relay`: one account signs, another sends and pays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from brain.errors import InvalidInput
from brain.util.utc_time import iso_second

from ...chosen_ledger import require_evm_ledger
from ...command import (
    COMMIT_EXITS,
    Decorated,
    argument,
    brain_command,
    exit_statuses,
    flag,
    option,
)
from ...context import App
from ...error_report import CONFLICT, LOCKED, VERIFICATION_FAILED
from ...options import (
    chain_option,
    dry_run_option,
    end_of_hours,
    hours_option,
    output_option,
    revision_argument,
    unsigned_options,
)
from ...output import emit
from ...params import TextType
from ...render.costs import pending_prefix, price_lines, transaction_lines
from ...settings import evm_ledgers
from ...terminal import escape
from ...user_files import named_in_errors, read_input, write_output_file

if TYPE_CHECKING:
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.evm.permit_file import Permit, PermitFile

_PERMIT_HOURS = 24
_MAX_PERMIT_BYTES = 64 << 10


def _permit_options(function: Decorated) -> Decorated:
    """Add the options of every command that writes a permit."""
    add_unsigned = flag("--unsigned", help="Write it unsigned, for a wallet elsewhere to sign.")
    add_hours = hours_option(f"How many hours it is valid.  [default: {_PERMIT_HOURS}]")
    return chain_option(add_hours(add_unsigned(output_option("the permit")(function))))


@brain_command(
    "open",
    examples=("brain chain authorize open -o permit.json --ledger sepolia",),
    exits=COMMIT_EXITS,
)
@revision_argument
@_permit_options
def chain_authorize_open_command(
    app: App, rev: str | None, ledger: str | None, hours: int | None, unsigned: bool,
    output: str | None,
) -> None:  # fmt: skip
    """Permit the opening of this brain in a ledger.

    REV, by default the head, becomes its first commitment there, and your account its owner.
    Another account sends the permit with `brain chain relay` and pays: your account needs no
    money on the chain. The permit works once, on this chain, until it expires.
    """
    chain = require_evm_ledger(app, ledger)
    permit = app.brain.ledger.build_open_permit(chain, rev or "@", deadline=_deadline(hours))
    _write_permit(app, chain, permit, unsigned, output)
    evm_ledgers.save_creator(chain, chain.creator)


@brain_command(
    "commit",
    examples=(
        "brain chain authorize commit -o permit.json --ledger sepolia",
        "brain chain authorize commit @~1 --unsigned -o permit.json --ledger sepolia",
    ),
    exits=COMMIT_EXITS,
)
@revision_argument
@_permit_options
def chain_authorize_commit_command(
    app: App, rev: str | None, ledger: str | None, hours: int | None, unsigned: bool,
    output: str | None,
) -> None:  # fmt: skip
    """Permit a commitment of this brain.

    REV is by default the head. The owner or the signer signs; another account sends the
    permit with `brain chain relay` and pays. The permit works once, on this chain, until it
    expires, another commitment is made, or the signer is changed.
    """
    chain = require_evm_ledger(app, ledger)
    permit = app.brain.ledger.build_commit_permit(chain, rev or "@", deadline=_deadline(hours))
    _write_permit(app, chain, permit, unsigned, output)


@brain_command(
    "signer",
    examples=(
        "brain chain authorize signer 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 -o permit.json"
        " --ledger sepolia",
        "brain chain authorize signer --none --ledger sepolia",
    ),
    exits=COMMIT_EXITS,
)
@argument("address", required=False, type=TextType("bad_address"))
@flag("--none", "nobody", help="Let only the owner commit.")
@_permit_options
def chain_authorize_signer_command(
    app: App, address: str | None, nobody: bool, ledger: str | None, hours: int | None,
    unsigned: bool, output: str | None,
) -> None:  # fmt: skip
    """Permit a change of the signer of this brain.

    Only the owner signs; another account sends the permit with `brain chain relay` and
    pays. The permit works once, on this chain, until it expires or the signer is changed.
    """
    if (address is None) != nobody:
        raise click.UsageError("Give either ADDRESS or --none.")
    chain = require_evm_ledger(app, ledger)
    permit = app.brain.ledger.build_signer_permit(chain, address or "", deadline=_deadline(hours))
    _write_permit(app, chain, permit, unsigned, output)


def _deadline(hours: int | None) -> int:
    return end_of_hours(hours or _PERMIT_HOURS)


def _write_permit(
    app: App, chain: EvmLedger, permit: PermitFile, unsigned: bool, output: str | None
) -> None:
    """Sign a permit unless a wallet elsewhere will, and write it to a file or print it."""
    if not unsigned:
        permit = chain.permits.sign(permit)
    document = permit.document()
    text = json.dumps(document, indent=2)
    if output is not None:
        write_output_file(output, f"{text}\n".encode())
    what = "To be signed" if unsigned else "Signed"
    until = iso_second(permit.permit.deadline)
    summary = f"{what}, in {output}, valid until {until}: {_effect(permit.permit)}"
    lines = [text] if output is None else [summary]
    emit(
        app,
        {"ledger": chain.name, "identity": chain.identity, "file": output, "permit": document},
        [escape(line) for line in lines] if output is not None else lines,
    )


@brain_command(
    "relay",
    examples=(
        "brain chain relay permit.json --ledger sepolia",
        "brain chain relay permit.json --signature 0x1b2c... --ledger sepolia",
    ),
    exits=exit_statuses(VERIFICATION_FAILED, LOCKED, CONFLICT),
)
@argument("file", type=None)
@chain_option
@option(
    "--signature",
    metavar="HEX",
    help="The signature of a wallet, if the file was written with --unsigned.",
)
@dry_run_option
@unsigned_options
def chain_relay_command(
    app: App, file: str, ledger: str | None, signature: str | None, dry_run: bool
) -> None:
    """Send a permit that another key signed.

    FILE is the output of `brain chain authorize`; - is standard input. It needs neither
    the brain nor a right to it: your key only pays. What cannot work is refused before
    anything is paid, with status 12 if the permit was used, is void or has expired.
    """
    chain = require_evm_ledger(app, ledger)
    from brain.chain.evm.permit_file import OpenPermit, SignerPermit, parse_permit

    data = read_input(file, _MAX_PERMIT_BYTES, "the permit")
    with named_in_errors(file):
        document = _parse_json(data)
        if signature is not None:
            document["signature"] = signature
        permit = parse_permit(document).permit
    if dry_run:
        price = evm_ledgers.quote_price(chain, chain.permits.quote_relay(document))
        emit(app, price, price_lines(price))
        return
    sent = chain.permits.relay(document)
    result = evm_ledgers.transaction_document(
        chain,
        permit.salt.hex() if isinstance(permit, OpenPermit) else None,
        sent,
        None if isinstance(permit, SignerPermit) else permit.snapshot.hex(),
    )
    effect = pending_prefix(sent, f"Relayed: {_effect(permit)}")
    emit(app, result, [escape(effect), *transaction_lines(sent)])


def _effect(permit: Permit) -> str:
    """Return what a permit does, in words."""
    from brain.chain.evm.abi import ZERO_ADDRESS
    from brain.chain.evm.permit_file import CommitPermit, OpenPermit

    match permit:
        case OpenPermit():
            return f"the brain is opened, and {permit.owner} is its owner"
        case CommitPermit():
            return f"commitment {permit.seq}"
        case _ if permit.signer == ZERO_ADDRESS:
            return "only the owner can commit"
        case _:
            return f"the signer is {permit.signer}"


def _parse_json(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a permit. Raises `InvalidInput` (`bad_permit`)."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InvalidInput(
            "the permit cannot be read: it is not a JSON object",
            code="bad_permit",
            hint="give the file that `brain chain authorize` wrote",
        )
    return document
