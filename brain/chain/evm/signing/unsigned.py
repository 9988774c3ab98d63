"""Unsigned transactions as files, for wallets that sign elsewhere.

`plain` is a document of this project, `clef` a request `account_signTransaction` of clef, as in
its published examples. The other forms are those of `safe_files`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from ....errors import InvalidInput
from ..abi import checksum_address
from ..account import UnsignedTransaction
from ..create2 import creation_calls
from .calls import DecodedCall, decode_call, describe_call
from .safe_files import build_safe_batch, build_safe_proposal

UnsignedForm = Literal["plain", "safe", "safe-service", "clef"]
UNSIGNED_FORMAT = "brain v1 unsigned transaction"


class UnsignedContext(NamedTuple):
    """When a file is made, in ms UTC, and how the nonce of a Safe is read, if it is needed."""

    time: int
    read_safe_nonce: Callable[[str], int]


def build_unsigned_document(
    form: UnsignedForm, sender: str, transaction: UnsignedTransaction, context: UnsignedContext
) -> dict[str, Any]:
    """Return the document for a transaction.

    Raises `InvalidInput` (`not_for_safe`), and for a Safe what reading its nonce raises.
    """
    call = _decode_if_call(sender, transaction)
    description = describe_transaction(sender, transaction)
    if form in ("plain", "clef"):
        build = _plain_document if form == "plain" else _clef_request
        return build(sender, transaction, call)
    if not transaction.to or is_cancellation(sender, transaction):
        raise InvalidInput(
            "a Safe cannot send this transaction",
            code="not_for_safe",
            hint="let an account with a key send it: name the address with --from",
        )
    if form == "safe":
        return build_safe_batch(sender, transaction, call, description, context.time)
    nonce = context.read_safe_nonce(sender)
    return build_safe_proposal(sender, transaction, description, nonce)


def describe_transaction(sender: str, transaction: UnsignedTransaction) -> str:
    """Return what a transaction does, as one line of text."""
    if is_deployment(transaction):
        return "deploy BrainRegistry"
    if is_cancellation(sender, transaction):
        return f"cancel the transaction with nonce {transaction.nonce}"
    return describe_call(decode_call(transaction.data))


def is_deployment(transaction: UnsignedTransaction) -> bool:
    """Return whether a transaction creates BrainRegistry, by the proxy or on its own."""
    return (transaction.to, transaction.data) in creation_calls()


def is_cancellation(sender: str, transaction: UnsignedTransaction) -> bool:
    """Return whether a transaction does nothing but take the nonce of another one."""
    return (transaction.to, transaction.data) == (sender, b"")


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
