"""Keystores and their passphrases are for their owner alone."""

import os

import pytest

from tests.cli.test_on_chain import done
from tests.support.bound_accounts import PASSPHRASE, make_account, write_keystore
from tests.support.user_settings import configure

NOWHERE = ("--chain-id", "31337", "--genesis", "0x" + "11" * 32, "--rpc", "http://127.0.0.1:1")


@pytest.mark.parametrize("from_pipe", [False, True])
def test_a_keystore_opens_a_brain_on_a_chain(
    node, agent, cli, chain, tmp_path, monkeypatch, from_pipe
):
    keystore, passphrase = write_keystore(tmp_path)
    account = make_account().address
    node.set_balance(account, 10**18)
    monkeypatch.delenv("BRAIN_LEDGER_KEY")
    source, sink = os.pipe()
    os.write(sink, f"{PASSPHRASE}\n".encode())
    os.close(sink)
    named = f"/dev/fd/{source}" if from_pipe else str(passphrase)
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", named)
    configure(cli, f"ledger.{chain}", "--keystore", str(keystore), "--creator", account)
    assert done(cli, "chain", "open", "--ledger", chain)["sender"] == account
    os.close(source)
    keystore.unlink()  # as if it were on a drive that is not plugged in
    assert done(cli, "chain", "status", "--ledger", chain)["seq"] == 1


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
    refused = cli("chain", "owner", "--signer", "0x" + "1" * 40, "--ledger", "far", "--json")
    assert refused.error["code"] == "key_readable"


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_passphrase_file_that_others_can_read_is_refused(agent, cli, tmp_path, monkeypatch, mode):
    _, passphrase = write_keystore(tmp_path)
    passphrase.chmod(mode)
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(passphrase))
    key = cli("key", "new", "safe", "--passphrase-file", str(passphrase), "--json")
    assert (key.status, key.error["code"]) == (1, "key_readable")
    assert key.error["hint"].endswith(f"chmod 600 {passphrase}")
