"""The signed message, and the encodings of signatures and public keys.

The message covers the brain and the snapshot, so a signature cannot be moved to
another snapshot or brain. A snapshot commits to all its ancestors, and so does its
signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from ..digest import DIGEST_SIZE
from ..encoding import pack, unpack
from ..errors import FormatError, InvalidInput, printable_text
from ..objects.snapshot import Snapshot
from . import ed25519

SIGNATURE_CONTEXT = b"brain v1 signature"
MAX_SIGNATURES_PER_SNAPSHOT = 256
"""Signatures of one snapshot in one record."""

_KEY_PATTERN = re.compile(r"ed25519:([0-9a-f]{64})", re.ASCII)
_SIGNATURE_PATTERN = re.compile(r"[0-9a-f]{128}", re.ASCII)


class KeySignature(NamedTuple):
    """A public key, 32 bytes, and its signature, 64 bytes."""

    key: bytes
    signature: bytes


def signature_message(brain: bytes, snapshot_id: bytes) -> bytes:
    """Return the bytes that are signed; `brain` and `snapshot_id` are 32 bytes each."""
    if len(brain) != DIGEST_SIZE or len(snapshot_id) != DIGEST_SIZE:
        raise ValueError("an id is 32 bytes")
    return SIGNATURE_CONTEXT + brain + snapshot_id


def snapshot_message(snapshot_id: bytes, snapshot: Snapshot) -> bytes:
    """Return the bytes that are signed; the brain of a genesis is the genesis itself."""
    return signature_message(snapshot.brain or snapshot_id, snapshot_id)


def sign_snapshot(seed: bytes, snapshot_id: bytes, snapshot: Snapshot) -> KeySignature:
    """Return the signature of a snapshot by a private key."""
    signature = ed25519.sign_message(seed, snapshot_message(snapshot_id, snapshot))
    return KeySignature(ed25519.public_key(seed), signature)


def format_key(key: bytes) -> str:
    """Return a public key as `ed25519:` and 64 hex digits."""
    return f"ed25519:{key.hex()}"


def parse_key(text: str) -> bytes:
    """Return the public key that a text names. Raises `InvalidInput` (`bad_key`)."""
    match = _KEY_PATTERN.fullmatch(text)
    key = bytes.fromhex(match[1]) if match else b""
    if not ed25519.is_usable_key(key):
        raise InvalidInput(
            f"not a public key: {printable_text(text)}",
            code="bad_key",
            hint="it is not a point of the curve, or one of small order, which verifies anything"
            if match
            else "a key is `ed25519:` and 64 hex digits in lower case",
        )
    return key


def is_signature_text(value: Any) -> bool:
    """Tell whether this is a signature as 128 lower-case hex digits."""
    return isinstance(value, str) and _SIGNATURE_PATTERN.fullmatch(value) is not None


def encode_signatures(snapshot_id: bytes, signatures: Iterable[KeySignature]) -> bytes:
    """Return the signatures of a snapshot as canonical MessagePack, by key."""
    return pack((snapshot_id, tuple(sorted(signatures))))


def decode_signatures(data: bytes) -> tuple[bytes, list[KeySignature]]:
    """Return a snapshot id and its signatures, which are well formed but not verified.

    Raises `FormatError`: `bad_signature` for another shape, and the codes of `encoding.unpack`.
    """
    value = unpack(data)
    if not _is_signature_record(value):
        raise FormatError("not a record of signatures", code="bad_signature")
    return value[0], [KeySignature(*pair) for pair in value[1]]


def _is_signature_record(value: Any) -> bool:
    return (
        type(value) is tuple
        and [type(field) for field in value] == [bytes, tuple]
        and len(value[0]) == DIGEST_SIZE
        and 0 < len(value[1]) <= MAX_SIGNATURES_PER_SNAPSHOT
        and all(map(_is_signature_pair, value[1]))
        and all(a[0] < b[0] for a, b in pairwise(value[1]))
    )


def _is_signature_pair(pair: Any) -> bool:
    return (
        type(pair) is tuple
        and [type(field) for field in pair] == [bytes, bytes]
        and len(pair[1]) == ed25519.SIGNATURE_SIZE
        and ed25519.is_usable_key(pair[0])
    )


def signature_to_json(signature: KeySignature) -> dict[str, str]:
    """Return a signature as JSON."""
    return {"key": format_key(signature.key), "signature": signature.signature.hex()}


def signature_from_json(value: Any) -> KeySignature:
    """Return a signature from JSON. Raises `FormatError` (`bad_signature`)."""
    if isinstance(value, dict) and value.keys() == {"key", "signature"}:
        key, signature = value["key"], value["signature"]
        if isinstance(key, str) and is_signature_text(signature):
            try:
                return KeySignature(parse_key(key), bytes.fromhex(signature))
            except InvalidInput as error:
                raise FormatError(error.message, code="bad_signature") from error
    raise FormatError("not a signature", code="bad_signature")
