"""A signer at a URL, which speaks JSON-RPC as nodes, web3signer and clef do.

It holds the key, and may ask a person. What it answers is compared with what was asked, so that
a signer can refuse to sign, but not make brain send anything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ....errors import InvalidInput, LedgerError
from ..account import (
    SignedTransaction,
    UnsignedTransaction,
    recover_address,
    typed_data_digest,
)
from ..rpc import RpcNode, RpcRefusal
from .signed_transaction import decode_signed, find_raw
from .unsigned import rpc_fields

SIGNER_TIMEOUT_SECONDS = 120.0
"""Seconds that an answer may take: a person may have to confirm it."""

_TRANSACTION_METHODS = ("eth_signTransaction", "account_signTransaction")
_TYPED_DATA_METHODS = ("eth_signTypedData_v4", "account_signTypedData", "eth_signTypedData")
"""Names of a method: those of nodes, then those of clef and of web3signer."""
_METHOD_NOT_FOUND = -32601
_SIGNATURE_BYTES = 65


class RemoteSigner:
    """The account `address` of the signer at a URL. Errors are `LedgerError`."""

    def __init__(self, url: str, address: str, timeout: float = SIGNER_TIMEOUT_SECONDS) -> None:
        self.address = address
        self._node = RpcNode(url, timeout)

    def sign_transaction(self, transaction: UnsignedTransaction) -> SignedTransaction:
        """Return the transaction signed, after a check that it is the one that was asked for.

        Raises `LedgerError` (`unreachable`, `signer_refused`, `bad_signer`).
        """
        answer = self._ask(_TRANSACTION_METHODS, rpc_fields(self.address, transaction))
        try:
            received = decode_signed(find_raw(answer))
        except InvalidInput as error:
            raise self._wrong_answer(error.message) from error
        changed = [
            field.name
            for field in fields(transaction)
            if getattr(received.transaction, field.name) != getattr(transaction, field.name)
        ]
        if changed:
            raise self._wrong_answer(f"it signed another {', '.join(changed)}")
        if received.sender != self.address:
            raise self._wrong_answer(f"it signed for {received.sender}")
        return received.signed

    def sign_typed_data(self, document: Mapping[str, Any]) -> bytes:
        """Return the signature of typed data, after a check that it is of this account.

        Raises as `sign_transaction`.
        """
        answer = self._ask(_TYPED_DATA_METHODS, self.address, dict(document))
        try:
            signature = find_raw(answer)
        except InvalidInput as error:
            raise self._wrong_answer("it holds no signature") from error
        if len(signature) != _SIGNATURE_BYTES:
            raise self._wrong_answer(f"its signature has {len(signature)} bytes")
        # Some signers number the two points of a signature from 0, the contract from 27.
        signature = signature[:-1] + bytes([signature[-1] % 27 + 27])
        sender = recover_address(typed_data_digest(document), signature)
        if sender != self.address:
            raise self._wrong_answer(f"it signed for {sender or 'no account'}")
        return signature

    def _ask(self, methods: tuple[str, ...], *params: Any) -> Any:
        answer: Any = None
        for method in methods:
            try:
                answer = self._node.call_or_refusal(method, *params)
            except LedgerError as error:
                raise LedgerError(
                    f"the signer does not answer: {error.message}",
                    code=error.code,
                    hint="check that it runs, and that nobody has to confirm there",
                ) from error
            if not isinstance(answer, RpcRefusal):
                return answer
            if answer.code != _METHOD_NOT_FOUND:
                break
        raise LedgerError(
            f"the signer {self._node.host} refuses: {answer.message}",
            code="signer_refused",
            hint=f"check that it has the account {self.address}, and its rules",
        )

    def _wrong_answer(self, reason: str) -> LedgerError:
        return LedgerError(
            f"the answer of the signer {self._node.host} is not what was asked: {reason}",
            code="bad_signer",
            hint="nothing was sent; do not use this signer before you know why",
        )
