"""The commands of `brain key` that bind keys to accounts of EVM chains."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from brain.errors import InvalidInput

from ...command import READ_EXITS, WRITE_EXITS, argument, brain_command, option
from ...context import App
from ...options import output_option, revision_argument, signing_options
from ...output import emit
from ...params import CountType, NonEmptyType, TextType
from ...render.human_format import align_columns, local_time, pluralize, short_id
from ...settings import evm_ledgers, ledger_senders, user_keys
from ...terminal import escape
from ...user_files import named_in_errors, read_input, write_output_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brain.results import BoundAccount

_DAY_SECONDS = 24 * 60 * 60
_MAX_STATEMENT_BYTES = 16 << 10
_STATUS_TEXTS = {
    "valid": "signed by both",
    "expired": "expired",
    "unchecked": "a wallet contract: ask its chain",
    "other_brain": "about another brain",
    "bad_key_signature": "not signed by the key",
    "bad_account_signature": "not signed by the account",
}
_days_option = option(
    "--days", type=CountType(), metavar="N", help="The statement expires after N days."
)


@brain_command(
    "bind",
    examples=(
        "brain key bind --ledger sepolia",
        "brain key bind --account keys/sepolia.json --days 365",
        "brain key bind --statement statement.json --signature 0x5c1e...",
    ),
    exits=WRITE_EXITS,
)
@option("--account", metavar="FILE", type=NonEmptyType(), help="The keystore of the account.")
@option("--ledger", metavar="NAME", type=NonEmptyType(), help="The account of this ledger.")
@option(
    "--statement",
    metavar="FILE",
    type=TextType("bad_path"),
    help="What a wallet signed, as 'brain key statement' wrote it.",
)
@option(
    "--signature",
    metavar="HEX",
    type=TextType("bad_signature"),
    help="The signature of the wallet, 0x and hex.",
)
@_days_option
@signing_options
def key_bind_command(
    app: App,
    account: str | None,
    ledger: str | None,
    statement: str | None,
    signature: str | None,
    days: int | None,
    own: str | None,
    passphrase_file: str | None,
) -> None:
    """State that a key and an account belong together.

    Your key and the account sign one statement, which is recorded in accounts.json as a
    snapshot that your key signs. Nothing is sent to a chain. Others can then see
    that the owner of this brain on a chain is who signs its snapshots. A new statement about
    the same key and account replaces the previous one. An account without a keystore, as
    in a hardware wallet or a Safe, signs what 'brain key statement' writes.
    """
    if sum(each is not None for each in (account, ledger, statement)) != 1:
        raise click.UsageError("Give one of --account, --ledger and --statement.")
    if (statement is None) != (signature is None):
        raise click.UsageError("--statement and --signature require each other.")
    if statement is not None and days is not None:
        raise click.UsageError("--days belongs to 'brain key statement' here.")
    seed = _sign_as(app, own, passphrase_file)
    if statement is not None:
        signed = _parse_signature(signature or "")
        typed_data = read_input(statement, _MAX_STATEMENT_BYTES, "the statement")
        with named_in_errors(statement):
            result = app.brain.trust.bind_signed_account(seed, typed_data, signed)
    else:
        loaded = (
            evm_ledgers.load_ledger_account(ledger)
            if ledger is not None
            else ledger_senders.load_account(account or "")
        )
        result = app.brain.trust.bind_account(seed, loaded, _expiry(days))
    recorded = f"Snapshot {short_id(result.snapshot)}, signed"
    note = recorded if result.changed else "Nothing new: this statement is recorded already"
    emit(app, result, [*_bound_lines([result.bound]), note])


@brain_command(
    "statement",
    examples=(
        "brain key statement 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 -o statement.json",
        "brain key statement 0x3fa0... --chain-id 8453 --days 365 -o statement.json",
    ),
    exits=READ_EXITS,
)
@argument("address", type=TextType("bad_address"))
@option(
    "--chain-id",
    type=CountType(),
    metavar="N",
    help="The chain of a wallet contract, such as a Safe; not for the account of a key.",
)
@_days_option
@option("--key", "own", metavar="NAME", help="Your key to bind (default: as in 'brain key bind').")
@output_option("the statement")
def key_statement_command(
    app: App,
    address: str,
    chain_id: int | None,
    days: int | None,
    own: str | None,
    output: str | None,
) -> None:
    """Write a statement for a wallet to sign.

    It is typed data (EIP-712), which wallets show and sign by eth_signTypedData_v4. Give
    the file and the signature to 'brain key bind'.
    """
    from brain.trust.signature_format import parse_key

    if chain_id == 0:
        raise click.UsageError("--chain-id must be 1 or more.")
    key = user_keys.resolve_public_key(own or user_keys.require_signing_key(None))
    document = app.brain.trust.write_statement(
        parse_key(key), _parse_address(address), chain_id=chain_id or 0, expires=_expiry(days)
    )
    text = json.dumps(document, indent=2) + "\n"
    if output is not None:
        write_output_file(output, text.encode())
    lines = [f"Statement in {escape(output)}"] if output else [text.rstrip("\n")]
    emit(app, {"typed_data": document, "file": output}, lines)


@brain_command(
    "unbind",
    examples=("brain key unbind 0x70997970c51812dc3a010c7d01b50e0d17dc79c8",),
    exits=WRITE_EXITS,
)
@argument("address", type=TextType("bad_address"))
@signing_options
def key_unbind_command(
    app: App, address: str, own: str | None, passphrase_file: str | None
) -> None:
    """Revoke the statements about an account.

    They are removed from accounts.json, in a snapshot that your key signs. Evidence of
    earlier snapshots still shows them, so tell those who rely on it.
    """
    account = _parse_address(address)
    _sign_as(app, own, passphrase_file)
    result = app.brain.trust.unbind_account(account)
    removed = pluralize(len(result.removed), "statement")
    emit(app, result, [f"Removed {removed}", f"Snapshot {short_id(result.snapshot)}, signed"])


@brain_command("bindings", examples=("brain key bindings", "brain key bindings @~3 --json"))
@revision_argument
def key_bindings_command(app: App, rev: str | None) -> None:
    """List the accounts that are bound to keys.

    Reads accounts.json of the snapshot REV, by default the head, and verifies both
    signatures of each statement. 'brain verify' does so too.
    """
    found = app.brain.trust.list_accounts(rev or "@")
    lines = _bound_lines(found) if found else ["No account is bound to a key"]
    emit(app, {"accounts": found}, lines)


def _bound_lines(bound: list[BoundAccount]) -> Iterator[str]:
    yield from align_columns(
        (each.account, each.key, _STATUS_TEXTS[each.status], _expiry_note(each)) for each in bound
    )


def _expiry_note(bound: BoundAccount) -> str:
    return f"until {local_time(bound.expires)}" if bound.expires else ""


def _sign_as(app: App, name: str | None, passphrase_file: str | None) -> bytes:
    """Let a key of the user sign what is recorded from now on; return it."""
    seed = user_keys.load_private_key(user_keys.require_signing_key(name), passphrase_file)
    app.sign_with = lambda: seed
    return seed


def _expiry(days: int | None) -> int:
    return int(time.time()) + days * _DAY_SECONDS if days is not None else 0


def _parse_address(text: str) -> bytes:
    from brain.chain.evm.abi import parse_account

    return bytes.fromhex(parse_account(text)[2:])


def _parse_signature(text: str) -> bytes:
    digits = text.strip().lower().removeprefix("0x")
    if not digits or len(digits) % 2 or digits.strip("0123456789abcdef"):
        raise InvalidInput(
            "the signature is not 0x and hex digits in pairs",
            code="bad_signature",
            hint="copy it whole from the wallet",
        )
    return bytes.fromhex(digits)
