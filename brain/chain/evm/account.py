"""A secp256k1 account that signs transactions; the only module that imports eth_account."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from ...errors import InvalidInput

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of the curve (SEC 2, section 2.4.1)."""
MAX_KEYSTORE_BYTES = 64 << 10
"""Bytes of a keystore file; a usual one has about 500."""
MAX_SCRYPT_BYTES = 1 << 30
"""Memory in bytes that opening a keystore may take; a usual one takes 256 MiB."""
MAX_PBKDF2_ROUNDS = 10_000_000
"""Rounds of PBKDF2 that opening a keystore may take."""


@contextmanager
def preserve_recursion_limit() -> Iterator[None]:
    """Restore the recursion limit after the block, which imports web3 or eth_account.

    Both import py_ecc, which raises the limit a hundredfold for the whole process. Deeply nested
    JSON or YAML would then crash the process instead of raising `RecursionError`.
    """
    before = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsignedTransaction:
    """An EIP-1559 transaction of value 0. `to` is "" to create a contract; prices in wei."""

    chain_id: int
    nonce: int
    to: str
    data: bytes
    gas: int
    max_fee: int
    tip: int


class SignedTransaction(NamedTuple):
    """A signed transaction: its hash, 0x…, and the bytes to send."""

    hash: str
    raw: bytes


class Account:
    """A private key and its address, 0x… in lower case."""

    __slots__ = ("_key", "address")

    def __init__(self, key: bytes) -> None:
        with preserve_recursion_limit():
            from eth_account import Account as Library

        if not _is_key(key):
            _refuse_key("a private key is 32 bytes, below the order of secp256k1")
        self._key = Library.from_key(key)
        self.address: str = self._key.address.lower()

    def __repr__(self) -> str:
        return f"Account({self.address})"

    def sign_transaction(self, transaction: UnsignedTransaction) -> SignedTransaction:
        """Return the transaction signed for its chain."""
        fields: dict[str, Any] = {
            "type": 2,
            "chainId": transaction.chain_id,
            "nonce": transaction.nonce,
            "value": 0,
            "data": transaction.data,
            "gas": transaction.gas,
            "maxFeePerGas": transaction.max_fee,
            "maxPriorityFeePerGas": transaction.tip,
        }
        if transaction.to:
            fields["to"] = bytes.fromhex(transaction.to[2:])
        signed = self._key.sign_transaction(fields)
        return SignedTransaction("0x" + bytes(signed.hash).hex(), bytes(signed.raw_transaction))


def account_from_hex(text: str) -> Account:
    """Return the account of a private key in hex, with or without 0x.

    Raises `InvalidInput` (`bad_key`), whose message never shows the key.
    """
    digits = text.strip().removeprefix("0x")
    try:
        return Account(bytes.fromhex(digits) if len(digits) == 64 else b"")
    except ValueError:
        _refuse_key("the private key is not 64 hexadecimal digits")


def account_from_keystore(content: bytes, passphrase: str) -> Account:
    """Return the account in a keystore file of version 3 (Web3 Secret Storage).

    Raises `InvalidInput`: `bad_key`, `passphrase_needed`, `wrong_passphrase`.
    """
    keystore = _parse_keystore(content)
    if not passphrase:
        raise InvalidInput(
            "the keystore needs a passphrase",
            code="passphrase_needed",
            hint="name a file that holds it, with --passphrase-file FILE",
        )
    with preserve_recursion_limit():
        from eth_account import Account as Library

    try:
        key = bytes(Library.decrypt(keystore, passphrase))
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        if "MAC mismatch" in str(error):
            raise InvalidInput(
                "the passphrase does not open the keystore",
                code="wrong_passphrase",
                hint="check the passphrase, and that it belongs to this keystore file",
            ) from error
        _refuse_key("the keystore is damaged, or of an unsupported kind")
    account = Account(key)
    if keystore.get("address") and str(keystore["address"]).lower()[-40:] != account.address[2:]:
        _refuse_key("the key in the keystore does not have the address in it")
    return account


def _parse_keystore(content: bytes) -> dict[str, Any]:
    """Return the fields of a keystore, unless opening it would cost too much."""
    try:
        keystore: dict[str, Any] = json.loads(content) if len(content) <= MAX_KEYSTORE_BYTES else {}
        costs = (keystore.get("crypto") or keystore["Crypto"])["kdfparams"]
        memory = 128 * int(costs.get("n", 0)) * int(costs.get("r", 0))
        work = memory * int(costs.get("p", 1))
        is_affordable = memory <= MAX_SCRYPT_BYTES and work <= 8 * MAX_SCRYPT_BYTES
        is_valid = (
            keystore["version"] == 3
            and is_affordable
            and int(costs.get("c", 0)) <= MAX_PBKDF2_ROUNDS
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        is_valid = False
    if not is_valid:
        _refuse_key("the keystore file is not of version 3, or would take too much to open")
    return keystore


def _is_key(key: bytes) -> bool:
    return len(key) == 32 and 0 < int.from_bytes(key, "big") < _ORDER


def _refuse_key(reason: str) -> NoReturn:
    raise InvalidInput(
        reason, code="bad_key", hint="name another keystore file, or restore this one from a copy"
    ) from None
