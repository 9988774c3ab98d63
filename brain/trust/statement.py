"""What is signed, how a signature is written down, and how a key is written as text.

The message covers the brain and the snapshot, so a signature can be moved neither to
another snapshot nor to another brain. A snapshot commits to all that came before it,
and so does its signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from ..digest import SIZE
from ..encoding import pack, unpack
from ..errors import FormatError, InvalidInput, printable
from ..objects.snapshot import Snapshot
from . import ed25519

CONTEXT = b"brain v1 signature"
MAX_SIGNATURES = 256
"""Signatures of one snapshot in one record."""

_KEY = re.compile(r"ed25519:([0-9a-f]{64})", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)


class Signature(NamedTuple):
    """A public key, 32 bytes, and its signature, 64 bytes."""

    key: bytes
    signature: bytes


def message(brain: bytes, snapshot_id: bytes) -> bytes:
    """Return the bytes that are signed; `brain` and `snapshot_id` are 32 bytes each."""
    if len(brain) != SIZE or len(snapshot_id) != SIZE:
        raise ValueError("an id is 32 bytes")
    return CONTEXT + brain + snapshot_id


def message_of(snapshot_id: bytes, snapshot: Snapshot) -> bytes:
    """Return the bytes that are signed; a genesis stands for its own brain."""
    return message(snapshot.brain or snapshot_id, snapshot_id)


def sign(seed: bytes, snapshot_id: bytes, snapshot: Snapshot) -> Signature:
    """Return the signature of a snapshot by a private key."""
    signature = ed25519.sign(seed, message_of(snapshot_id, snapshot))
    return Signature(ed25519.public_key(seed), signature)


def key_text(key: bytes) -> str:
    """Return a public key as `ed25519:` and 64 hex digits."""
    return f"ed25519:{key.hex()}"


def parse_key(text: str) -> bytes:
    """Return the public key that a text names; `InvalidInput` (`bad_key`) if none can be used."""
    match = _KEY.fullmatch(text)
    key = bytes.fromhex(match[1]) if match else b""
    if not ed25519.is_usable(key):
        raise InvalidInput(
            f"not a public key: {printable(text)}",
            code="bad_key",
            hint="everything would fit this one, or it is no point of the curve"
            if match
            else "a key is `ed25519:` and 64 hex digits in lower case",
        )
    return key


def encode(snapshot_id: bytes, signatures: Iterable[Signature]) -> bytes:
    """Return the signatures of a snapshot as canonical MessagePack, by key."""
    return pack((snapshot_id, tuple(sorted(signatures))))


def decode(data: bytes) -> tuple[bytes, list[Signature]]:
    """Return a snapshot id and its signatures, which are well formed but not verified.

    Raises `FormatError`: `bad_signature` for another shape, and the codes of `encoding.unpack`.
    """
    value = unpack(data)
    if not _is_record(value):
        raise FormatError("not a record of signatures", code="bad_signature")
    return value[0], [Signature(*pair) for pair in value[1]]


def _is_record(value: Any) -> bool:
    return (
        type(value) is tuple
        and [type(field) for field in value] == [bytes, tuple]
        and len(value[0]) == SIZE
        and 0 < len(value[1]) <= MAX_SIGNATURES
        and all(map(_is_pair, value[1]))
        and all(a[0] < b[0] for a, b in pairwise(value[1]))
    )


def _is_pair(pair: Any) -> bool:
    return (
        type(pair) is tuple
        and [type(field) for field in pair] == [bytes, bytes]
        and len(pair[1]) == ed25519.SIGNATURE_SIZE
        and ed25519.is_usable(pair[0])
    )


def describe(signature: Signature) -> dict[str, str]:
    """Return a signature as it stands in JSON."""
    return {"key": key_text(signature.key), "signature": signature.signature.hex()}


def parse(value: Any) -> Signature:
    """Return the signature that JSON describes; `FormatError` (`bad_signature`)."""
    if isinstance(value, dict) and value.keys() == {"key", "signature"}:
        key, signature = value["key"], value["signature"]
        if isinstance(key, str) and isinstance(signature, str) and _SIGNATURE.fullmatch(signature):
            try:
                return Signature(parse_key(key), bytes.fromhex(signature))
            except InvalidInput as error:
                raise FormatError(error.message, code="bad_signature") from error
    raise FormatError("not a signature", code="bad_signature")
