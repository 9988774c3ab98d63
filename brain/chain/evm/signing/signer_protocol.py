"""Signers: a key here, or a wallet elsewhere that is handed what to sign."""

from __future__ import annotations

from typing import NoReturn, Protocol

from ....errors import InvalidInput
from ..account import SignedTransaction, UnsignedTransaction


class Signer(Protocol):
    """An account that signs; `address` is 0x… text in lower case."""

    @property
    def address(self) -> str:
        """The address of the account."""

    def sign_transaction(self, transaction: UnsignedTransaction) -> SignedTransaction:
        """Return the transaction signed for its chain."""


class TransactionToSign(InvalidInput):
    """Raised (`no_key`) in place of signing a transaction that another wallet is to sign."""

    def __init__(self, sender: str, transaction: UnsignedTransaction) -> None:
        super().__init__(
            f"the key of {sender} is not here",
            code="no_key",
            hint="the commands of `brain chain` write the transaction to a file with --unsigned"
            " FILE, to be signed elsewhere",
        )
        self.sender = sender
        self.transaction = transaction


class AccountElsewhere:
    """An account whose key is not here: in place of signing, it raises what is to be signed.

    So every command that sends stops at its signature, before anything is journaled or sent.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    def sign_transaction(self, transaction: UnsignedTransaction) -> NoReturn:
        """Raise `TransactionToSign`."""
        raise TransactionToSign(self.address, transaction)
