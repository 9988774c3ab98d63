"""Unsigned transactions as files, for wallets that sign elsewhere.

`plain` is a document of this project. `safe` is a batch of Safe's Transaction Builder, and
`clef` a request `account_signTransaction` of clef; both follow their published examples.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from ....errors import InvalidInput
from ... import contracts
from ...evidence.keccak import keccak256
from ..account import UnsignedTransaction
from ..create2 import CREATE2_PROXY
from .calls import DecodedCall, decode_call, describe_call

UnsignedForm = Literal["plain", "safe", "clef"]
UNSIGNED_FORMAT = "brain v1 unsigned transaction"
_SAFE_BUILDER_VERSION = "1.16.5"


def build_unsigned_document(
    form: UnsignedForm, sender: str, transaction: UnsignedTransaction, time: int
) -> dict[str, Any]:
    """Return the document for a transaction, made at `time` in ms UTC.

    Raises `InvalidInput` (`not_for_safe`).
    """
    call = _decode_if_call(sender, transaction)
    if form == "safe":
        return _safe_batch(sender, transaction, call, time)
    if form == "clef":
        return _clef_request(sender, transaction, call)
    return _plain_document(sender, transaction, call)


def describe_transaction(sender: str, transaction: UnsignedTransaction) -> str:
    """Return what a transaction does, as one line of text."""
    if is_deployment(transaction):
        return "deploy BrainRegistry"
    if is_cancellation(sender, transaction):
        return f"cancel the transaction with nonce {transaction.nonce}"
    return describe_call(decode_call(transaction.data))


def is_deployment(transaction: UnsignedTransaction) -> bool:
    """Return whether a transaction creates BrainRegistry, by the proxy or on its own."""
    return transaction.to in ("", CREATE2_PROXY) and transaction.data.endswith(
        contracts.creation_code()
    )


def is_cancellation(sender: str, transaction: UnsignedTransaction) -> bool:
    """Return whether a transaction does nothing but take the nonce of another one."""
    return (transaction.to, transaction.data) == (sender, b"")


def checksum_address(address: str) -> str:
    """Return an address with the capital letters of its checksum (EIP-55)."""
    digits = address[2:].lower()
    marks = keccak256(digits.encode()).hex()
    pairs = zip(digits, marks, strict=False)
    return "0x" + "".join(one.upper() if int(mark, 16) > 7 else one for one, mark in pairs)


def rpc_fields(sender: str, transaction: UnsignedTransaction) -> dict[str, str]:
    """Return the fields of a transaction as JSON-RPC has them (`eth_signTransaction`)."""
    fields = {
        "chainId": hex(transaction.chain_id),
        "from": checksum_address(sender),
        "to": checksum_address(transaction.to) if transaction.to else "",
        "value": "0x0",
        "data": "0x" + transaction.data.hex(),
        "gas": hex(transaction.gas),
        "maxFeePerGas": hex(transaction.max_fee),
        "maxPriorityFeePerGas": hex(transaction.tip),
        "nonce": hex(transaction.nonce),
    }
    return {name: value for name, value in fields.items() if value}


def _decode_if_call(sender: str, transaction: UnsignedTransaction) -> DecodedCall | None:
    if is_deployment(transaction) or is_cancellation(sender, transaction):
        return None
    return decode_call(transaction.data)


def _plain_document(
    sender: str, transaction: UnsignedTransaction, call: DecodedCall | None
) -> dict[str, Any]:
    return {
        "format": UNSIGNED_FORMAT,
        "description": describe_transaction(sender, transaction),
        "call": {"function": call.signature, "arguments": call.arguments} if call else None,
        "transaction": {"type": "0x2", **rpc_fields(sender, transaction)},
    }


def _clef_request(
    sender: str, transaction: UnsignedTransaction, call: DecodedCall | None
) -> dict[str, Any]:
    fields = rpc_fields(sender, transaction)
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "account_signTransaction",
        "params": [fields, call.signature] if call else [fields],
    }


def _safe_batch(
    sender: str, transaction: UnsignedTransaction, call: DecodedCall | None, time: int
) -> dict[str, Any]:
    """Return a batch of one call; as in those of the builder, a call is named and not encoded."""
    if not transaction.to or is_cancellation(sender, transaction):
        raise InvalidInput(
            "a Safe cannot send this transaction",
            code="not_for_safe",
            hint="let an account with a key send it: name the address with --from",
        )
    batch: dict[str, Any] = {
        "version": "1.0",
        "chainId": str(transaction.chain_id),
        "createdAt": time,
        "meta": {
            "name": "BrainRegistry",
            "description": describe_transaction(sender, transaction),
            "txBuilderVersion": _SAFE_BUILDER_VERSION,
            "createdFromSafeAddress": checksum_address(sender),
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
