"""Accounts bound to keys: recorded in the brain, listed, and verified with it."""

import json
from typing import Any

import pytest

from brain import Brain
from brain.chain.evm.account import Account
from brain.errors import InvalidInput, NotFound
from brain.trust.signature_format import format_key
from tests.support.bound_accounts import make_account
from tests.support.refusals import raises_code
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS

ACCOUNT, OTHER = make_account(), make_account(bytes([4]) * 32)


def address_bytes(account: Account) -> bytes:
    return bytes.fromhex(account.address[2:])


def found(brain: Brain) -> list[tuple[str, str, str]]:
    return [(one.code, one.severity, one.path) for one in brain.verify().findings]


def change_row(brain: Brain, fields: dict[str, Any]) -> None:
    path = brain.root / "accounts.json"
    document = json.loads(path.read_bytes())
    document["statements"][0] |= fields
    path.write_text(json.dumps(document))
    brain.snapshot("Change the statement")


def test_a_statement_of_both_is_recorded_in_one_snapshot(brain):
    assert brain.trust.list_accounts() == []
    done = brain.trust.bind_account(KEY_SEEDS[0], ACCOUNT)
    (row,) = brain.trust.list_accounts()
    assert (done.snapshot, done.signature, done.bound) == (brain.head, None, row)
    assert (row.key, row.account) == (format_key(PUBLIC_KEYS[0]), ACCOUNT.address)
    assert (row.status, row.chain_id, row.expires) == ("valid", None, None)
    assert brain.status().clean
    assert brain.trust.list_accounts("@~1") == []
    assert found(brain) == []


def test_a_session_with_a_key_signs_the_snapshot_of_a_statement(brain):
    with Brain.open(brain.root, sign_with=lambda: KEY_SEEDS[0]) as signing:
        done = signing.trust.bind_account(KEY_SEEDS[0], ACCOUNT)
    (row,) = brain.signatures.list()
    assert (row.snapshot, row.signature) == (done.snapshot, done.signature)


def test_a_new_statement_replaces_only_that_about_the_same_two(brain):
    for account, seed in ((ACCOUNT, 0), (OTHER, 0), (ACCOUNT, 1)):
        brain.trust.bind_account(KEY_SEEDS[seed], account)
    brain.trust.bind_account(KEY_SEEDS[0], ACCOUNT, 4_000_000_000)
    rows = [(row.account, row.key) for row in brain.trust.list_accounts()]
    assert len(rows) == len(set(rows)) == 3
    assert rows[-1] == (ACCOUNT.address, format_key(PUBLIC_KEYS[0]))


@pytest.mark.parametrize("expires", [1, 1 << 60])
def test_a_statement_expires_after_it_was_made(brain, expires):
    with raises_code("bad_expiry", InvalidInput):
        brain.trust.bind_account(KEY_SEEDS[0], ACCOUNT, expires)
    assert brain.trust.list_accounts() == []


@pytest.mark.parametrize(
    ("fields", "code", "severity"),
    [
        ({"key_signature": "00" * 64}, "bad_statement", "error"),
        ({"account_signature": "00" * 64}, "bad_statement", "error"),
        ({"public_key": OTHER.public_key.hex()}, "bad_statement", "error"),
        ({"expires": 253402300799}, "bad_statement", "error"),
        ({"brain": "00" * 32}, "other_brain", "warning"),
        ({"created": 0}, "bad_accounts", "error"),
    ],
)
def test_verification_names_a_statement_that_does_not_hold(brain, fields, code, severity):
    brain.trust.bind_account(KEY_SEEDS[0], ACCOUNT)
    change_row(brain, fields)
    assert found(brain) == [(code, severity, "accounts.json")]
    brain.restore("@~1")
    assert found(brain) == []


def test_verification_warns_of_what_has_expired(brain, monkeypatch):
    from brain.verify import account_check

    made = brain.trust.bind_account(KEY_SEEDS[0], ACCOUNT, 4_000_000_000).bound
    assert made.expires is not None
    assert found(brain) == []
    monkeypatch.setattr(account_check.time, "time", lambda: 4_000_000_000)
    assert found(brain) == [("expired_statement", "warning", "accounts.json")]


def test_verification_leaves_a_wallet_contract_to_its_chain(brain):
    from brain.chain import account_statement
    from brain.trust import ed25519

    brain.trust.bind_account(KEY_SEEDS[0], ACCOUNT)
    (statement,) = account_statement.parse_statements((brain.root / "accounts.json").read_bytes())
    terms = statement.terms._replace(chain_id=8453)
    wallet = account_statement.AccountStatement(
        terms,
        b"",
        ed25519.sign_message(KEY_SEEDS[0], account_statement.key_message(terms)),
        b"any bytes that the contract accepts",
    )
    (brain.root / "accounts.json").write_bytes(account_statement.render_statements([wallet]))
    brain.snapshot("Bind a wallet")
    assert [(row.status, row.chain_id) for row in brain.trust.list_accounts()] == [
        ("unchecked", 8453)
    ]
    assert found(brain) == [("unchecked_account", "warning", "accounts.json")]


def test_a_fork_warns_that_the_statement_is_about_the_brain_it_came_from(brain, tmp_path):
    brain.trust.bind_account(KEY_SEEDS[0], ACCOUNT)
    brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        assert [row.status for row in fork.trust.list_accounts()] == ["other_brain"]
        assert found(fork) == [("other_brain", "warning", "accounts.json")]


def test_a_link_in_the_place_of_the_file_is_refused(brain):
    (brain.root / "accounts.json").symlink_to("trust.json")
    brain.snapshot("Link")
    assert found(brain) == [("bad_accounts", "error", "accounts.json")]
    with pytest.raises(InvalidInput, match="it is a link"):
        brain.trust.bind_account(KEY_SEEDS[0], ACCOUNT)


def signed_by(account: Account, document: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return the text of typed data, and its signature as a wallet returns it."""
    return json.dumps(document).encode(), account.sign_typed_data(document)


def test_a_wallet_signs_what_the_brain_writes(brain):
    document = brain.trust.write_statement(PUBLIC_KEYS[0], address_bytes(ACCOUNT))
    text, signature = signed_by(ACCOUNT, document)
    done = brain.trust.bind_signed_account(KEY_SEEDS[0], text, signature)
    assert (done.changed, done.bound.status, done.bound.account) == (True, "valid", ACCOUNT.address)
    with_low_v = signature[:64] + bytes([signature[64] - 27])
    again = brain.trust.bind_signed_account(KEY_SEEDS[0], text, with_low_v)
    assert (again.changed, again.snapshot) == (False, done.snapshot)
    assert found(brain) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda text, signature: (text, OTHER.sign_typed_data(json.loads(text))),
        lambda text, signature: (text, signature[:64]),
        lambda text, signature: (text, signature + b"\0"),
        lambda text, signature: (text, bytes(65)),
        lambda text, signature: (text, b""),
        lambda text, signature: (
            text.replace(b'"expires": 0', b'"expires": 9999999999'),
            signature,
        ),
    ],
)
def test_a_signature_that_is_not_of_the_account_is_not_recorded(brain, change):
    document = brain.trust.write_statement(PUBLIC_KEYS[0], address_bytes(ACCOUNT))
    text, signature = change(*signed_by(ACCOUNT, document))
    with raises_code("bad_signature", InvalidInput):
        brain.trust.bind_signed_account(KEY_SEEDS[0], text, signature)
    assert brain.trust.list_accounts() == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("message", "brain"), "0x" + "00" * 32),
        (("message", "key"), "0x" + PUBLIC_KEYS[1].hex()),
        (("message", "account"), "0x00"),
        (("message", "created"), 0),
        (("domain", "name"), "Permit"),
        (("domain", "chainId"), 1),
        (("primaryType",), "Permit"),
        (("types", "Permit"), []),
    ],
)
def test_a_statement_of_something_else_is_not_signed(brain, path, value):
    document = brain.trust.write_statement(PUBLIC_KEYS[0], address_bytes(ACCOUNT))
    part = document
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    with raises_code("bad_statement", InvalidInput):
        brain.trust.bind_signed_account(KEY_SEEDS[0], json.dumps(document).encode(), bytes(65))


def test_a_wallet_contract_signs_in_its_own_way_for_one_chain(brain):
    document = brain.trust.write_statement(PUBLIC_KEYS[0], address_bytes(OTHER), chain_id=8453)
    text = json.dumps(document).encode()
    bound = brain.trust.bind_signed_account(KEY_SEEDS[0], text, b"any form").bound
    assert (bound.status, bound.chain_id) == ("unchecked", 8453)
    with pytest.raises(InvalidInput):
        brain.trust.bind_signed_account(KEY_SEEDS[0], text, bytes(2049))


def test_an_account_is_unbound_in_one_snapshot_and_may_be_bound_again(brain):
    for account, seed in ((ACCOUNT, 0), (ACCOUNT, 1), (OTHER, 0)):
        brain.trust.bind_account(KEY_SEEDS[seed], account)
    done = brain.trust.unbind_account(address_bytes(ACCOUNT))
    assert [row.account for row in done.removed] == [ACCOUNT.address] * 2
    assert [row.account for row in brain.trust.list_accounts()] == [OTHER.address]
    brain.trust.unbind_account(address_bytes(OTHER))
    assert not (brain.root / "accounts.json").exists()
    assert brain.status().clean and found(brain) == []
    with raises_code("not_bound", NotFound):
        brain.trust.unbind_account(address_bytes(OTHER))
    assert brain.trust.bind_account(KEY_SEEDS[0], ACCOUNT).changed
