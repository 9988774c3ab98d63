"""Ed25519 (RFC 8032) over OpenSSL, keys as text, and what a signature of a snapshot signs.

No other module imports the library. Verification is strict, so that one signature has one form
and no key signs everything: lengths are checked first; a public key must be the canonical encoding
of a point, and not one of the eight points of small order, for which some signatures fit any
message; `S` must lie below the order of the group, and `R` is compared as bytes (both OpenSSL).
Malformed keys and signatures are invalid, not an error.

The message covers the brain and the snapshot, so a signature cannot be moved to another snapshot
or brain. A snapshot commits to all its ancestors, and so does its signature.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidInput

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from ..objects.snapshot import Snapshot

SEED_SIZE = 32
"""Bytes of a private key."""
PUBLIC_KEY_SIZE = 32
SIGNATURE_SIZE = 64

RESTORE_KEY_HINT = "restore the file from a copy, or create another key with `brain key new`"
"""The hint for a damaged key file."""

_PRIME = 2**255 - 19
_CURVE_D = -121665 * pow(121666, -1, _PRIME) % _PRIME
"""Of the curve: -x² + y² = 1 + d·x²·y²."""
_SIGN_BIT = 1 << 255
_ORDER_8_Y = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
"""The y of two of the four points of order 8; that of the others is its negative."""
_SMALL_ORDER_Y = frozenset({0, 1, _PRIME - 1, _ORDER_8_Y, _PRIME - _ORDER_8_Y})


def generate_seed() -> bytes:
    """Return a new private key: 32 random bytes of the operating system."""
    return os.urandom(SEED_SIZE)


def public_key(seed: bytes) -> bytes:
    """Return the public key of a private one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign_message(seed: bytes, message: bytes) -> bytes:
    """Return the signature of `message`, 64 bytes."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


@lru_cache(4096)
def is_usable_key(key: bytes) -> bool:
    """Tell whether a public key may be trusted at all: a canonical point, not of small order.

    y is that of a point if x² = (y² - 1) / (d·y² + 1) is a square. The divisor is never 0,
    and x is 0 for points of small order alone, so the sign bit may be either.
    """
    if len(key) != PUBLIC_KEY_SIZE:
        return False
    y = int.from_bytes(key, "little") & (_SIGN_BIT - 1)
    if y >= _PRIME or y in _SMALL_ORDER_Y:
        return False
    square = y * y % _PRIME
    return pow((square - 1) * (_CURVE_D * square + 1), _PRIME >> 1, _PRIME) == 1


def verify_signature(key: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether `signature` is that of `message` by the public `key`."""
    from cryptography.exceptions import InvalidSignature

    if len(signature) != SIGNATURE_SIZE or not is_usable_key(key):
        return False
    try:
        _load_public_key(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


@lru_cache(1024)
def _load_public_key(key: bytes) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(key)


def private_key_to_pem(seed: bytes, passphrase: bytes) -> bytes:
    """Return a private key as PKCS#8 PEM, encrypted unless the passphrase is empty."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    cipher: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        cipher = serialization.BestAvailableEncryption(passphrase)
    return Ed25519PrivateKey.from_private_bytes(seed).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, cipher
    )


def private_key_from_pem(pem: bytes, passphrase: bytes) -> bytes:
    """Return the private key that PEM holds.

    Raises `InvalidInput`: `passphrase_needed`, `wrong_passphrase`, `bad_key`.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    encrypted = is_encrypted_pem(pem)
    if encrypted and not passphrase:
        raise InvalidInput(
            "the private key needs its passphrase",
            code="passphrase_needed",
            hint="name a file that holds it, with --passphrase-file FILE",
        )
    try:
        key = serialization.load_pem_private_key(pem, passphrase if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if encrypted:
            raise InvalidInput(
                "the passphrase does not open the private key",
                code="wrong_passphrase",
                hint="check the passphrase; a lost one cannot be recovered, so make a new key then",
            ) from error
        raise InvalidInput(
            "the key file holds no private key in PKCS#8 PEM",
            code="bad_key",
            hint=RESTORE_KEY_HINT,
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(
            "the private key in the key file is not an Ed25519 key",
            code="bad_key",
            hint="create one with `brain key new`",
        )
    return key.private_bytes_raw()


def is_encrypted_pem(pem: bytes) -> bool:
    """Tell whether PEM holds a private key under a passphrase."""
    return b"-----BEGIN ENCRYPTED PRIVATE KEY-----" in pem


SIGNATURE_CONTEXT = b"brain v1 signature"

_KEY_PATTERN = re.compile(r"ed25519:([0-9a-f]{64})", re.ASCII)


class KeySignature(NamedTuple):
    """A public key, 32 bytes, and its signature, 64 bytes."""

    key: bytes
    signature: bytes


def signature_message(brain: bytes, snapshot_id: bytes) -> bytes:
    """Return the bytes that are signed; `brain` and `snapshot_id` are 32 bytes each."""
    if len(brain) != 32 or len(snapshot_id) != 32:
        raise ValueError("an id is 32 bytes")
    return SIGNATURE_CONTEXT + brain + snapshot_id


def snapshot_message(snapshot_id: bytes, snapshot: Snapshot) -> bytes:
    """Return the bytes that are signed; the brain of a genesis is the genesis itself."""
    return signature_message(snapshot.brain or snapshot_id, snapshot_id)


def sign_snapshot(seed: bytes, snapshot_id: bytes, snapshot: Snapshot) -> KeySignature:
    """Return the signature of a snapshot by a private key."""
    signature = sign_message(seed, snapshot_message(snapshot_id, snapshot))
    return KeySignature(public_key(seed), signature)


def format_key(key: bytes) -> str:
    """Return a public key as `ed25519:` and 64 hex digits."""
    return f"ed25519:{key.hex()}"


def parse_key(text: str) -> bytes:
    """Return the public key that a text names. Raises `InvalidInput` (`bad_key`)."""
    match = _KEY_PATTERN.fullmatch(text)
    key = bytes.fromhex(match[1]) if match else b""
    if not is_usable_key(key):
        raise InvalidInput(
            f'"{text}" is not a public key',
            code="bad_key",
            hint="its digits are those of no safe Ed25519 key: copy it again"
            if match
            else "a key is `ed25519:` and 64 hex digits in lower case; see `brain key list`",
        )
    return key
