"""ECDSA signatures over secp256k1, verified with a known public key (SEC 1, section 4.1.4).

OpenSSL verifies and does not recover keys, so the key has to be stored with the signature.
The library is loaded when a signature is verified.
"""

from __future__ import annotations

PUBLIC_KEY_SIZE = 64
"""Bytes of a public key: x and y, each 32 bytes, big-endian."""
SIGNATURE_SIZE = 64
"""Bytes of a signature: r and s, each 32 bytes, big-endian."""
DIGEST_SIZE = 32

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of the curve (SEC 2, section 2.4.1)."""
_UNCOMPRESSED = b"\x04"


def verify_digest(public_key: bytes, digest: bytes, signature: bytes) -> bool:
    """Tell whether a signature of a 32-byte digest is valid for a public key.

    An s in the upper half of the order is refused, so a signature has one form. Malformed
    keys and signatures are invalid, not an error.
    """
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, utils

    sizes = (PUBLIC_KEY_SIZE, DIGEST_SIZE, SIGNATURE_SIZE)
    if (len(public_key), len(digest), len(signature)) != sizes:
        return False
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if not 0 < r < ORDER or not 0 < s <= ORDER // 2:
        return False
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(
            ec.SECP256K1(), _UNCOMPRESSED + public_key
        )
        # The digest is given; SHA-256 only names its length.
        key.verify(
            utils.encode_dss_signature(r, s), digest, ec.ECDSA(utils.Prehashed(hashes.SHA256()))
        )
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True
