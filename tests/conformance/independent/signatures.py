"""Signatures in the second implementation, from docs/FORMAT.md and RFC 8032."""

import functools
import re
from hashlib import sha512
from itertools import pairwise
from typing import Any

from tests.conformance.independent.objects import decode, is_bytes, require

FIELD_PRIME = 2**255 - 19
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, -1, FIELD_PRIME) % FIELD_PRIME

Point = tuple[int, int, int, int]


def verify_signature(brain: bytes, snapshot: bytes, key: bytes, signature: bytes) -> None:
    """Refuse a signature that is not that of the snapshot by the key."""
    require(len(brain) == 32 and len(snapshot) == 32, "the ids")
    verify_message(key, b"brain v1 signature" + brain + snapshot, signature)


def verify_message(key: bytes, message: bytes, signature: bytes) -> None:
    """Refuse a signature that is not that of the message by the key."""
    require(len(signature) == 64, "the length of the signature")
    a = read_key(key)
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    require(s < GROUP_ORDER, "S")
    k = int.from_bytes(sha512(r + key + message).digest(), "little") % GROUP_ORDER
    x, y, z, t = a
    minus = (-x % FIELD_PRIME, y, z, -t % FIELD_PRIME)
    require(
        _encode_point(_add_points(_multiply_point(s, _BASE_POINT), _multiply_point(k, minus))) == r,
        "the signature",
    )


@functools.lru_cache(maxsize=1024)
def read_key(key: bytes) -> Point:
    """Return the point that a usable key encodes."""
    require(len(key) == 32, "the length of the key")
    number = int.from_bytes(key, "little")
    y, sign = number % 2**255, number >> 255
    require(y < FIELD_PRIME, "a key that is not reduced")
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, -1, FIELD_PRIME) % FIELD_PRIME
    x = pow(square, (FIELD_PRIME + 3) // 8, FIELD_PRIME)
    if (x * x - square) % FIELD_PRIME:
        x = x * pow(2, (FIELD_PRIME - 1) // 4, FIELD_PRIME) % FIELD_PRIME
    require((x * x - square) % FIELD_PRIME == 0, "a key that is no point")
    require(x or not sign, "minus zero")
    x = x if x % 2 == sign else FIELD_PRIME - x
    point = (x, y, 1, x * y % FIELD_PRIME)
    eightfold = point
    for _ in range(3):
        eightfold = _add_points(eightfold, eightfold)
    require(_encode_point(eightfold) != (1).to_bytes(32, "little"), "a key of small order")
    return point


def _add_points(one: Point, other: Point) -> Point:
    (x1, y1, z1, t1), (x2, y2, z2, t2) = one, other
    a, b = (y1 - x1) * (y2 - x2) % FIELD_PRIME, (y1 + x1) * (y2 + x2) % FIELD_PRIME
    c, d = 2 * t1 * t2 * CURVE_D % FIELD_PRIME, 2 * z1 * z2 % FIELD_PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % FIELD_PRIME, g * h % FIELD_PRIME, f * g % FIELD_PRIME, e * h % FIELD_PRIME


def _multiply_point(number: int, point: Point) -> Point:
    out: Point = (0, 1, 1, 0)
    for place, doubled in enumerate(_double_repeatedly(point)):
        if number >> place & 1:
            out = _add_points(out, doubled)
    return out


@functools.lru_cache(maxsize=32)
def _double_repeatedly(point: Point) -> list[Point]:
    """Return a point times each power of two below 2^256; few points are multiplied often."""
    points = [point]
    while len(points) < 256:
        points.append(_add_points(points[-1], points[-1]))
    return points


def _encode_point(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, FIELD_PRIME)
    x, y = x * inverse % FIELD_PRIME, y * inverse % FIELD_PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")


_BASE_Y = 4 * pow(5, -1, FIELD_PRIME) % FIELD_PRIME
_BASE_POINT = read_key(_BASE_Y.to_bytes(32, "little"))


def read_signature_record(data: bytes) -> tuple[bytes, list[bytes]]:
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


def parse_key(text: Any) -> bytes:
    """Return the key that a text names."""
    require(isinstance(text, str) and re.fullmatch("ed25519:[0-9a-f]{64}", text), "a key")
    key = bytes.fromhex(text[8:])
    read_key(key)
    return key
