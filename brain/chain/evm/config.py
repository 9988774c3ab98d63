"""One configured ledger on an EVM chain, as a value, and how it is read from a mapping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

from ...errors import InvalidInput, printable

GWEI = 10**9
SAFE = "safe"
FINALIZED = "finalized"

MAX_NODES = 16
MAX_URL = 2048
MAX_CONFIRMATIONS = 1_000_000
DEFAULT_MAX_FEE = 100 * GWEI
DEFAULT_MAX_COST = 2 * 10**16

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_KEYS = frozenset(
    "chain_id genesis rpc quorum contract finality max_fee_gwei max_cost_wei creator since".split()
)


class LedgerConfig(NamedTuple):
    """A ledger on an EVM chain. Addresses and hashes are 0x… in lower case, or "" if unknown.

    `quorum` of the nodes at `urls` must agree. `finality` is `safe`, `finalized` or the
    number of blocks on top that make a block final. `max_fee` caps the price, in wei per
    gas, `max_cost` a transaction as a whole, in wei. `creator` opened the brains this
    ledger speaks of; if "", the account does that is signing. `since` is the block from
    which on the contract exists.
    """

    name: str
    chain_id: int
    genesis: str
    urls: tuple[str, ...]
    quorum: int
    contract: str = ""
    finality: str | int = FINALIZED
    max_fee: int = DEFAULT_MAX_FEE
    max_cost: int = DEFAULT_MAX_COST
    creator: str = ""
    since: int = 0

    @property
    def identity(self) -> str:
        """What names the ledger wherever it is spoken of; "" while it has no contract."""
        return f"eip155:{self.chain_id}:{self.contract}" if self.contract else ""


def parse(name: str, said: Mapping[str, Any]) -> LedgerConfig:
    """Return the ledger that a mapping describes.

    Keys: `chain_id`, `genesis`, `rpc` (a URL or several), and optionally `quorum` (by
    default the majority), `contract`, `finality`, `max_fee_gwei` (a decimal fraction is
    fine), `max_cost_wei`, `creator`, `since`. Raises `InvalidInput` (`bad_ledger`).
    """
    if len(name) > 64 or not _NAME.fullmatch(name):
        _refuse(name, "its name must be lower-case letters, digits and single hyphens")
    for key in said:
        if key not in _KEYS:
            _refuse(name, f"unknown field {printable(key)}")
    urls = _urls(name, said.get("rpc"))
    return LedgerConfig(
        name=name,
        chain_id=_whole(name, said, "chain_id", None, 1, 2**63 - 1),
        genesis=_text(name, said, "genesis", _HASH, required=True),
        urls=urls,
        quorum=_whole(name, said, "quorum", len(urls) // 2 + 1, 1, len(urls)),
        contract=_text(name, said, "contract", _ADDRESS),
        finality=_finality(name, said.get("finality", FINALIZED)),
        max_fee=_gwei(name, said.get("max_fee_gwei")),
        max_cost=_whole(name, said, "max_cost_wei", DEFAULT_MAX_COST, 1, 2**128),
        creator=_text(name, said, "creator", _ADDRESS),
        since=_whole(name, said, "since", 0, 0, 2**63 - 1),
    )


def to_mapping(config: LedgerConfig) -> dict[str, Any]:
    """Return the mapping that `parse` reads back as the same ledger."""
    gwei, rest = divmod(config.max_fee, GWEI)
    said: dict[str, Any] = {
        "chain_id": config.chain_id,
        "genesis": config.genesis,
        "rpc": list(config.urls),
        "quorum": config.quorum,
        "contract": config.contract,
        "finality": config.finality,
        "max_fee_gwei": f"{gwei}.{rest:09}".rstrip("0") if rest else gwei,
        "max_cost_wei": config.max_cost,
        "creator": config.creator,
        "since": config.since,
    }
    return {key: value for key, value in said.items() if value != ""}


def host(url: str) -> str:
    """Return what of a URL may be shown: the path often holds a key of the user."""
    return printable(urlsplit(url).netloc.rpartition("@")[2])


def _refuse(name: str, why: str) -> NoReturn:
    raise InvalidInput(
        f"the ledger {printable(name)}: {why}",
        code="bad_ledger",
        hint="see `brain config ledger --help`; `brain config remove NAME` forgets one",
    )


def _urls(name: str, said: Any) -> tuple[str, ...]:
    urls = [said] if isinstance(said, str) else said
    if not isinstance(urls, list | tuple) or not 1 <= len(urls) <= MAX_NODES:
        _refuse(name, f"rpc must name 1 to {MAX_NODES} nodes")
    for url in urls:
        if not isinstance(url, str) or len(url) > MAX_URL or not _is_url(url):
            _refuse(name, "rpc must hold http:// or https:// URLs")
    if len(set(urls)) < len(urls):
        _refuse(name, "rpc names a node twice, which would count as two")
    return tuple(urls)


def _is_url(url: str) -> bool:
    if not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _whole(
    name: str, said: Mapping[str, Any], key: str, default: int | None, least: int, most: int
) -> int:
    value = said.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        _refuse(name, f"{key} must be a whole number from {least} to {most}")
    return value


def _text(
    name: str,
    said: Mapping[str, Any],
    key: str,
    form: re.Pattern[str],
    *,
    required: bool = False,
) -> str:
    value = said.get(key, "")
    if value == "" and not required:
        return ""
    if not isinstance(value, str) or not form.fullmatch(value):
        digits = 40 if form is _ADDRESS else 64
        _refuse(name, f"{key} must be 0x and {digits} hexadecimal digits, in quotes")
    return value.lower()


def _finality(name: str, said: Any) -> str | int:
    if said in (SAFE, FINALIZED):
        return str(said)
    if isinstance(said, int) and not isinstance(said, bool) and 1 <= said <= MAX_CONFIRMATIONS:
        return said
    _refuse(name, "finality must be safe, finalized, or the number of blocks on top; latest is not")


def _gwei(name: str, said: Any) -> int:
    if said is None:
        return DEFAULT_MAX_FEE
    match = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?", str(said), re.ASCII)
    fee = int(match[1]) * GWEI + int((match[2] or "").ljust(9, "0")) if match else 0
    if isinstance(said, bool) or fee < 1:
        _refuse(name, "max_fee_gwei must be a number above 0, of at most 9 decimals")
    return fee
