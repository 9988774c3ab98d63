"""The configuration of one ledger on an EVM chain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

from ...errors import InvalidInput, printable_text
from . import fees
from .fees import WEI_PER_GWEI

SAFE_TAG = "safe"
FINALIZED_TAG = "finalized"

MAX_RPC_URLS = 16
MAX_URL_CHARS = 2048
MAX_CONFIRMATIONS = 1_000_000
MAX_COST_WEI = 2**128

_LEDGER_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_ADDRESS_HEX = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_HASH_HEX = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_CONFIG_KEYS = frozenset(
    "chain_id genesis rpc quorum contract finality max_fee_gwei max_cost_wei creator since".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmLedgerConfig:
    """A ledger on an EVM chain. Addresses and hashes are 0x… in lower case, or "" if unknown.

    `quorum` of the nodes at `urls` must agree. `finality` is `safe`, `finalized` or the
    number of blocks on top that make a block final. `max_fee` caps the price, in wei per
    gas; `max_cost` caps a transaction as a whole, in wei. `creator` is the account that
    opened the brains; "" stands for the account that signs. `since` is a block from which
    the contract exists.
    """

    name: str
    chain_id: int
    genesis: str
    urls: tuple[str, ...]
    quorum: int
    contract: str = ""
    finality: str | int = FINALIZED_TAG
    max_fee: int = fees.MAX_UNKNOWN_FEE
    max_cost: int = fees.default_max_cost(fees.MAX_UNKNOWN_FEE)
    creator: str = ""
    since: int = 0

    @property
    def identity(self) -> str:
        """`eip155:CHAIN:CONTRACT`; "" while the ledger has no contract."""
        return f"eip155:{self.chain_id}:{self.contract}" if self.contract else ""


def parse_config(name: str, raw: Mapping[str, Any]) -> EvmLedgerConfig:
    """Return the configuration in a mapping.

    Keys: `chain_id`, `genesis`, `rpc` (a URL or several), and optionally `quorum` (by
    default the majority), `contract`, `finality`, `max_fee_gwei` (decimals are
    allowed), `max_cost_wei`, `creator`, `since`. The caps are by default those of the chain,
    see `fees`. Raises `InvalidInput` (`bad_ledger`).
    """
    if len(name) > 64 or not _LEDGER_NAME.fullmatch(name):
        _refuse_config(name, "its name must be lower-case letters, digits and single hyphens")
    for key in raw:
        if key not in _CONFIG_KEYS:
            _refuse_config(name, f"the field {printable_text(key)} is unknown")
    urls = _parse_urls(name, raw.get("rpc"))
    chain_id = _parse_integer(name, raw, "chain_id", None, 1, 2**63 - 1)
    max_fee = _parse_max_fee(name, raw.get("max_fee_gwei"), chain_id)
    max_cost = min(fees.default_max_cost(max_fee), MAX_COST_WEI)
    return EvmLedgerConfig(
        name=name,
        chain_id=chain_id,
        genesis=_parse_hex(name, raw, "genesis", _HASH_HEX, required=True),
        urls=urls,
        quorum=_parse_integer(name, raw, "quorum", len(urls) // 2 + 1, 1, len(urls)),
        contract=_parse_hex(name, raw, "contract", _ADDRESS_HEX),
        finality=_parse_finality(name, raw.get("finality", FINALIZED_TAG)),
        max_fee=max_fee,
        max_cost=_parse_integer(name, raw, "max_cost_wei", max_cost, 1, MAX_COST_WEI),
        creator=_parse_hex(name, raw, "creator", _ADDRESS_HEX),
        since=_parse_integer(name, raw, "since", 0, 0, 2**63 - 1),
    )


def config_to_mapping(config: EvmLedgerConfig) -> dict[str, Any]:
    """Return the mapping that `parse_config` parses to the same configuration."""
    raw: dict[str, Any] = {
        "chain_id": config.chain_id,
        "genesis": config.genesis,
        "rpc": list(config.urls),
        "quorum": config.quorum,
        "contract": config.contract,
        "finality": config.finality,
        "max_fee_gwei": gwei_setting(config.max_fee),
        "max_cost_wei": config.max_cost,
        "creator": config.creator,
        "since": config.since,
    }
    return {key: value for key, value in raw.items() if value != ""}


def gwei_setting(wei: int) -> int | str:
    """Return the setting `max_fee_gwei` for a price in wei."""
    text = fees.format_gwei(wei)
    return text if "." in text else int(text)


def parse_address_setting(name: str, key: str, value: Any) -> str:
    """Return a setting that is an address or "". Raises `InvalidInput` (`bad_ledger`)."""
    return _parse_hex(name, {key: value}, key, _ADDRESS_HEX)


def _refuse_config(name: str, reason: str) -> NoReturn:
    raise InvalidInput(
        f"the ledger {name} is not set up correctly: {reason}",
        code="bad_ledger",
        hint=f"see `brain config ledger.{name}`; `brain config --unset ledger.{name}` removes it",
    )


def _parse_urls(name: str, raw: Any) -> tuple[str, ...]:
    urls = [raw] if isinstance(raw, str) else raw
    if not isinstance(urls, list | tuple) or not 1 <= len(urls) <= MAX_RPC_URLS:
        _refuse_config(name, f"rpc must name 1 to {MAX_RPC_URLS} nodes")
    for url in urls:
        if not isinstance(url, str) or not _is_url(url):
            _refuse_config(name, "rpc must hold http:// or https:// URLs")
    if len(set(urls)) < len(urls):
        _refuse_config(name, "rpc names a node twice")
    return tuple(urls)


def _is_url(url: str) -> bool:
    if len(url) > MAX_URL_CHARS or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _parse_integer(
    name: str, raw: Mapping[str, Any], key: str, default: int | None, least: int, most: int
) -> int:
    value = raw.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        _refuse_config(name, f"{key} must be a whole number from {least} to {most}")
    return value


def _parse_hex(
    name: str,
    raw: Mapping[str, Any],
    key: str,
    form: re.Pattern[str],
    *,
    required: bool = False,
) -> str:
    value = raw.get(key, "")
    if value == "" and not required:
        return ""
    if not isinstance(value, str) or not form.fullmatch(value):
        digits = 40 if form is _ADDRESS_HEX else 64
        _refuse_config(name, f"{key} must be 0x and {digits} hexadecimal digits, in quotes")
    if form is _ADDRESS_HEX:
        from .abi import parse_account

        try:
            return parse_account(value)
        except InvalidInput as error:
            _refuse_config(name, f"{key}: {error.message}")
    return value.lower()


def _parse_finality(name: str, raw: Any) -> str | int:
    if raw in (SAFE_TAG, FINALIZED_TAG):
        return str(raw)
    if isinstance(raw, int) and not isinstance(raw, bool) and 1 <= raw <= MAX_CONFIRMATIONS:
        return raw
    _refuse_config(
        name, "finality must be safe, finalized, or the number of blocks on top; latest is not"
    )


def _parse_max_fee(name: str, raw: Any, chain_id: int) -> int:
    if raw is None:
        return fees.known_max_fee(chain_id) or fees.MAX_UNKNOWN_FEE
    match = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?", str(raw), re.ASCII)
    fee = int(match[1]) * WEI_PER_GWEI + int((match[2] or "").ljust(9, "0")) if match else 0
    if isinstance(raw, bool) or fee < 1:
        _refuse_config(name, "max_fee_gwei must be a number above 0, of at most 9 decimals")
    return fee
