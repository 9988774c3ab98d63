"""Transactions that were signed elsewhere: read from a file, decoded, and their sender found."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

from ....errors import InvalidInput, ProofError
from ...evidence import rlp
from ...evidence.keccak import keccak256
from ..account import SignedTransaction, UnsignedTransaction, recover_address

MAX_SIGNED_BYTES = 256 << 10
"""Bytes of a file with a signed transaction; one that creates the contract has 25,000."""

_DYNAMIC_FEE_TYPE = 2
"""The type of transactions of EIP-1559."""
_RAW_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})+", re.ASCII)
_FIELDS_WITH_SIGNATURE = 12
_RAW_KEYS = ("result", "raw", "rawTransaction", "raw_transaction")
"""The members of JSON that hold the bytes, as JSON-RPC, geth, clef and libraries name them."""


class ReceivedTransaction(NamedTuple):
    """A transaction that `sender` signed; its fields, and its hash and bytes."""

    sender: str
    transaction: UnsignedTransaction
    signed: SignedTransaction


def read_signed_file(content: bytes) -> ReceivedTransaction:
    """Return the transaction in a file: hex, or JSON as signers answer it.

    Raises `InvalidInput` (`bad_signed`).
    """
    text = content.strip()
    if text.startswith((b"{", b'"')):
        try:
            found: Any = json.loads(text)
        except (ValueError, RecursionError):
            _refuse_signed("it is not JSON")
    else:
        found = text.decode("ascii", errors="replace")
        found = found if found.startswith("0x") else f"0x{found}"
    return decode_signed(find_raw(found))


def find_raw(answer: Any) -> bytes:
    """Return the signed bytes in the answer of a signer. Raises `InvalidInput` (`bad_signed`)."""
    for _ in range(len(_RAW_KEYS)):
        if not isinstance(answer, dict):
            break
        answer = next((answer[key] for key in _RAW_KEYS if key in answer), None)
    if not isinstance(answer, str) or not _RAW_HEX.fullmatch(answer):
        _refuse_signed("it holds no bytes of a signed transaction, as 0x and hex digits")
    return bytes.fromhex(answer[2:])


def decode_signed(raw: bytes) -> ReceivedTransaction:
    """Return a signed transaction of EIP-1559. Raises `InvalidInput` (`bad_signed`)."""
    if raw[:1] != bytes([_DYNAMIC_FEE_TYPE]):
        _refuse_signed("it is not of type 2 (EIP-1559)")
    try:
        fields = rlp.read_list(rlp.decode_rlp(raw[1:]))
        if len(fields) != _FIELDS_WITH_SIGNATURE:
            _refuse_signed("it has another number of fields than a signed transaction")
        chain_id, nonce, tip, max_fee, gas = (rlp.read_rlp_integer(one, 32) for one in fields[:5])
        to, data = rlp.read_string(fields[5]), rlp.read_string(fields[7])
        value, access_list = rlp.read_rlp_integer(fields[6], 32), rlp.read_list(fields[8])
        parity, r, s = (rlp.read_rlp_integer(one, 32) for one in fields[9:])
    except ProofError as error:
        _refuse_signed(error.message)
    if value or access_list:
        _refuse_signed("it sends money, or names an access list")
    if len(to) not in (0, 20):
        _refuse_signed("its address has another length")
    digest = keccak256(raw[:1] + rlp.encode_rlp(fields[:9]))
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([parity & 1])
    sender = recover_address(digest, signature) if parity < 2 else ""
    if not sender:
        _refuse_signed("its signature is of no key")
    transaction = UnsignedTransaction(
        chain_id=chain_id,
        nonce=nonce,
        to=f"0x{to.hex()}" if to else "",
        data=data,
        gas=gas,
        max_fee=max_fee,
        tip=tip,
    )
    signed = SignedTransaction(f"0x{keccak256(raw).hex()}", raw)
    return ReceivedTransaction(sender, transaction, signed)


def _refuse_signed(reason: str) -> NoReturn:
    raise InvalidInput(
        f"the signed transaction cannot be used: {reason}",
        code="bad_signed",
        hint="sign what `--unsigned` wrote, and give the bytes that the wallet answers",
    ) from None
