"""The commands of `brain key` that bind keys to accounts of EVM chains."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from ...command import WRITE_EXITS, brain_command, option
from ...context import App
from ...options import revision_argument, signing_options
from ...output import emit
from ...params import CountType, TextType
from ...render.human_format import align_columns, local_time, short_id
from ...settings import evm_ledgers, user_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brain.results import BoundAccount

_DAY_SECONDS = 24 * 60 * 60
_STATUS_TEXTS = {
    "valid": "signed by both",
    "expired": "expired",
    "unchecked": "a wallet contract: ask its chain",
    "other_brain": "about another brain",
    "bad_key_signature": "not signed by the key",
    "bad_account_signature": "not signed by the account",
}


@brain_command(
    "bind",
    examples=(
        "brain key bind --ledger sepolia",
        "brain key bind --account keys/sepolia.json --days 365",
    ),
    exits=WRITE_EXITS,
)
@option("--account", metavar="FILE", type=TextType("bad_key"), help="The keystore of the account.")
@option("--ledger", metavar="NAME", type=TextType("bad_ledger"), help="The account of this ledger.")
@option("--days", type=CountType(), metavar="N", help="The statement expires after N days.")
@signing_options
def key_bind_command(
    app: App,
    account: str | None,
    ledger: str | None,
    days: int | None,
    own: str | None,
    passphrase_file: str | None,
) -> None:
    """State that a key and an account belong together.

    Your key and the account sign one statement, which is recorded in accounts.json as a
    snapshot that your key signs. Nothing is sent to a chain. Others can then see
    that the owner of this brain on a chain is who signs its snapshots. A new statement about
    the same key and account replaces the previous one.
    """
    if (account is None) == (ledger is None):
        raise click.UsageError("Give either --account or --ledger.")
    seed = user_keys.load_private_key(user_keys.require_signing_key(own), passphrase_file)
    app.sign_with = lambda: seed
    loaded = (
        evm_ledgers.load_ledger_account(ledger)
        if ledger
        else evm_ledgers.load_account(account or "")
    )
    expires = int(time.time()) + days * _DAY_SECONDS if days else 0
    result = app.brain.trust.bind_account(seed, loaded, expires)
    lines = [*_bound_lines([result.bound]), f"Snapshot {short_id(result.snapshot)}, signed"]
    emit(app, result, lines)


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
