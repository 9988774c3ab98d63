"""`brain key bind` and `brain key bindings`, as a user runs them."""

import json

import pytest

from tests.cli.conftest import validate
from tests.cli.test_start_up import loaded
from tests.support.bound_accounts import ACCOUNT_KEY, make_account, write_keystore

ADDRESS = make_account().address


@pytest.fixture
def keystore(tmp_path, monkeypatch):
    keystore, passphrase = write_keystore(tmp_path)
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(passphrase))
    return keystore


def test_a_key_and_the_account_of_a_keystore_sign_one_statement(agent, cli, keystore):
    key = cli("key", "new").out.strip()
    told = cli("key", "bind", "--account", str(keystore))
    assert told.status == 0, told.err
    assert told.out.splitlines()[0].split("  ")[:2] == [ADDRESS, key]
    assert told.out.splitlines()[1].endswith(", signed")
    rows = cli("key", "bindings", "--json").document
    validate("key-bindings", rows)
    assert [(row["account"], row["key"], row["status"]) for row in rows["accounts"]] == [
        (ADDRESS, key, "valid")
    ]
    validate("accounts", json.loads((agent / "accounts.json").read_text()))
    assert cli("verify").status == 0
    assert cli("secrets").status == 0


@pytest.mark.parametrize("option", ["--account", "--ledger"])
def test_an_account_without_a_name_is_refused(agent, cli, option):
    cli("key", "new")
    refused = cli("key", "bind", option, "", "--json")
    assert (refused.status, refused.error["code"]) == (2, "usage")


def test_the_account_of_a_ledger_signs(agent, cli, monkeypatch):
    cli("key", "new")
    chain = ["--chain-id", "31337", "--genesis", "0x" + "11" * 32, "--rpc", "http://127.0.0.1:1"]
    assert cli("config", "ledger", "far", *chain).status == 0
    told = cli("key", "bind", "--ledger", "far", "--json")
    assert told.status == 1 and told.error["code"] == "no_key"
    monkeypatch.setenv("BRAIN_LEDGER_KEY", ACCOUNT_KEY.hex())
    made = cli("key", "bind", "--ledger", "far", "--days", "30", "--json").document
    validate("key-bind", made)
    assert made["bound"]["account"] == ADDRESS
    assert made["bound"]["expires"] is not None


def test_a_statement_takes_one_account_and_a_key(agent, cli, keystore):
    assert cli("key", "bind").status == 2
    assert cli("key", "bind", "--ledger", "far", "--account", str(keystore)).status == 2
    told = cli("key", "bind", "--account", str(keystore), "--json")
    assert told.status == 1 and told.error["code"] == "no_key"


def test_a_statement_that_was_changed_fails_the_verification(agent, cli, keystore):
    cli("key", "new")
    cli("key", "bind", "--account", str(keystore))
    path = agent / "accounts.json"
    path.write_text(path.read_text().replace(ADDRESS, "0x" + "00" * 20))
    cli("snapshot")
    told = cli("verify", "--json")
    assert told.status == 3
    assert [one["code"] for one in told.document["findings"]] == ["bad_statement"]
    assert "not signed by the key" in cli("key", "bindings").out


def test_verifying_a_brain_without_accounts_loads_nothing_for_them(agent):
    modules = loaded("verify", cwd=agent)
    assert "brain.chain.account_statement" not in modules
    assert "cryptography" not in modules


def test_a_wallet_elsewhere_signs_a_statement_that_is_revoked_later(agent, cli, tmp_path):
    cli("key", "new")
    file = tmp_path / "statement.json"
    written = cli("key", "statement", ADDRESS, "--days", "9", "-o", str(file), "--json").document
    validate("key-statement", written)
    assert json.loads(file.read_text()) == written["typed_data"]
    signature = "0x" + make_account().sign_typed_data(written["typed_data"]).hex()
    bind = ("key", "bind", "--statement", str(file), "--signature")
    assert cli(*bind, "0x12", "--json").error["code"] == "bad_signature"
    assert cli(*bind, "12345g", "--json").error["code"] == "bad_signature"
    made = cli(*bind, signature, "--json").document
    validate("key-bind", made)
    assert (made["bound"]["status"], made["changed"]) == ("valid", True)
    assert "Nothing new" in cli(*bind, signature).out
    gone = cli("key", "unbind", ADDRESS, "--json").document
    validate("key-unbind", gone)
    assert gone["signature"] is not None
    assert cli("key", "bindings").out == "No account is bound to a key\n"
    assert cli("key", "unbind", ADDRESS, "--json").error["code"] == "not_bound"


@pytest.mark.parametrize(
    "call",
    [
        ("bind", "--statement", "x"),
        ("bind", "--signature", "0x00", "--ledger", "far"),
        ("bind", "--statement", "x", "--signature", "0x00", "--days", "1"),
        ("statement", ADDRESS, "--chain-id", "0"),
        ("statement",),
        ("unbind",),
    ],
)
def test_options_that_do_not_fit_are_a_usage_error(agent, cli, call):
    assert cli("key", *call).status == 2
