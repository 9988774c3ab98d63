"""Statements about accounts: of every standing, altered in all places, and swapped."""

import json
from collections.abc import Iterator
from typing import Any

from brain.chain import account_statement
from brain.errors import BrainError
from brain.trust import ed25519, secp256k1
from tests.support.chain.bound_evidence import (
    BRAIN,
    CREATED,
    OTHER_KEY_SEED,
    accounts_text,
    make_account,
    make_statement,
)
from tests.support.chain.merkle_patricia import keccak
from tests.support.json_mutations import mutate_json
from tests.vectors.families.vector import Vector, refused, valid

Document = dict[str, Any]
NOW = CREATED + 100


def vectors() -> Iterator[Vector]:
    """Yield the vectors of accounts.json."""
    for name, text in _read().items():
        given = {"text": text.decode(), "brain": BRAIN.hex(), "now": NOW}
        yield valid(name, "accounts", given, **facts(given))
    good = json.loads(accounts_text(make_statement()))
    for what, mutant in mutate_json(good):
        yield from _altered(f"altered: {what}", json.dumps(mutant))
    text = accounts_text(make_statement()).decode()
    for name, broken in {
        "truncated": text[:-4],
        "cut in a signature": text[: text.index('"account_signature"') + 60],
        "empty": "",
        "no statement": json.dumps({**good, "statements": []}),
        "the same two twice": json.dumps({**good, "statements": good["statements"] * 2}),
        "too many": json.dumps({**good, "statements": good["statements"] * 65}),
        "two texts": text + text,
    }.items():
        yield from _altered(name, broken)


def facts(given: Document) -> Document:
    """Return each statement's key, account, chain and standing."""
    found = account_statement.parse_statements(given["text"].encode())
    brain, now = bytes.fromhex(given["brain"]), given["now"]
    return {
        "statements": [
            [
                f"ed25519:{each.terms.key.hex()}",
                f"0x{each.terms.account.hex()}",
                each.terms.chain_id or None,
                account_statement.verify_statement(each, brain, now),
            ]
            for each in found
        ]
    }


def _altered(name: str, text: str) -> Iterator[Vector]:
    """Yield what a changed text gives: it is refused, or its statement does not hold."""
    given = {"text": text, "brain": BRAIN.hex(), "now": NOW}
    try:
        found = facts(given)
    except BrainError as error:
        yield refused(name, "accounts", given, error.code)
        return
    assert all(row[-1] != account_statement.VALID for row in found["statements"]), name
    yield valid(name, "accounts", given, **found)


def _read() -> dict[str, bytes]:
    """Return texts that can be read, by what is said of their statements."""
    good, other = make_statement(), make_statement("signer")
    r, s = good.account_signature[:32], int.from_bytes(good.account_signature[32:], "big")
    mirrored = good._replace(account_signature=r + (secp256k1.ORDER - s).to_bytes(32, "big"))
    by_other_key = make_statement(seed=OTHER_KEY_SEED)
    swapped_key = good._replace(terms=good.terms._replace(key=ed25519.public_key(OTHER_KEY_SEED)))
    swapped = good._replace(terms=good.terms._replace(account=other.terms.account))
    resigned = swapped._replace(
        key_signature=make_statement(account=other.terms.account).key_signature
    )
    off_curve = keccak(b"x") + keccak(b"y")
    return {
        "of one account": accounts_text(good),
        "of two accounts and two keys": accounts_text(good, other, by_other_key),
        "that expires later": accounts_text(make_statement(expires=NOW + 1)),
        "that expires now": accounts_text(make_statement(expires=NOW)),
        "of a wallet contract": accounts_text(make_statement(chain_id=8453)),
        "of a wallet contract that expired": accounts_text(
            make_statement(chain_id=(1 << 63) - 1, expires=CREATED + 1)
        ),
        "about another brain": accounts_text(make_statement(brain=keccak(b"another brain"))),
        "another key": accounts_text(swapped_key),
        "another account": accounts_text(swapped),
        "another account, signed by the key": accounts_text(resigned),
        "another account, with its own key": accounts_text(
            resigned._replace(public_key=other.public_key)
        ),
        "another account, with its own key and signature of another statement": accounts_text(
            resigned._replace(
                public_key=other.public_key,
                account_signature=make_statement("signer", seed=OTHER_KEY_SEED).account_signature,
            )
        ),
        "signed by another key": accounts_text(
            good._replace(key_signature=by_other_key.key_signature)
        ),
        "signed for another brain by both": accounts_text(
            make_statement(brain=keccak(b"another brain"))._replace(terms=good.terms)
        ),
        "the other form of a signature": accounts_text(mirrored),
        "a public key that is no point": accounts_text(
            good._replace(public_key=off_curve, terms=_terms_of(off_curve))
        ),
        "a contract that shows the signature of a key": accounts_text(
            make_statement(chain_id=1)._replace(account_signature=good.account_signature)
        ),
        "a key that claims to be a contract": accounts_text(
            make_statement(chain_id=1)._replace(
                terms=good.terms,
                public_key=make_account().public_key,
                account_signature=good.account_signature,
            )
        ),
    }


def _terms_of(public_key: bytes) -> account_statement.BindingTerms:
    return make_statement().terms._replace(account=account_statement.address_of(public_key))
