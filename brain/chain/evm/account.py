"""A key of secp256k1 that sends and signs: the one module that imports eth_account."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, NoReturn

from ...errors import InvalidInput
from .foreign import contained

MAX_KEYSTORE = 64 << 10
"""Bytes of a keystore file; a usual one has about 500."""
MAX_SCRYPT_MEMORY = 1 << 30
"""Bytes that opening a keystore may take; a usual one takes 256 MiB."""
MAX_ROUNDS = 10_000_000
"""Rounds of PBKDF2 that opening a keystore may take."""

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Of secp256k1 (SEC 2, 2.4.1)."""


class Transaction(NamedTuple):
    """A transaction of EIP-1559 that moves no money. `to` is "" to make a contract."""

    chain_id: int
    nonce: int
    to: str
    data: bytes
    gas: int
    max_fee: int
    tip: int


class Signed(NamedTuple):
    """A signed transaction: its hash as 0x…, and the bytes to send."""

    hash: str
    raw: bytes


class Commit(NamedTuple):
    """What is signed for somebody else to commit (EIP-712): see `commitFor` of the contract."""

    id: bytes
    snapshot: bytes
    parent: bytes
    seq: int
    deadline: int


_COMMIT = [
    {"name": "brainId", "type": "bytes32"},
    {"name": "snapshot", "type": "bytes32"},
    {"name": "parent", "type": "bytes32"},
    {"name": "seq", "type": "uint64"},
    {"name": "deadline", "type": "uint64"},
]


class Account:
    """A private key and its address, 0x… in lower case."""

    __slots__ = ("_key", "address")

    def __init__(self, key: bytes) -> None:
        with contained():
            from eth_account import Account as Library

        if len(key) != 32 or not 0 < int.from_bytes(key, "big") < _ORDER:
            _refuse("a private key is 32 bytes, below the order of secp256k1")
        self._key = Library.from_key(key)
        self.address: str = self._key.address.lower()

    def __repr__(self) -> str:
        return f"Account({self.address})"

    def sign(self, transaction: Transaction) -> Signed:
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
        return Signed("0x" + bytes(signed.hash).hex(), bytes(signed.raw_transaction))

    def sign_commit(self, chain_id: int, contract: str, commit: Commit) -> bytes:
        """Return the signature that `commitFor` takes, 65 bytes."""
        domain = {
            "name": "BrainRegistry",
            "version": "1",
            "chainId": chain_id,
            "verifyingContract": contract,
        }
        message = {
            "brainId": commit.id,
            "snapshot": commit.snapshot,
            "parent": commit.parent,
            "seq": commit.seq,
            "deadline": commit.deadline,
        }
        signed = self._key.sign_typed_data(domain, {"Commit": _COMMIT}, message)
        return bytes(signed.signature)


def from_text(text: str) -> Account:
    """Return the account of a private key in hex, with or without 0x.

    Raises `InvalidInput` (`bad_key`), whose message never shows the key.
    """
    digits = text.strip().removeprefix("0x")
    try:
        return Account(bytes.fromhex(digits) if len(digits) == 64 else b"")
    except ValueError:
        _refuse("a private key is 64 hexadecimal digits")


def from_keystore(content: bytes, passphrase: str) -> Account:
    """Return the account in a keystore file of version 3 (Web3 Secret Storage).

    Raises `InvalidInput`: `bad_key`, `passphrase_needed`, `wrong_passphrase`.
    """
    said = _keystore(content)
    if not passphrase:
        raise InvalidInput("the keystore needs its passphrase", code="passphrase_needed")
    with contained():
        from eth_account import Account as Library

    try:
        key = bytes(Library.decrypt(said, passphrase))
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        if "MAC mismatch" in str(error):
            raise InvalidInput(
                "the passphrase does not open the keystore", code="wrong_passphrase"
            ) from error
        _refuse("the keystore is damaged, or of a kind that is not supported")
    account = Account(key)
    if said.get("address") and str(said["address"]).lower()[-40:] != account.address[2:]:
        _refuse("the keystore holds another key than the one of its address")
    return account


def _keystore(content: bytes) -> dict[str, Any]:
    """Return what a keystore says, unless opening it would cost too much."""
    try:
        said: dict[str, Any] = json.loads(content) if len(content) <= MAX_KEYSTORE else {}
        costs = (said.get("crypto") or said["Crypto"])["kdfparams"]
        memory = 128 * int(costs.get("n", 0)) * int(costs.get("r", 0))
        work = memory * int(costs.get("p", 1))
        cheap = memory <= MAX_SCRYPT_MEMORY and work <= 8 * MAX_SCRYPT_MEMORY
        fits = said["version"] == 3 and cheap and int(costs.get("c", 0)) <= MAX_ROUNDS
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        fits = False
    if not fits:
        _refuse("not a keystore file of version 3 that can be opened")
    return said


def _refuse(why: str) -> NoReturn:
    raise InvalidInput(why, code="bad_key") from None
