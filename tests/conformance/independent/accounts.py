"""Statements about accounts in the second implementation, from docs/format/accounts.md."""

import re
from typing import Any

from Crypto.Hash import keccak as _keccak

from tests.conformance.independent.objects import InvalidFormat, require
from tests.conformance.independent.proofs import parse_json, read_id, require_keys
from tests.conformance.independent.signatures import read_key, verify_message

StatementRow = list[Any]
Point = tuple[int, int] | None

_FIELD = 2**256 - 2**32 - 977
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_BASE = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
_MAX_TIME = 253402300799
_FIELDS = {
    "brain",
    "key",
    "account",
    "chain_id",
    "created",
    "expires",
    "public_key",
    "key_signature",
    "account_signature",
}
_TYPE = (
    "AccountStatement(bytes32 brain,bytes32 key,address account,"
    "uint64 chainId,uint64 created,uint64 expires)"
)


def check_accounts(data: bytes, brain: str, now: int) -> list[StatementRow]:
    """Return key, account, chain and standing of each statement of accounts.json."""
    require(len(data) <= 524_288, "too large")
    found = parse_json(data)
    require_keys(found, {"format", "statements"})
    require(found["format"] == "brain v1 accounts", "the format")
    rows = found["statements"]
    require(type(rows) is list and 1 <= len(rows) <= 64, "the statements")
    for row in rows:
        _require_well_formed(row)
    subjects = {(row["brain"], row["key"], row["account"], row["chain_id"]) for row in rows}
    require(len(subjects) == len(rows), "two about the same")
    return [
        [row["key"], row["account"], row["chain_id"], _standing(row, brain, now)] for row in rows
    ]


def _require_well_formed(row: Any) -> None:
    require_keys(row, _FIELDS)
    read_id(row["brain"])
    require(type(row["key"]) is str and row["key"][:8] == "ed25519:", "a key")
    read_key(read_id(row["key"][8:]))
    require(type(row["account"]) is str and row["account"][:2] == "0x", "an account")
    _read_hex(row["account"][2:], 20, 20)
    _require_number(row["created"], 1, _MAX_TIME)
    if row["expires"] is not None:
        _require_number(row["expires"], row["created"] + 1, _MAX_TIME)
    _read_hex(row["key_signature"], 64, 64)
    if row["chain_id"] is None:
        _read_hex(row["public_key"], 64, 64)
        _read_hex(row["account_signature"], 64, 64)
    else:
        _require_number(row["chain_id"], 1, (1 << 63) - 1)
        require(row["public_key"] is None, "a public key of a contract")
        _read_hex(row["account_signature"], 1, 2048)


def _standing(row: dict[str, Any], brain: str, now: int) -> str:
    if row["brain"] != brain:
        return "other_brain"
    ids = [bytes.fromhex(text) for text in (brain, row["key"][8:], row["account"][2:])]
    numbers = [row["chain_id"] or 0, row["created"], row["expires"] or 0]
    message = b"brain v1 account" + b"".join(ids) + b"".join(n.to_bytes(8, "big") for n in numbers)
    try:
        verify_message(ids[1], message, bytes.fromhex(row["key_signature"]))
    except InvalidFormat:
        return "bad_key_signature"
    if row["chain_id"] is None:
        words = [*ids[:2], bytes(12) + ids[2], *(n.to_bytes(32, "big") for n in numbers)]
        domain = [_hash(b"EIP712Domain(string name,string version)")]
        domain += [_hash(b"brain account statement"), _hash(b"1")]
        struct = _hash(_hash(_TYPE.encode()) + b"".join(words))
        digest = _hash(b"\x19\x01" + _hash(b"".join(domain)) + struct)
        public, signature = (
            bytes.fromhex(row[name]) for name in ("public_key", "account_signature")
        )
        if _hash(public)[12:] != ids[2] or not _is_signed(public, digest, signature):
            return "bad_account_signature"
    if row["expires"] is not None and row["expires"] <= now:
        return "expired"
    return "valid" if row["chain_id"] is None else "unchecked"


def _is_signed(public: bytes, digest: bytes, signature: bytes) -> bool:
    x, y, r, s = (
        int.from_bytes(part, "big")
        for part in (public[:32], public[32:], signature[:32], signature[32:])
    )
    if max(x, y) >= _FIELD or (y * y - x**3 - 7) % _FIELD:
        return False
    if not 0 < r < _ORDER or not 0 < s <= _ORDER // 2:
        return False
    inverse = pow(s, -1, _ORDER)
    u = int.from_bytes(digest, "big") * inverse % _ORDER
    found = _add(_multiply(u, _BASE), _multiply(r * inverse % _ORDER, (x, y)))
    return found is not None and found[0] % _ORDER == r


def _add(one: Point, other: Point) -> Point:
    if one is None or other is None:
        return one or other
    if one[0] == other[0]:
        if (one[1] + other[1]) % _FIELD == 0:
            return None
        slope = 3 * one[0] ** 2 * pow(2 * one[1], -1, _FIELD)
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, _FIELD)
    x = (slope * slope - one[0] - other[0]) % _FIELD
    return x, (slope * (one[0] - x) - one[1]) % _FIELD


def _multiply(times: int, point: Point) -> Point:
    out: Point = None
    while times:
        if times & 1:
            out = _add(out, point)
        point, times = _add(point, point), times >> 1
    return out


def _hash(data: bytes) -> bytes:
    return _keccak.new(digest_bits=256, data=data).digest()


def _read_hex(value: Any, least: int, most: int) -> None:
    require(type(value) is str and re.fullmatch("([0-9a-f]{2})*", value), "hex")
    require(least <= len(value) // 2 <= most, "the length of hex")


def _require_number(value: Any, least: int, most: int) -> None:
    require(type(value) is int and least <= value <= most, "a number")
