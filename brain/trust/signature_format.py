"""The signed message, and public keys as text.

The message covers the brain and the snapshot, so a signature cannot be moved to
another snapshot or brain. A snapshot commits to all its ancestors, and so does its
signature.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..digest import DIGEST_SIZE
from ..errors import InvalidInput
from ..objects.snapshot import Snapshot
from . import ed25519

SIGNATURE_CONTEXT = b"brain v1 signature"

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
            f'"{text}" is not a public key',
            code="bad_key",
            hint="its digits are those of no safe Ed25519 key: copy it again"
            if match
            else "a key is `ed25519:` and 64 hex digits in lower case; see `brain key list`",
        )
    return key


def is_signature_text(value: Any) -> bool:
    """Tell whether this is a signature as 128 lower-case hex digits."""
    return isinstance(value, str) and _SIGNATURE_PATTERN.fullmatch(value) is not None
