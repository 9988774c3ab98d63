"""The record of anchors survives a process that dies while it writes, and writers side by side."""

import os
import threading
from typing import Any

import pytest
from eth_account.messages import encode_typed_data
from eth_keys import keys

from brain.chain import account_statement
from brain.chain.account_statement import AccountStatement, BindingTerms
from brain.chain.anchor_records import (
    ANCHORS_FILE,
    AnchorRecord,
    append_anchor_record,
    read_anchor_records,
)
from brain.chain.evm.account import Account
from brain.errors import BrainError, InvalidInput
from brain.trust import ed25519
from tests.support.refusals import raises_code


def anchor_record(size: int) -> AnchorRecord:
    return AnchorRecord(
        identity="eip155:5:0x55", log="tlog:x", sender="0x11", root=f"{size:064x}", size=size
    )


def test_records_are_read_in_the_order_in_which_they_were_appended(tmp_path):
    records = [anchor_record(size) for size in (1, 2, 3)]
    for record in [*records, records[1]]:
        append_anchor_record(tmp_path / "ledgers", record)
    assert read_anchor_records(tmp_path / "ledgers") == records


def test_a_folder_without_the_file_has_no_records(tmp_path):
    assert read_anchor_records(tmp_path) == []


@pytest.mark.parametrize("kept_bytes", [1, 20, -1])
def test_a_record_after_a_torn_line_does_not_join_it(tmp_path, kept_bytes):
    append_anchor_record(tmp_path, anchor_record(1))
    first = (tmp_path / ANCHORS_FILE).read_bytes()
    append_anchor_record(tmp_path, anchor_record(2))
    second = (tmp_path / ANCHORS_FILE).read_bytes()[len(first) :]
    (tmp_path / ANCHORS_FILE).write_bytes(first + second[:kept_bytes])
    assert read_anchor_records(tmp_path) == [anchor_record(1)]
    append_anchor_record(tmp_path, anchor_record(3))
    assert read_anchor_records(tmp_path) == [anchor_record(1), anchor_record(3)]


def test_a_short_write_loses_no_record(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data)[:10]))
    append_anchor_record(tmp_path, anchor_record(1))
    assert read_anchor_records(tmp_path) == [anchor_record(1)]


def test_a_record_is_durable_with_its_folder_entry(tmp_path, monkeypatch):
    synced: list[str] = []
    fsync = os.fsync

    def record_sync(handle: Any) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", record_sync)
    append_anchor_record(tmp_path, anchor_record(1))
    assert str(tmp_path) in synced


def test_records_appended_side_by_side_are_all_there(tmp_path):
    def append(start: int) -> None:
        for size in range(start, start + 3):
            append_anchor_record(tmp_path, anchor_record(size))

    threads = [threading.Thread(target=append, args=(start,)) for start in (0, 3, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.size for one in read_anchor_records(tmp_path)) == list(range(9))


def test_a_line_that_is_not_a_record_is_refused_with_a_way_out(tmp_path):
    append_anchor_record(tmp_path, anchor_record(1))
    path = tmp_path / ANCHORS_FILE
    path.write_bytes(b"{}\n" + path.read_bytes())
    with raises_code("bad_ledger", BrainError) as raised:
        append_anchor_record(tmp_path, anchor_record(2))
    assert "chain batch" in raised.value.hint


# Statements that bind an Ed25519 key to an account, and what makes them worthless.
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
