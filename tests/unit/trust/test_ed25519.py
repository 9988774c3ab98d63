"""Ed25519 against RFC 8032, and against what a lenient verifier would take."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from brain.errors import InvalidInput
from brain.trust import ed25519
from tests.support.cases import read_cases
from tests.support.ed25519_curve import (
    ORDER,
    PRIME,
    add_points,
    encode_point,
    multiply_point,
    recover_x,
)
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

RFC_8032 = CASES["rfc_8032"]
SEED, KEY, MESSAGE, SIGNATURE = (bytes.fromhex(text) for text in RFC_8032[1])


@pytest.mark.parametrize("vector", RFC_8032)
def test_keys_and_signatures_are_those_of_rfc_8032(vector):
    seed, key, message, signature = (bytes.fromhex(text) for text in vector)
    assert ed25519.public_key(seed) == key
    assert ed25519.sign_message(seed, message) == signature
    assert ed25519.verify_signature(key, message, signature)


def test_new_keys_differ():
    assert len({ed25519.generate_seed() for _ in range(10)}) == 10


def test_no_flipped_bit_of_a_signature_nor_another_message_is_taken():
    for bit in range(8 * len(SIGNATURE)):
        flipped = bytearray(SIGNATURE)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not ed25519.verify_signature(KEY, MESSAGE, bytes(flipped))
    assert not ed25519.verify_signature(KEY, MESSAGE + b"\0", SIGNATURE)
    assert not ed25519.verify_signature(KEY, b"", SIGNATURE)


def test_a_key_that_fits_every_message_is_refused_where_openssl_takes_it():
    identity = encode_point(0, 1)
    anything = identity + bytes(32)
    Ed25519PublicKey.from_public_bytes(identity).verify(anything, b"any message")
    assert not ed25519.verify_signature(identity, b"any message", anything)


def test_the_points_of_the_curve_add_up():
    x = recover_x(4 * pow(5, -1, PRIME) % PRIME)
    assert x is not None
    base = (x if x % 2 == 0 else PRIME - x, 4 * pow(5, -1, PRIME) % PRIME)
    assert multiply_point(ORDER, base) == (0, 1)
    assert add_points(base, base) == multiply_point(2, base)


def test_a_key_is_usable_if_it_is_a_point_of_large_order():
    for y in range(2, 300):
        for sign in (0, 1):
            key = (y | sign << 255).to_bytes(32, "little")
            assert ed25519.is_usable_key(key) == (recover_x(y) is not None), y


@pytest.mark.parametrize("passphrase", [b"", b"correct horse", bytes(range(256))])
def test_a_private_key_comes_back_from_pem(passphrase):
    pem = ed25519.private_key_to_pem(SEED, passphrase)
    assert ed25519.private_key_from_pem(pem, passphrase) == SEED
    assert ed25519.is_encrypted_pem(pem) == bool(passphrase)


@pytest.mark.parametrize(
    ("pem", "passphrase", "code"),
    [
        (ed25519.private_key_to_pem(SEED, b"right"), b"", "passphrase_needed"),
        (ed25519.private_key_to_pem(SEED, b"right"), b"wrong", "wrong_passphrase"),
        (b"", b"", "bad_key"),
        (b"not PEM at all", b"x", "bad_key"),
        (ed25519.private_key_to_pem(SEED, b"")[:60], b"", "bad_key"),
        (ed25519.private_key_to_pem(SEED, b"").replace(b"MC4", b"MC5"), b"", "bad_key"),
    ],
    ids=["no passphrase", "wrong passphrase", "empty", "text", "cut", "altered"],
)
def test_what_holds_no_key_is_refused(pem, passphrase, code):
    with raises_code(code, InvalidInput):
        ed25519.private_key_from_pem(pem, passphrase)


def test_a_key_of_another_kind_is_refused():
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    pem = X25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(InvalidInput, match="is not an Ed25519 key"):
        ed25519.private_key_from_pem(pem, b"")
