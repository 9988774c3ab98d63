"""The account that sends to a ledger: a keystore, or a wallet elsewhere."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from brain.errors import InvalidInput, NotFound, printable_text

from ..user_files import named_in_errors
from . import user_keys

if TYPE_CHECKING:
    from brain.chain.evm.account import Account
    from brain.chain.evm.unsigned import Signer

_MAX_KEYSTORE_BYTES = 64 << 10
_PASSPHRASE_HINT = "set BRAIN_LEDGER_PASSPHRASE_FILE"


class SenderSettings(NamedTuple):
    """The settings that belong to the sender, not to the ledger; "" for what is not set.

    A `keystore` file, or an `account` whose key is elsewhere.
    """

    keystore: str = ""
    account: str = ""


def split_sender(name: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], SenderSettings]:
    """Return the settings of the ledger, and those of the sender.

    Raises `InvalidInput` (`bad_ledger`).
    """
    from brain.chain.evm.evm_config import parse_address_setting

    fields = dict(settings)
    keystore = fields.pop("keystore", "")
    if not isinstance(keystore, str) or "\0" in keystore:
        raise InvalidInput(
            f"the ledger {name}: keystore must be a file name",
            code="bad_ledger",
            hint=f"name it with `brain config ledger.{name}.keystore FILE`",
        )
    account = parse_address_setting(name, "account", fields.pop("account", ""))
    return fields, SenderSettings(keystore, account)


def choose_signer(sender: SenderSettings) -> Signer | Callable[[], Signer] | None:
    """Return a key of this machine, else an account without a key, else None."""
    if sender.keystore or os.environ.get("BRAIN_LEDGER_KEY"):
        return partial(load_account, sender.keystore)
    if sender.account:
        from brain.chain.evm.unsigned import AccountElsewhere

        return AccountElsewhere(sender.account)
    return None


def account_elsewhere(name: str, sender: SenderSettings, named: str) -> Signer:
    """Return the account that is named, else that of the settings or of the key here.

    Raises `InvalidInput` (`bad_address`, `no_sender`).
    """
    from brain.chain.evm import abi
    from brain.chain.evm.unsigned import AccountElsewhere

    if named:
        return AccountElsewhere(abi.parse_account(named))
    address = sender.account or (keystore_address(sender.keystore) if sender.keystore else "")
    if not address and os.environ.get("BRAIN_LEDGER_KEY"):
        address = load_account("").address
    if not address:
        raise InvalidInput(
            "the account that will sign is not known",
            code="no_sender",
            hint=f"name it with --from, or with `brain config ledger.{name}.account ADDRESS`",
        )
    return AccountElsewhere(address)


def load_account(keystore: str) -> Account:
    """Return the key of a keystore file, else that of BRAIN_LEDGER_KEY.

    Raises `InvalidInput`, and `NotFound` (`no_key`).
    """
    from brain.chain.evm import account

    if not keystore:
        try:
            return account.account_from_hex(os.environ.get("BRAIN_LEDGER_KEY", ""))
        except InvalidInput as error:
            raise InvalidInput(
                f"the variable BRAIN_LEDGER_KEY is refused: {error.message}",
                code=error.code,
                hint="set it to 0x and the 64 hex digits of a private key; or name a keystore with"
                " `brain config ledger.NAME.keystore FILE`",
            ) from error
    content = read_keystore(keystore)
    passphrase = _read_passphrase(keystore)
    with named_in_errors(keystore):
        return account.account_from_keystore(content, passphrase)


def _read_passphrase(keystore: str) -> str:
    """Return the passphrase of a keystore from BRAIN_LEDGER_PASSPHRASE_FILE, else ask for it.

    Raises `InvalidInput` (`passphrase_needed`, `no_passphrase`, `key_readable`,
    `wrong_passphrase`).
    """
    named = os.environ.get("BRAIN_LEDGER_PASSPHRASE_FILE")
    if named:
        passphrase = user_keys.read_passphrase(named)
    else:
        passphrase = user_keys.ask_passphrase(
            f"Passphrase of {printable_text(keystore)}", _PASSPHRASE_HINT, twice=False
        )
    try:
        return passphrase.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the passphrase of {keystore} is not UTF-8",
            code="wrong_passphrase",
            hint=_PASSPHRASE_HINT,
        ) from error


def keystore_address(keystore: str) -> str:
    """Return the address that a keystore file names, "" if it names none."""
    try:
        document = json.loads(read_keystore(keystore))
        digits = str(document["address"]).lower().removeprefix("0x")
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return f"0x{digits}" if re.fullmatch("[0-9a-f]{40}", digits) else ""


def read_keystore(keystore: str) -> bytes:
    """Return the content of a keystore file. Raises `NotFound` (`no_key`), `InvalidInput`."""
    from brain.util.files import read_secret_file

    try:
        return read_secret_file(keystore, _MAX_KEYSTORE_BYTES, "the key of the account")
    except FileNotFoundError as error:
        raise NotFound(
            f"there is no keystore at {keystore}",
            code="no_key",
            hint="name another with `brain config ledger.NAME.keystore FILE`",
        ) from error
