"""Statements that bind an Ed25519 key to an account, and what makes them worthless."""

import json
from typing import Any

import pytest
from eth_account.messages import encode_typed_data
from eth_keys import keys

from brain.chain import account_statement
from brain.chain.account_statement import AccountStatement, BindingTerms
from brain.chain.evm.account import Account
from brain.errors import InvalidInput
from brain.trust import ed25519, secp256k1
from tests.support.refusals import raises_code

BRAIN, NOW = bytes(range(32)), 1_790_000_000
SEED, ACCOUNT = bytes([7]) * 32, Account(bytes([9]) * 32)


def make_terms(**changes: Any) -> BindingTerms:
    fields: dict[str, Any] = {
        "brain": BRAIN,
        "key": ed25519.public_key(SEED),
        "account": bytes.fromhex(ACCOUNT.address[2:]),
        "chain_id": 0,
        "created": NOW,
        "expires": 0,
    }
    return BindingTerms(**{**fields, **changes})


def sign(terms: BindingTerms) -> AccountStatement:
    signature = ACCOUNT.sign_typed_data(account_statement.typed_data(terms))
    return AccountStatement(
        terms,
        ACCOUNT.public_key,
        ed25519.sign_message(SEED, account_statement.key_message(terms)),
        signature[:64],
    )


def judge(statement: AccountStatement, now: int = NOW) -> str:
    return account_statement.verify_statement(statement, BRAIN, now)


@pytest.mark.parametrize("changes", [{}, {"expires": NOW + 1}, {"chain_id": 8453}])
def test_the_account_signs_the_hash_that_its_library_computes(changes):
    terms = make_terms(**changes)
    signable = encode_typed_data(full_message=account_statement.typed_data(terms))
    digest = account_statement.account_digest(terms)
    signature = ACCOUNT.sign_typed_data(account_statement.typed_data(terms))
    recovered = keys.Signature(
        signature[:64] + bytes([signature[64] - 27])
    ).recover_public_key_from_msg_hash(digest)
    assert signable.version == b"\x01"
    assert recovered.to_bytes() == ACCOUNT.public_key
    assert account_statement.address_of(ACCOUNT.public_key).hex() == ACCOUNT.address[2:]


def test_a_statement_that_both_signed_is_valid_until_it_expires():
    assert judge(sign(make_terms())) == account_statement.VALID
    expiring = sign(make_terms(expires=NOW + 10))
    assert judge(expiring, NOW + 9) == account_statement.VALID
    assert judge(expiring, NOW + 10) == account_statement.EXPIRED


def test_a_statement_about_another_brain_does_not_count():
    assert judge(sign(make_terms(brain=bytes(32)))) == account_statement.OTHER_BRAIN


@pytest.mark.parametrize("field", ["key", "account", "created", "expires"])
def test_terms_that_were_changed_after_signing_are_found(field):
    others = {
        "key": ed25519.public_key(bytes([8]) * 32),
        "account": bytes(20),
        "created": NOW - 1,
        "expires": NOW + 99,
    }
    signed = sign(make_terms())
    changed = signed._replace(terms=signed.terms._replace(**{field: others[field]}))
    assert judge(changed) == account_statement.BAD_KEY_SIGNATURE
    message = account_statement.key_message(changed.terms)
    if field != "key":
        resigned = changed._replace(key_signature=ed25519.sign_message(SEED, message))
        assert judge(resigned) == account_statement.BAD_ACCOUNT_SIGNATURE


def test_neither_signature_replaces_the_other():
    signed, other = sign(make_terms()), Account(bytes([5]) * 32)
    foreign = other.sign_typed_data(account_statement.typed_data(signed.terms))[:64]
    for forged in (
        signed._replace(account_signature=foreign),
        signed._replace(account_signature=foreign, public_key=other.public_key),
        signed._replace(account_signature=bytes(64)),
        signed._replace(public_key=bytes(64)),
    ):
        assert judge(forged) == account_statement.BAD_ACCOUNT_SIGNATURE
    assert judge(signed._replace(key_signature=bytes(64))) == account_statement.BAD_KEY_SIGNATURE


def test_a_signature_has_one_form():
    signed = sign(make_terms())
    r, s = signed.account_signature[:32], int.from_bytes(signed.account_signature[32:], "big")
    mirrored = signed._replace(account_signature=r + (secp256k1.ORDER - s).to_bytes(32, "big"))
    assert judge(mirrored) == account_statement.BAD_ACCOUNT_SIGNATURE


def test_a_wallet_contract_is_left_to_its_chain():
    terms = make_terms(chain_id=1)
    wallet = sign(terms)._replace(public_key=b"", account_signature=b"\x01")
    assert judge(wallet) == account_statement.UNCHECKED
    assert account_statement.parse_statements(account_statement.render_statements([wallet])) == [
        wallet
    ]


def test_statements_are_read_as_they_were_written():
    both = [sign(make_terms()), sign(make_terms(key=ed25519.public_key(bytes([3]) * 32)))]
    text = account_statement.render_statements(both)
    assert account_statement.parse_statements(text) == both
    newer = sign(make_terms(created=NOW + 5))
    assert account_statement.replace_statement(both, newer) == [both[1], newer]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("brain", "00"),
        ("key", "ed25519:00"),
        ("account", "0x" + "A" * 40),
        ("account", "00" * 20),
        ("chain_id", 1),
        ("chain_id", 0),
        ("created", 0),
        ("created", True),
        ("expires", NOW),
        ("expires", 1 << 70),
        ("public_key", None),
        ("public_key", "00" * 65),
        ("key_signature", "00" * 63),
        ("account_signature", "00" * 65),
        ("more", 1),
    ],
)
def test_a_malformed_statement_breaks_the_file(field, value):
    document = json.loads(account_statement.render_statements([sign(make_terms())]))
    document["statements"][0][field] = value
    with raises_code("bad_accounts", InvalidInput):
        account_statement.parse_statements(json.dumps(document).encode())


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b'{"format": "brain v1 accounts", "statements": []}',
        b'{"format": "brain v2 accounts", "statements": [{}]}',
        b"[" * 99,
        b" " * (account_statement.MAX_ACCOUNTS_BYTES + 1),
    ],
)
def test_a_broken_file_is_refused(text):
    with raises_code("bad_accounts", InvalidInput):
        account_statement.parse_statements(text)


def test_one_key_and_one_account_are_bound_once():
    twice = account_statement.render_statements([sign(make_terms()), sign(make_terms(created=1))])
    with pytest.raises(InvalidInput, match="twice"):
        account_statement.parse_statements(twice)
