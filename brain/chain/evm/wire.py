"""What a node says, read strictly: it is foreign, in its content and in its form.

Everything here raises `LedgerError` (`bad_rpc`) for what is not exactly as it should be.
Numbers are below 2^64 and amounts below 2^256, without leading zeros (execution-apis:
base types); bytes are lower or upper case hex of whole bytes; addresses come out in
lower case.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

from ...errors import LedgerError, printable

SHOWN = 80
_QUANTITY = re.compile(r"0x(?:0|[1-9a-f][0-9a-f]{0,63})", re.ASCII)
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)


class Block(NamedTuple):
    """A block as a node states it; `time` in seconds since 1970, `base_fee` in wei per gas."""

    number: int
    hash: str
    time: int
    base_fee: int


def bad(host: str, what: str) -> LedgerError:
    """Return the error for an answer of a node that cannot be taken."""
    return LedgerError(
        f"{host} {what}",
        code="bad_rpc",
        hint="check that the address is that of a node of this chain, or ask another",
    )


def refuse(what: str, value: object) -> NoReturn:
    """Raise for an answer that cannot be."""
    raise bad("the node", f"gave no valid {what}: {printable(repr(value), SHOWN)}")


def amount(value: Any, what: str) -> int:
    """Return a number below 2^256."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        refuse(what, value)
    return int(value, 16)


def number(value: Any, what: str) -> int:
    """Return a number below 2^64."""
    found = amount(value, what)
    if found >> 64:
        refuse(what, value)
    return found


def data(value: Any, what: str) -> bytes:
    """Return bytes of any length."""
    if not isinstance(value, str) or not _DATA.fullmatch(value):
        refuse(what, value)
    return bytes.fromhex(value[2:])


def word(value: Any, what: str) -> bytes:
    """Return 32 bytes."""
    found = data(value, what)
    if len(found) != 32:
        refuse(what, value)
    return found


def digest(value: Any, what: str) -> str:
    """Return a hash as text in lower case."""
    return "0x" + word(value, what).hex()


def address(value: Any, what: str) -> str:
    """Return an address as text in lower case."""
    found = data(value, what)
    if len(found) != 20:
        refuse(what, value)
    return "0x" + found.hex()


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return an object of JSON."""
    if not isinstance(value, dict):
        refuse(what, value)
    return value


def items(value: Any, what: str) -> list[Any]:
    """Return an array of JSON."""
    if not isinstance(value, list):
        refuse(what, value)
    return value


def block(value: Any) -> Block:
    """Return what counts of a block. Only the first block of a chain may lack a time."""
    said = mapping(value, "block")
    found = Block(
        number(said.get("number"), "block number"),
        digest(said.get("hash"), "block hash"),
        number(said.get("timestamp"), "block time"),
        amount(said.get("baseFeePerGas", "0x0"), "base fee"),
    )
    if found.time == 0 and found.number > 0:
        refuse("block time", said.get("timestamp"))
    return found


def maybe_block(value: Any) -> Block | None:
    """Return what counts of a block that need not exist."""
    return None if value is None else block(value)
