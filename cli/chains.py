"""Ledgers on a chain, opened with the settings and the key of whoever runs the command."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain.errors import InvalidInput, NotFound, printable

from . import keys
from .configured import parted
from .ledgers import LOCAL, book, folder, local

if TYPE_CHECKING:
    from brain.chain.evm.account import Account
    from brain.chain.evm.base import Sent
    from brain.chain.evm.fees import Quote
    from brain.chain.evm.ledger import EvmLedger
    from brain.chain.protocol import Ledger
    from brain.results import Quoted

    from .context import App

PATIENCE = 120.0
"""Seconds to wait until a transaction is in a block; then it is pending, and goes on alone."""
_MAX_KEYSTORE = 64 << 10
_PASSPHRASE = "set BRAIN_LEDGER_PASSPHRASE_FILE"


def opened(app: App, name: str) -> EvmLedger:
    """Open a ledger; its key is asked for when something is to be signed, and not before.

    Raises `NotFound` (`no_ledger`) or `InvalidInput` (`bad_ledger`).
    """
    fields, keystore = parted(name, _settings(name))
    from brain.chain.evm.config import parse
    from brain.chain.evm.ledger import EvmLedger

    config = parse(name, fields)
    if not config.creator and keystore:
        config = config._replace(creator=_address(keystore))
    has_key = keystore or os.environ.get("BRAIN_LEDGER_KEY")
    account = partial(_account, keystore) if has_key else None
    return EvmLedger(config, folder(), account, approve=partial(_show, app), patience=PATIENCE)


def holding(app: App, ledger: Ledger) -> Ledger:
    """Return what holds this brain on a chain: the contract, or a log anchored in it."""
    from brain.chain import batch
    from brain.chain.evm.ledger import EvmLedger

    if not isinstance(ledger, EvmLedger):
        return ledger
    return batch.holding(bytes.fromhex(app.brain.id), ledger, local())


def needed(app: App, name: str | None) -> EvmLedger:
    """Open the ledger that is named, which has to be on a chain."""
    if name is None or name == LOCAL:
        raise InvalidInput(
            "this is for a ledger on a chain",
            code="bad_ledger",
            hint="name it with --ledger; `brain config list` shows which there are",
        )
    return opened(app, name)


def keep_creator(chain: Ledger, sender: str | None) -> None:
    """Keep who opens brains in a ledger on a chain: their names there are bound to it."""
    from brain.chain.evm.ledger import EvmLedger

    if isinstance(chain, EvmLedger) and sender and "creator" not in _settings(chain.name):
        keep(chain.name, creator=sender)


def _settings(name: str) -> Mapping[str, Any]:
    from brain.chain import book as settings

    return settings.find(book(), name)


def keep(name: str, **changed: object) -> None:
    """Keep what became known of a ledger."""
    from brain.chain import book as settings

    settings.save(book(), name, {**_settings(name), **changed})


def quoted(chain: Ledger, price: Quote | None) -> Quoted:
    """Return a price of something that is about no brain."""
    from brain.actions import committing

    return committing.quoted(chain, b"", b"", price)


def done(chain: EvmLedger, brain: str, sent: Sent, snapshot: str | None = None) -> dict[str, Any]:
    """Return what was sent about a brain, as JSON has it."""
    return {
        "ledger": chain.name,
        "identity": chain.identity,
        "brain": brain,
        "snapshot": snapshot,
        "status": sent.status,
        "transaction": sent.transaction,
        "block": sent.block,
        "gas": sent.gas,
        "fee": sent.fee,
    }


def _show(app: App, price: Quote) -> None:
    from .prices import cost

    app.note(f"Sending: {cost(price)}")


def _account(keystore: str) -> Account:
    """Return the key of a keystore file, else that of BRAIN_LEDGER_KEY.

    Raises `InvalidInput`, and `NotFound` (`no_key`).
    """
    from brain.chain.evm import account

    if not keystore:
        try:
            return account.from_text(os.environ["BRAIN_LEDGER_KEY"])
        except InvalidInput as error:
            raise InvalidInput(
                f"BRAIN_LEDGER_KEY: {error.message}", code=error.code, hint=error.hint
            ) from error
    named = os.environ.get("BRAIN_LEDGER_PASSPHRASE_FILE")
    if named:
        passphrase = keys.given(named)
    else:
        passphrase = keys.asked(f"Passphrase of {printable(keystore)}", _PASSPHRASE, twice=False)
    try:
        return account.from_keystore(_read(keystore), passphrase.decode())
    except UnicodeDecodeError as error:
        raise InvalidInput("the passphrase is not UTF-8", code="wrong_passphrase") from error


def _address(keystore: str) -> str:
    """Return the address that a keystore file names, "" if it names none."""
    try:
        said = json.loads(_read(keystore))
        digits = str(said["address"]).lower().removeprefix("0x")
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return f"0x{digits}" if re.fullmatch("[0-9a-f]{40}", digits) else ""


def _read(keystore: str) -> bytes:
    try:
        with Path(keystore).open("rb") as file:
            return file.read(_MAX_KEYSTORE + 1)
    except FileNotFoundError as error:
        raise NotFound(
            f"no keystore at {printable(keystore)}",
            code="no_key",
            hint="name another with `brain config ledger NAME --keystore FILE`",
        ) from error
