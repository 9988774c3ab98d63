"""The settings of ledgers on a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from brain.errors import InvalidInput, LedgerError, NotFound, printable_text

from .config_file import change_table, read_table
from .ledger_senders import (
    account_elsewhere,
    choose_signer,
    keystore_address,
    read_keystore,
    split_sender,
)
from .user_ledgers import LOCAL_LEDGER, ledgers_folder

if TYPE_CHECKING:
    from brain.chain.evm.evm_config import EvmLedgerConfig
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.evm.fees import Quote
    from brain.chain.evm.unsigned import Signer
    from brain.chain.ledger_protocol import Ledger
    from brain.results import CostQuote


TRANSACTION_TIMEOUT_SECONDS = 120.0
"""Seconds to wait until a transaction is in a block; after that it is reported as pending."""


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
    fields, sender = split_sender(name, _read_ledger_settings(name))
    from dataclasses import replace

    from brain.chain.evm.evm_config import parse_config
    from brain.chain.evm.evm_ledger import EvmLedger

    config = parse_config(name, fields)
    account: Signer | Callable[[], Signer] | None
    if elsewhere is not None:
        account = account_elsewhere(name, sender, elsewhere)
    else:
        account = choose_signer(sender)
        if not config.creator:
            address = keystore_address(sender.keystore) if sender.keystore else sender.account
            config = replace(config, creator=address)
    return EvmLedger(
        config,
        ledgers_folder(),
        account,
        approve=approve,
        patience=TRANSACTION_TIMEOUT_SECONDS,
        warn=warn,
    )


def save_creator(chain: Ledger, sender: str | None) -> None:
    """Store the account that opens brains in a ledger: their ids there depend on it."""
    from brain.chain.evm.evm_ledger import EvmLedger

    if isinstance(chain, EvmLedger) and sender and not has_creator(chain.name):
        save_ledger_settings(chain.name, creator=sender)


def has_creator(name: str) -> bool:
    """Return whether the settings of a ledger name the account that opens brains."""
    return "creator" in _read_ledger_settings(name)


def _read_ledger_settings(name: str) -> dict[str, Any]:
    ledgers = read_table("ledger")
    if name not in ledgers:
        raise NotFound(
            f"there is no ledger {printable_text(name, 80)}",
            code="no_ledger",
            hint=f"available: {', '.join([LOCAL_LEDGER, *sorted(ledgers)])}; add one with"
            " `brain config ledger.NAME.rpc URL`",
        )
    return _as_fields(ledgers[name])


def _as_fields(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a table by the names that `parse_config` knows."""
    return {key.replace("-", "_"): value for key, value in table.items()}


UNKNOWN_SINCE_NOTE = (
    "Note: the nodes do not tell in which block the contract was created, so the whole chain"
    " is searched for its events; `brain config ledger.NAME.since BLOCK` shortens that"
)
"""Printed where the nodes are away, or keep no states that are old enough."""


def save_ledger_settings(name: str, **changed: object) -> None:
    """Change settings of a ledger; what is empty is removed."""
    fields = {key.replace("_", "-"): value or None for key, value in changed.items()}
    change_table(("ledger", name), fields)


def quote_price(chain: Ledger, quote: Quote | None) -> CostQuote:
    """Return the price of a transaction that concerns no brain."""
    from brain.repo.ledgers import commit

    return commit.describe_quote(chain, b"", b"", quote)


_PLACEHOLDERS = {"chain_id": 1, "genesis": "0x" + "0" * 64, "rpc": "http://localhost"}


def merge_ledger_settings(
    name: str, before: Mapping[str, Any], changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the table of a ledger with changes, and with what its nodes say of the chain.

    Chain id, genesis, the cap of a chain that is not known, and the block of the contract are
    filled in. Raises `InvalidInput` (`bad_ledger`, `wrong_chain`) or `LedgerError`.
    """
    from brain.chain.evm.chain_identity import PUBLIC_NETWORKS
    from brain.chain.evm.evm_config import config_to_mapping, parse_config

    changed = _as_fields(changes)
    if changed.get("keystore"):
        with suppress(NotFound):  # a ledger can be named before its keystore is there
            read_keystore(changed["keystore"])
    fields, sender = split_sender(name, {**_as_fields(before), **changed})
    if name in PUBLIC_NETWORKS:
        fields.setdefault("chain_id", PUBLIC_NETWORKS[name].chain_id)
        fields.setdefault("genesis", PUBLIC_NETWORKS[name].genesis)
    parse_config(name, {**_PLACEHOLDERS, **fields})  # before a node is asked
    if "rpc" in fields:
        _pin_chain(name, fields)
        _cap_price(name, fields)
        if fields.get("contract", "") not in ("", before.get("contract")):
            fields.pop("since", None)
        if fields.get("contract") and "since" not in fields:
            fields["since"] = _find_creation_block(parse_config(name, fields))
    made = config_to_mapping(parse_config(name, {**_PLACEHOLDERS, **fields}))
    known = {key.replace("_", "-"): made[key] for key in fields if made.get(key)}
    return {**known, **{key: value for key, value in sender._asdict().items() if value}}


def _cap_price(name: str, fields: dict[str, Any]) -> None:
    """Fill in the cap on the price of gas, from the present price, on a chain that is not known."""
    from brain.chain.evm import fees
    from brain.chain.evm.chain_identity import fetch_gas_price
    from brain.chain.evm.evm_config import gwei_setting, parse_config

    if "max_fee_gwei" in fields or fees.known_max_fee(fields["chain_id"]):
        return
    with suppress(LedgerError):  # a ledger can be named while its nodes are away
        price = fetch_gas_price(parse_config(name, fields))
        fields["max_fee_gwei"] = gwei_setting(fees.max_fee_for_price(price))


def _find_creation_block(config: EvmLedgerConfig) -> int:
    """Return the block in which the contract of a ledger was created, 0 if unknown."""
    from brain.chain.evm.evm_ledger import EvmLedger

    with suppress(LedgerError):  # a ledger can be named while its nodes are away
        return EvmLedger(config, ledgers_folder()).deployment.find_creation_block()
    return config.since


def _pin_chain(name: str, fields: dict[str, Any]) -> None:
    """Fill in chain id and genesis from the nodes. Raises `InvalidInput` (`wrong_chain`)."""
    if "chain_id" in fields and "genesis" in fields:
        return
    from brain.chain.evm.evm_config import parse_config

    wanted = parse_config(name, {**_PLACEHOLDERS, **fields})
    from brain.chain.evm.chain_identity import fetch_chain_identity

    found = dict(
        zip(
            ("chain_id", "genesis"),
            fetch_chain_identity(wanted.urls, wanted.quorum),
            strict=True,
        )
    )
    for key, value in found.items():
        if fields.setdefault(key, value) != value:
            raise InvalidInput(
                f"the nodes belong to another chain: its {key} is {value}",
                code="wrong_chain",
                hint=f"name nodes of one chain, or unset ledger.{name}.{key.replace('_', '-')}",
            )
