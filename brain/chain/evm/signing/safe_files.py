"""Transactions as files for a Safe, as in the published examples of its apps.

A batch is for the Transaction Builder, a proposal for the transaction service. A Safe of version
1.3.0 or later is expected: the hash that its owners sign names the chain.
"""

from __future__ import annotations

import json
from typing import Any

from ...evidence.keccak import keccak256
from ..abi import ZERO_ADDRESS, checksum_address
from ..account import UnsignedTransaction, typed_data_digest
from .calls import DecodedCall

SAFE_NONCE_SELECTOR = bytes.fromhex("affed0e0")
"""The selector of `nonce()` of a Safe."""
MAX_ORIGIN_CHARS = 200
"""Characters of the origin of a proposal, the limit of the transaction service."""

_BUILDER_VERSION = "1.16.5"
_DOMAIN_TYPE = {"chainId": "uint256", "verifyingContract": "address"}
_TRANSACTION_TYPE = {
    "to": "address",
    "value": "uint256",
    "data": "bytes",
    "operation": "uint8",
    "safeTxGas": "uint256",
    "baseGas": "uint256",
    "gasPrice": "uint256",
    "gasToken": "address",
    "refundReceiver": "address",
    "nonce": "uint256",
}


def build_safe_batch(
    safe: str,
    transaction: UnsignedTransaction,
    call: DecodedCall | None,
    description: str,
    time: int,
) -> dict[str, Any]:
    """Return a batch of one call, made at `time` in ms UTC.

    As in those that the builder writes, a call is named and not encoded.
    """
    batch: dict[str, Any] = {
        "version": "1.0",
        "chainId": str(transaction.chain_id),
        "createdAt": time,
        "meta": {
            "name": "BrainRegistry",
            "description": description,
            "txBuilderVersion": _BUILDER_VERSION,
            "createdFromSafeAddress": checksum_address(safe),
            "createdFromOwnerAddress": "",
        },
        "transactions": [
            {
                "to": checksum_address(transaction.to),
                "value": "0",
                "data": None if call else "0x" + transaction.data.hex(),
                "contractMethod": call and _safe_method(call),
                "contractInputsValues": call
                and {name: str(value) for name, value in call.arguments.items()},
            }
        ],
    }
    batch["meta"]["checksum"] = _safe_checksum(batch)
    return batch


def build_safe_proposal(
    safe: str, transaction: UnsignedTransaction, description: str, nonce: int
) -> dict[str, Any]:
    """Return what the transaction service takes for a call at `nonce` of the Safe.

    The owner who proposes it adds `sender` and `signature`, over `contractTransactionHash`.
    """
    fields = {
        "to": checksum_address(transaction.to),
        "value": 0,
        "data": "0x" + transaction.data.hex(),
        "operation": 0,
        "safeTxGas": 0,
        "baseGas": 0,
        "gasPrice": 0,
        "gasToken": ZERO_ADDRESS,
        "refundReceiver": ZERO_ADDRESS,
        "nonce": nonce,
    }
    domain = {"chainId": transaction.chain_id, "verifyingContract": safe}
    types = {"EIP712Domain": _DOMAIN_TYPE, "SafeTx": _TRANSACTION_TYPE}
    typed_data = {
        "types": {
            name: [{"name": field, "type": of} for field, of in rows.items()]
            for name, rows in types.items()
        },
        "primaryType": "SafeTx",
        "domain": domain,
        "message": fields,
    }
    return {
        "safe": checksum_address(safe),
        **fields,
        "contractTransactionHash": "0x" + typed_data_digest(typed_data).hex(),
        "sender": None,
        "signature": None,
        "origin": f"brain: {description}"[:MAX_ORIGIN_CHARS],
    }


def _safe_method(call: DecodedCall) -> dict[str, Any]:
    return {
        "inputs": [
            {"internalType": one.type, "name": one.name, "type": one.type}
            for one in call.parameters
        ],
        "name": call.function,
        "payable": False,
    }


def _safe_checksum(batch: dict[str, Any]) -> str:
    """Return the hash by which the builder notices a changed file; the name is left out."""
    content = {**batch, "meta": {**batch["meta"], "name": None}}
    return "0x" + keccak256(_serialize_for_checksum(content).encode()).hex()


def _serialize_for_checksum(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_serialize_for_checksum, value))}]"
    if isinstance(value, dict):
        names = sorted(value)
        rows = "".join(f"{_serialize_for_checksum(value[name])}," for name in names)
        return f"{{{_to_json(names)}{rows}}}"
    return _to_json(value)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
