"""Permits of BrainRegistry as EIP-712 typed data, in the JSON that wallets and signers take.

The document has the members `types`, with that of the domain, `primaryType`, `domain` and
`message`. Values of `bytes32` and addresses are 0x… text, numbers are JSON numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

PermitKind = Literal["Open", "Commit", "SetSigner"]
PermitValue = bytes | str | int
"""An id as 32 bytes, an address as 0x… text, or a number."""

DOMAIN_NAME = "BrainRegistry"
DOMAIN_VERSION = "2"

_DOMAIN_TYPE = (
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
)
PERMIT_TYPES: Mapping[PermitKind, tuple[tuple[str, str], ...]] = {
    "Open": (
        ("owner", "address"),
        ("salt", "bytes32"),
        ("snapshot", "bytes32"),
        ("deadline", "uint64"),
    ),
    "Commit": (
        ("brainId", "bytes32"),
        ("snapshot", "bytes32"),
        ("parent", "bytes32"),
        ("seq", "uint64"),
        ("epoch", "uint64"),
        ("deadline", "uint64"),
    ),
    "SetSigner": (
        ("brainId", "bytes32"),
        ("signer", "address"),
        ("epoch", "uint64"),
        ("deadline", "uint64"),
    ),
}
"""Names and types of the fields of each kind, in the order in which they are hashed."""


def permit_typed_data(
    kind: PermitKind, fields: Mapping[str, PermitValue], chain_id: int, contract: str
) -> dict[str, Any]:
    """Return the typed data of a permit for the contract at an address on a chain.

    Raises `ValueError` if `fields` are not those of the kind.
    """
    rows = PERMIT_TYPES[kind]
    if fields.keys() != {name for name, _ in rows}:
        raise ValueError(f"a permit {kind} has the fields {', '.join(name for name, _ in rows)}")
    return {
        "types": {"EIP712Domain": _type_rows(_DOMAIN_TYPE), kind: _type_rows(rows)},
        "primaryType": kind,
        "domain": {
            "name": DOMAIN_NAME,
            "version": DOMAIN_VERSION,
            "chainId": chain_id,
            "verifyingContract": contract,
        },
        "message": {name: _json_value(fields[name]) for name, _ in rows},
    }


def _type_rows(rows: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"name": name, "type": type_name} for name, type_name in rows]


def _json_value(value: PermitValue) -> str | int:
    return "0x" + value.hex() if isinstance(value, bytes) else value
