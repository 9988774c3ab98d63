"""The user's ledgers: their settings, the account that sends to them, and the log here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain.errors import InvalidInput, LedgerError, NotFound, printable_text

from ..user_files import named_in_errors
from . import user_keys
from .config_file import change_table, read_table

if TYPE_CHECKING:
    from brain.chain.evm.account import Account
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.evm.fees import Quote
    from brain.chain.evm.unsigned import Signer
    from brain.chain.ledger_protocol import Ledger
    from brain.chain.tlog.embedded_ledger import EmbeddedLedger
    from brain.results import CostQuote

LOCAL_LEDGER = "local"
MAX_NOTE_BYTES = 1 << 20
"""Bytes of a file with a checkpoint that are read at most."""
TRANSACTION_TIMEOUT_SECONDS = 120.0
"""Seconds to wait until a transaction is in a block; after that it is reported as pending."""
UNKNOWN_SINCE_NOTE = (
    "Note: the nodes do not tell in which block the contract was created, so the whole chain"
    " is searched for its events; `brain config ledger.NAME.since BLOCK` shortens that"
)
"""Printed where the nodes are away, or keep no states that are old enough."""
_MAX_KEYSTORE_BYTES = 64 << 10
_PASSPHRASE_HINT = "set BRAIN_LEDGER_PASSPHRASE_FILE"


def ledgers_folder() -> Path:
    """Return the data folder of ledgers: BRAIN_LEDGERS, else one in the user's data."""
    name = os.environ.get("BRAIN_LEDGERS")
    if name:
        return Path(name)
    import platformdirs

    return platformdirs.user_data_path("brain") / "ledgers"


def open_local_log(kept: Sequence[str] = ()) -> EmbeddedLedger:
    """Open the log of this machine; `kept` are checkpoints of it that were kept elsewhere."""
    from brain.chain.tlog.embedded_ledger import EmbeddedLedger

    return EmbeddedLedger(ledgers_folder() / LOCAL_LEDGER, kept=kept)


def open_evm_ledger(
    name: str,
    approve: Callable[[Quote], None],
    warn: Callable[[str], None],
    elsewhere: str | None = None,
) -> EvmLedger:
    """Open a ledger. Its key is loaded when a transaction is signed.

    `approve` gets the cost of each transaction before it is sent, `warn` a line about each
    node that is left out. With `elsewhere`, which names an account or is "" for that of the
    settings, no key is used: what is to be signed is raised as `TransactionToSign`.

    Raises `NotFound` (`no_ledger`) or `InvalidInput` (`bad_ledger`, `no_sender`).
    """
    fields = _as_fields(_read_ledger(name))
    from dataclasses import replace

    from brain.chain.evm.evm_config import parse_address_setting, parse_config
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.evm.unsigned import AccountElsewhere

    keystore = fields.pop("keystore", "")
    address = parse_address_setting(name, "account", fields.pop("account", ""))
    config = parse_config(name, fields)
    account: Signer | Callable[[], Signer] | None = None
    if elsewhere is not None:
        account = AccountElsewhere(_sender_elsewhere(name, elsewhere, address, keystore))
    else:
        if keystore or os.environ.get("BRAIN_LEDGER_KEY"):
            account = partial(_load_account, keystore)
        elif address:
            account = AccountElsewhere(address)
        if not config.creator:
            config = replace(config, creator=_keystore_address(keystore) if keystore else address)
    return EvmLedger(
        config,
        ledgers_folder(),
        account,
        approve=approve,
        patience=TRANSACTION_TIMEOUT_SECONDS,
        warn=warn,
    )


def quote_price(chain: Ledger, quote: Quote | None) -> CostQuote:
    """Return the price of a transaction that concerns no brain."""
    from brain.repo.ledgers import commit

    return commit.describe_quote(chain, b"", b"", quote)


# The settings of a ledger


def _read_ledger(name: str) -> dict[str, Any]:
    ledgers = read_table("ledger")
    if name not in ledgers:
        raise NotFound(
            f"there is no ledger {printable_text(name, 80)}",
            code="no_ledger",
            hint=f"available: {', '.join([LOCAL_LEDGER, *sorted(ledgers)])}; add one with"
            " `brain config ledger.NAME.rpc URL`",
        )
    table: dict[str, Any] = ledgers[name]
    return table


def _as_fields(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a table by the names that `parse_config` knows."""
    return {key.replace("-", "_"): value for key, value in table.items()}


def has_creator(name: str) -> bool:
    """Return whether the settings of a ledger name the account that opens brains."""
    return "creator" in _read_ledger(name)


def save_creator(chain: Ledger, sender: str | None) -> None:
    """Store the account that opens brains in a ledger: their ids there depend on it."""
    from brain.chain.evm.evm_ledger import EvmLedger

    if isinstance(chain, EvmLedger) and sender and not has_creator(chain.name):
        change_table(("ledger", chain.name), {"creator": sender})


def save_contract(name: str, contract: str, since: int) -> None:
    """Store the registry of a ledger, and the block in which it was created, 0 if unknown."""
    change_table(("ledger", name), {"contract": contract, "since": since or None})


def merge_ledger(name: str, before: Mapping[str, Any], field: str, value: Any) -> dict[str, Any]:
    """Return the table of a ledger with a field, and with what its nodes say of the chain.

    Chain id, genesis, the cap of a chain that is not known, and the block of the contract are
    filled in. Raises `InvalidInput` (`bad_ledger`, `wrong_chain`) or `LedgerError`.
    """
    from brain.chain.evm.evm_config import config_to_mapping, parse_address_setting, parse_config
    from brain.chain.evm.nodes import PUBLIC_NETWORKS

    # 1. What it cannot be is refused before a node is asked.
    table = {**before, field: value}
    keystore, account = table.pop("keystore", ""), table.pop("account", "")
    if field == "keystore":
        with suppress(NotFound):  # a ledger can be named before its keystore is there
            _read_keystore(keystore)
    account = parse_address_setting(name, "account", account)
    fields = _as_fields(table)
    if name in PUBLIC_NETWORKS:
        fields.setdefault("chain_id", PUBLIC_NETWORKS[name].chain_id)
        fields.setdefault("genesis", PUBLIC_NETWORKS[name].genesis)
    placeholders = {"chain_id": 1, "genesis": "0x" + "0" * 64, "rpc": "http://localhost"}
    parse_config(name, {**placeholders, **fields})
    # 2. The nodes say what the chain is.
    if "rpc" in fields:
        if not {"chain_id", "genesis"} <= fields.keys():
            _pin_chain(name, fields, {**placeholders, **fields})
        _fill_in(name, fields, is_new_contract=fields.get("contract") != before.get("contract"))
    # 3. Values are stored in their usual form.
    made = config_to_mapping(parse_config(name, {**placeholders, **fields}))
    known = {key.replace("_", "-"): made[key] for key in fields if made.get(key)}
    senders = {"keystore": keystore, "account": account}
    return {**known, **{key: sender for key, sender in senders.items() if sender}}


def _pin_chain(name: str, fields: dict[str, Any], wanted: Mapping[str, Any]) -> None:
    """Fill in chain id and genesis from the nodes. Raises `InvalidInput` (`wrong_chain`)."""
    from brain.chain.evm.evm_config import parse_config
    from brain.chain.evm.nodes import fetch_chain_identity

    config = parse_config(name, wanted)
    chain_id, genesis = fetch_chain_identity(config.urls, config.quorum)
    for key, value in (("chain_id", chain_id), ("genesis", genesis)):
        if fields.setdefault(key, value) != value:
            shown = key.replace("_", "-")
            raise InvalidInput(
                f"the nodes belong to another chain: its {shown} is {value}",
                code="wrong_chain",
                hint=f"name nodes of one chain, or unset ledger.{name}.{shown}",
            )


def _fill_in(name: str, fields: dict[str, Any], *, is_new_contract: bool) -> None:
    """Fill in the block of the contract, and the cap on the price of gas on an unknown chain."""
    from brain.chain.evm import fees
    from brain.chain.evm.evm_config import gwei_setting, parse_config
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.evm.nodes import fetch_gas_price

    with suppress(LedgerError):  # a ledger can be named while its nodes are away
        if "max_fee_gwei" not in fields and not fees.known_max_fee(fields["chain_id"]):
            price = fetch_gas_price(parse_config(name, fields))
            fields["max_fee_gwei"] = gwei_setting(fees.max_fee_for_price(price))
    if is_new_contract:
        fields.pop("since", None)
    with suppress(LedgerError):
        if fields.get("contract") and "since" not in fields:
            ledger = EvmLedger(parse_config(name, fields), ledgers_folder())
            fields["since"] = ledger.deployment.find_creation_block()


# The account that sends


def _sender_elsewhere(name: str, named: str, address: str, keystore: str) -> str:
    """Return the account that is named, else that of the settings or of the key here.

    Raises `InvalidInput` (`bad_address`, `no_sender`).
    """
    from brain.chain.evm import abi

    if named:
        return abi.parse_account(named)
    address = address or (_keystore_address(keystore) if keystore else "")
    if not address and os.environ.get("BRAIN_LEDGER_KEY"):
        address = _load_account("").address
    if not address:
        raise InvalidInput(
            "the account that will sign is not known",
            code="no_sender",
            hint=f"name it with --from, or with `brain config ledger.{name}.account ADDRESS`",
        )
    return address


def _load_account(keystore: str) -> Account:
    """Return the key of a keystore file, else that of BRAIN_LEDGER_KEY.

    Its passphrase is read from BRAIN_LEDGER_PASSPHRASE_FILE, else asked for. Raises
    `InvalidInput` (`passphrase_needed`, `wrong_passphrase` and others), `NotFound` (`no_key`).
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
    content = _read_keystore(keystore)
    named = os.environ.get("BRAIN_LEDGER_PASSPHRASE_FILE")
    if named:
        passphrase = user_keys.read_passphrase(named)
    else:
        asked = f"Passphrase of {printable_text(keystore)}"
        passphrase = user_keys.ask_passphrase(asked, _PASSPHRASE_HINT, twice=False)
    try:
        text = passphrase.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the passphrase of {keystore} is not UTF-8",
            code="wrong_passphrase",
            hint=_PASSPHRASE_HINT,
        ) from error
    with named_in_errors(keystore):
        return account.account_from_keystore(content, text)


def _keystore_address(keystore: str) -> str:
    """Return the address that a keystore file names, "" if it names none."""
    try:
        document = json.loads(_read_keystore(keystore))
        digits = str(document["address"]).lower().removeprefix("0x")
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return f"0x{digits}" if re.fullmatch("[0-9a-f]{40}", digits) else ""


def _read_keystore(keystore: str) -> bytes:
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
