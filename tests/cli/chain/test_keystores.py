"""Keystores are made by a command, and they and their passphrases are for their owner alone."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from brain.chain.evm.account import account_from_keystore
from tests.cli.conftest import Call, validate
from tests.cli.test_on_chain import done
from tests.support.bound_accounts import PASSPHRASE, make_account, write_keystore
from tests.support.secret_files import write_secret
from tests.support.user_settings import configure

NOWHERE = ("--chain-id", "31337", "--genesis", "0x" + "11" * 32, "--rpc", "http://127.0.0.1:1")


@pytest.fixture
def passphrase_file(tmp_path):
    return str(write_secret(tmp_path / "passphrase", PASSPHRASE + "\n"))


def make_keystore(cli: Call, path: Path, passphrase_file: str) -> Any:
    told = cli("chain", "account", "new", str(path), "--passphrase-file", passphrase_file, "--json")
    assert told.status == 0, told.err
    validate("chain-account-new", told.document)
    return told.document


def test_a_new_account_opens_a_brain_on_a_chain(
    node, agent, cli, chain, passphrase_file, tmp_path, monkeypatch
):
    path = tmp_path / "account.json"
    made = make_keystore(cli, path, passphrase_file)
    assert path.stat().st_mode & 0o777 == 0o600
    node.call("anvil_setBalance", made["account"], hex(10**18))
    monkeypatch.delenv("BRAIN_LEDGER_KEY")
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", passphrase_file)
    configure(cli, f"ledger.{chain}", "--keystore", made["keystore"], "--creator", made["account"])
    assert done(cli, "chain", "open", "--ledger", chain)["sender"] == made["account"]
    path.unlink()  # as if it were on a drive that is not plugged in
    assert done(cli, "chain", "status", "--ledger", chain)["seq"] == 1


def test_a_keystore_is_of_version_3_by_scrypt_and_of_a_new_key_each_time(
    agent, cli, passphrase_file, tmp_path
):
    addresses = set()
    for name in ("one.json", "two.json"):
        made = make_keystore(cli, tmp_path / name, passphrase_file)
        content = (tmp_path / name).read_bytes()
        keystore = json.loads(content)
        assert (keystore["version"], keystore["crypto"]["kdf"]) == (3, "scrypt")
        assert "0x" + keystore["address"] == made["account"]
        assert account_from_keystore(content, PASSPHRASE).address == made["account"]
        addresses.add(made["account"])
    assert len(addresses) == 2


@pytest.mark.parametrize("existing", ["file", "link", "folder"])
def test_what_exists_is_never_overwritten(agent, cli, passphrase_file, tmp_path, existing):
    path = tmp_path / "account.json"
    if existing == "file":
        path.write_text("kept")
    elif existing == "link":
        path.symlink_to(tmp_path / "nothing")
    else:
        path.mkdir()
    told = cli("chain", "account", "new", str(path), "--passphrase-file", passphrase_file, "--json")
    assert (told.status, told.error["code"]) == (12, "exists")
    assert existing != "file" or path.read_text() == "kept"
    assert not (tmp_path / "nothing").exists()


def test_an_account_needs_a_passphrase_and_a_folder(agent, cli, tmp_path):
    path = str(tmp_path / "account.json")
    assert cli("chain", "account", "new", path, "--json").error["code"] == "passphrase_needed"
    assert cli("chain", "account", "new", "none/a.json", "--json").error["code"] == "no_such_file"
    empty = str(write_secret(tmp_path / "empty", "\n"))
    refused = cli("chain", "account", "new", path, "--passphrase-file", empty, "--json")
    assert refused.error["code"] == "no_passphrase"
    assert not Path(path).exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_keystore_that_others_can_read_is_refused(agent, cli, tmp_path, monkeypatch, mode):
    keystore, passphrase = write_keystore(tmp_path)
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(passphrase))
    keystore.chmod(mode)
    configure(cli, "ledger.far", *NOWHERE)
    configured = cli("config", "ledger.far.keystore", str(keystore), "--json")
    assert (configured.status, configured.error["code"]) == (1, "key_readable")
    assert configured.error["hint"].endswith(f"chmod 600 {keystore}")


def test_a_keystore_that_others_can_read_by_now_signs_no_transaction(
    agent, cli, tmp_path, monkeypatch
):
    keystore, passphrase = write_keystore(tmp_path)
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(passphrase))
    where = ("--contract", "0x" + "5" * 40, "--since", "1", "--creator", make_account().address)
    configure(cli, "ledger.far", *NOWHERE, *where, "--keystore", str(keystore))
    keystore.chmod(0o644)
    refused = cli("chain", "signer", "0x" + "1" * 40, "--ledger", "far", "--json")
    assert refused.error["code"] == "key_readable"


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_passphrase_file_that_others_can_read_is_refused(agent, cli, tmp_path, monkeypatch, mode):
    _, passphrase = write_keystore(tmp_path)
    passphrase.chmod(mode)
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(passphrase))
    key = cli("key", "new", "safe", "--passphrase-file", str(passphrase), "--json")
    made = cli("chain", "account", "new", str(tmp_path / "new.json"), "--json")
    for refused in (key, made):
        assert (refused.status, refused.error["code"]) == (1, "key_readable")
        assert refused.error["hint"].endswith(f"chmod 600 {passphrase}")


def test_a_passphrase_may_come_from_a_pipe(agent, cli, tmp_path, monkeypatch):
    source, sink = os.pipe()
    os.write(sink, f"{PASSPHRASE}\n".encode())
    os.close(sink)
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", f"/dev/fd/{source}")
    path = tmp_path / "account.json"
    made = cli("chain", "account", "new", str(path), "--json").document
    os.close(source)
    assert account_from_keystore(path.read_bytes(), PASSPHRASE).address == made["account"]
