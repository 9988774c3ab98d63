"""Statements that bind an Ed25519 key to an account, and what makes them worthless."""

from typing import Any

import pytest
from eth_account.messages import encode_typed_data
from eth_keys import keys

from brain.chain import account_statement
from brain.chain.account_statement import AccountStatement, BindingTerms
from brain.chain.evm.account import Account
from brain.errors import InvalidInput
from brain.trust import ed25519

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


def test_one_key_and_one_account_are_bound_once():
    twice = account_statement.render_statements([sign(make_terms()), sign(make_terms(created=1))])
    with pytest.raises(InvalidInput, match="twice"):
        account_statement.parse_statements(twice)
