"""Signatures and equivocation in the second implementation, from docs/FORMAT.md and RFC 8032."""

from __future__ import annotations

import re
from hashlib import sha512
from itertools import pairwise
from typing import Any

from .independent import decode, is_bytes, require
from .independent_lineage import read_snapshot
from .independent_proofs import check_keys, parse_json, read_base64, read_id

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

Point = tuple[int, int, int, int]


def verify(brain: bytes, snapshot: bytes, key: bytes, signature: bytes) -> None:
    """Refuse a signature that is not that of the snapshot by the key."""
    require(len(brain) == 32 and len(snapshot) == 32, "the ids")
    verify_message(key, b"brain v1 signature" + brain + snapshot, signature)


def verify_message(key: bytes, message: bytes, signature: bytes) -> None:
    """Refuse a signature that is not that of the message by the key."""
    require(len(signature) == 64, "the length of the signature")
    a = read_key(key)
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    require(s < L, "S")
    k = int.from_bytes(sha512(r + key + message).digest(), "little") % L
    x, y, z, t = a
    minus = (-x % P, y, z, -t % P)
    require(_encoded(_add(_times(s, _BASE), _times(k, minus))) == r, "the signature")


def read_key(key: bytes) -> Point:
    """Return the point that a usable key encodes."""
    require(len(key) == 32, "the length of the key")
    number = int.from_bytes(key, "little")
    y, sign = number % 2**255, number >> 255
    require(y < P, "a key that is not reduced")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    require((x * x - square) % P == 0, "a key that is no point")
    require(x or not sign, "minus zero")
    x = x if x % 2 == sign else P - x
    point = (x, y, 1, x * y % P)
    require(_encoded(_times(8, point)) != (1).to_bytes(32, "little"), "a key of small order")
    return point


def _add(one: Point, other: Point) -> Point:
    (x1, y1, z1, t1), (x2, y2, z2, t2) = one, other
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(number: int, point: Point) -> Point:
    out: Point = (0, 1, 1, 0)
    while number:
        if number & 1:
            out = _add(out, point)
        point = _add(point, point)
        number >>= 1
    return out


def _encoded(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


_Y = 4 * pow(5, -1, P) % P
_BASE = read_key(_Y.to_bytes(32, "little"))


def read_record(data: bytes) -> tuple[bytes, list[bytes]]:
    """Return the snapshot and the keys of a record of signatures."""
    value = decode(data)
    require(isinstance(value, list) and len(value) == 2, "a record")
    snapshot, rows = value
    require(is_bytes(32)(snapshot) and isinstance(rows, list), "the fields")
    require(1 <= len(rows) <= 256, "how many")
    for row in rows:
        require(isinstance(row, list) and len(row) == 2, "a row")
        require(is_bytes(32)(row[0]) and is_bytes(64)(row[1]), "a key and a signature")
        read_key(row[0])
    require(all(a[0] < b[0] for a, b in pairwise(rows)), "the order")
    return snapshot, [row[0] for row in rows]


def key_of(text: Any) -> bytes:
    """Return the key that a text names."""
    require(isinstance(text, str) and re.fullmatch("ed25519:[0-9a-f]{64}", text), "a key")
    key = bytes.fromhex(text[8:])
    read_key(key)
    return key


def check_equivocation(text: bytes) -> dict[str, Any]:
    """Return what a proof of equivocation shows."""
    require(len(text) <= 4_194_304, "too large")
    proof = parse_json(text)
    check_keys(proof, {"format", "brain", "parent", "key", "signed"})
    require(proof["format"] == "brain v1 equivocation", "the format")
    brain, parent, key = read_id(proof["brain"]), read_id(proof["parent"]), key_of(proof["key"])
    require(isinstance(proof["signed"], list) and len(proof["signed"]) == 2, "two of them")
    both = []
    for row in proof["signed"]:
        check_keys(row, {"encoded", "signature"})
        form = "[0-9a-f]{128}"
        require(isinstance(row["signature"], str), "text")
        require(re.fullmatch(form, row["signature"]), "a signature")
        found = read_snapshot(read_base64(row["encoded"]))
        require(found.brain == brain and found.parents[:1] == [parent], "another parent")
        verify(brain, found.id, key, bytes.fromhex(row["signature"]))
        both.append(found)
    one, two = both
    require(one.id < two.id, "the order")
    require(one.id not in two.parents and two.id not in one.parents, "a parent")
    require(abs(one.generation - two.generation) <= 1, "the generations")
    names = {"brain": proof["brain"], "parent": proof["parent"], "key": proof["key"]}
    return {**names, "snapshots": [one.id.hex(), two.id.hex()]}
