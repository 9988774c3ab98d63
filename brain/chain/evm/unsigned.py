"""Accounts whose key is elsewhere: what they would send is handed out, for any wallet."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from ...errors import InvalidInput
from .. import contracts
from ..evidence.state_proof import keccak256
from .abi import ABI_WORD_BYTES, checksum_address
from .account import SignedTransaction, UnsignedTransaction

UNSIGNED_FORMAT = "brain v1 unsigned transaction"


class Signer(Protocol):
    """An account that signs; `address` is 0x… text in lower case."""

    @property
    def address(self) -> str:
        """The address of the account."""

    def sign_transaction(self, transaction: UnsignedTransaction) -> SignedTransaction:
        """Return the transaction signed for its chain."""


class TransactionToSign(InvalidInput):
    """Raised (`no_key`) in place of signing a transaction that another wallet is to send."""

    def __init__(self, sender: str, transaction: UnsignedTransaction) -> None:
        super().__init__(
            f"the key of {sender} is not here",
            code="no_key",
            hint="with --unsigned, the commands of `brain chain` write the transaction for any"
            " wallet; once it sent it, `brain chain record` takes its hash",
        )
        self.sender = sender
        self.transaction = transaction


class AccountElsewhere:
    """An account whose key is not here: in place of signing, it raises what is to be sent.

    So every command that sends stops at its signature, before anything is journaled or sent.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    def sign_transaction(self, transaction: UnsignedTransaction) -> NoReturn:
        """Raise `TransactionToSign`."""
        raise TransactionToSign(self.address, transaction)


def build_unsigned_document(sender: str, transaction: UnsignedTransaction) -> dict[str, Any]:
    """Return a transaction for any wallet, and the call in it, None if it creates the contract.

    `transaction` has the fields of `eth_sendTransaction`; nonce and prices are the wallet's.
    """
    fields = {
        "chainId": hex(transaction.chain_id),
        "from": checksum_address(sender),
        "to": checksum_address(transaction.to) if transaction.to else "",
        "value": "0x0",
        "data": "0x" + transaction.data.hex(),
        "gas": hex(transaction.gas),
    }
    return {
        "format": UNSIGNED_FORMAT,
        "call": _decode_call(transaction.data),
        "transaction": {name: value for name, value in fields.items() if value},
    }


def _decode_call(data: bytes) -> dict[str, Any] | None:
    """Return a call of the contract: the function with its types, the arguments by name."""
    for entry in contracts.load_artifact()["abi"]:
        inputs = entry.get("inputs", ())
        function = f"{entry.get('name')}({','.join(one['type'] for one in inputs)})"
        size = 4 + ABI_WORD_BYTES * len(inputs)
        if len(data) == size and keccak256(function.encode())[:4] == data[:4]:
            arguments = {
                one["name"]: _show_word(one["type"], data[at : at + ABI_WORD_BYTES])
                for one, at in zip(inputs, range(4, size, ABI_WORD_BYTES), strict=True)
            }
            return {"function": function, "arguments": arguments}
    return None


def _show_word(type_name: str, word: bytes) -> str | int:
    if type_name.startswith("uint"):
        return int.from_bytes(word, "big")
    return "0x" + (word[12:] if type_name == "address" else word).hex()
