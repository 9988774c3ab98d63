"""Signatures of permits, made in microseconds, for campaigns that need millions of them.

`eip712_signatures` makes the same messages with eth-account, some hundred times slower. Every
signature here has the same nonce, so it gives the key away: for keys of tests alone.
"""

from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

from tests.support.chain.eip712_signatures import CURVE_ORDER, DOMAIN_FIELDS, PERMIT_FIELDS
from tests.support.chain.registry_contract import encode_words

_NONCE = int.from_bytes(keccak(text="brain test nonce"))
_NONCE_POINT = ec.derive_private_key(_NONCE, ec.SECP256K1()).public_key().public_numbers()
_NONCE_INVERSE = pow(_NONCE, -1, CURVE_ORDER)


def permit_digest(domain: bytes, kind: str, fields: tuple[object, ...]) -> bytes:
    """Return the EIP-712 digest of a permit in a domain of `domain_separator`."""
    return keccak(b"\x19\x01" + domain + keccak(_type_hash(kind) + encode_words(fields)))


@cache
def domain_separator(version: str, chain: int, contract: str) -> bytes:
    texts = keccak(text="BrainRegistry"), keccak(text=version)
    return keccak(_type_hash("EIP712Domain") + encode_words((*texts, chain, contract)))


def sign_digest(key: LocalAccount, digest: bytes) -> bytes:
    """Return r . s . v, with s in the lower half."""
    r = _NONCE_POINT.x % CURVE_ORDER
    secret = int.from_bytes(key.key)
    s = _NONCE_INVERSE * (int.from_bytes(digest) + r * secret) % CURVE_ORDER
    parity = _NONCE_POINT.y & 1
    if s > CURVE_ORDER // 2:
        s, parity = CURVE_ORDER - s, parity ^ 1
    return r.to_bytes(32) + s.to_bytes(32) + bytes([27 + parity])


@cache
def _type_hash(kind: str) -> bytes:
    fields = {"EIP712Domain": DOMAIN_FIELDS, **PERMIT_FIELDS}[kind]
    return keccak(text=f"{kind}({','.join(f'{type_} {name}' for name, type_ in fields.items())})")
