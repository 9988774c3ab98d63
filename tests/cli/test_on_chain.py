"""The session of a user who commits brains to a chain: settings, registry, commitment, evidence.

The chain is a real node. What is printed keeps its schema.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call, make_agent
from tests.cli.test_commands import learn
from tests.support import anvil_node
from tests.support.secret_files import write_secret
from tests.support.user_settings import configure, settings_of

KEYS = [
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
]
"""Private keys of the node's first two accounts, the same on every such node."""

Use = Callable[[int], None]


@pytest.fixture(scope="module")
def node():
    with anvil_node.run_anvil() as running:
        yield running


@pytest.fixture
def agent(folder):
    """A brain of another id in each test, because all tests share a chain."""
    make_agent(folder)
    return folder


@pytest.fixture
def use(monkeypatch):
    """Choose which account of the node sends from now on."""

    def choose(number: int) -> None:
        monkeypatch.setenv("BRAIN_LEDGER_KEY", KEYS[number])

    return choose


@pytest.fixture
def chain(node, agent, cli, use):
    """The name of a ledger whose registry is deployed; the first account sends."""
    use(0)
    configure(cli, "ledger.dev", "--rpc", node.url, "--finality", "1")
    told = cli("chain", "deploy", "--ledger", "dev", "--json")
    assert told.status == 0, told.err
    return "dev"


def done(cli: Call, *call: str, at: str = "") -> Any:
    """Run a command that has to succeed; return its document.

    Evidence that is checked without the hash of its block is consistent, and no more.
    """
    told = cli(*(["-C", at] if at else []), *call, "--json")
    is_unknown = call[0] == "verify" and call[1].endswith(".json") and "--block-hash" not in call
    assert told.status == (4 if is_unknown else 0), told.err
    return told.document


def test_the_chain_is_pinned_when_it_is_first_named(node, cli, folder):
    configure(cli, "ledger.dev", "--rpc", node.url)
    kept = settings_of(cli, "ledger.dev")
    assert kept["chain-id"] == node.chain
    assert kept["genesis"] == node.block(0)["hash"]


def test_the_registry_is_deployed_once_and_its_address_kept(node, agent, cli, use):
    use(0)
    configure(cli, "ledger.dev", "--rpc", node.url)
    price = done(cli, "chain", "deploy", "--ledger", "dev", "--dry-run")
    assert price["status"] == "quoted"
    one = done(cli, "chain", "deploy", "--ledger", "dev")
    two = done(cli, "chain", "deploy", "--ledger", "dev")
    assert one["contract"] == two["contract"] and two["transaction"] is None
    assert settings_of(cli, "ledger.dev")["contract"] == one["contract"]


def test_a_brain_is_opened_priced_committed_and_verified(agent, cli, chain):
    on = ("--ledger", chain)
    assert cli("chain", "commit", *on, "--json").error["code"] == "not_open"
    price = done(cli, "chain", "open", *on, "--dry-run")
    assert 0 < price["expected"] <= price["worst"]
    opened = done(cli, "chain", "open", *on)
    assert (opened["seq"], opened["parent"]) == (1, None)
    learn(cli, "shared", "one")
    price = done(cli, "chain", "commit", *on, "--dry-run")
    told = cli("chain", "commit", *on)
    assert told.status == 0 and "Sending: About " in told.err
    made = done(cli, "chain", "commit", *on)
    assert made["seq"] == 2 and made["snapshots"] == 1
    assert (made["changed"], made["transaction"] is None) == (False, False)
    again = cli("chain", "commit", *on)
    assert again.out.startswith(f"Nothing new: {chain} has ") and "Sending" not in again.err
    assert "Gas" not in again.out
    assert made["gas"] is None or made["gas"] <= price["gas"]
    status = done(cli, "chain", "status", *on)
    assert [one["seq"] for one in status["commitments"]] == [1, 2] and status["behind"] == 0
    assert status["owner"] == status["commitments"][0]["sender"]
    assert done(cli, "verify", *on)["trust_level"] == "L1"
    told = cli("verify", *on)
    assert told.status == 0 and "\nTrust level L1\n" in told.out


def test_an_upsert_is_committed_to_the_chain_of_the_manifest(agent, cli, chain):
    Path("manifest.yaml").write_text("name: agent\ncommit:\n  ledger: dev\n  every: 100\n")
    cli("snapshot")
    done(cli, "chain", "open")
    told = cli("skill", "upsert", "reentrancy", "-d", "One", "--commit", "--json")
    assert told.status == 0, told.err
    assert told.document["commitment"]["ledger"] == "dev"
    assert told.document["commitment"]["seq"] == 2


def test_evidence_holds_offline_for_who_brings_the_block_hash(node, agent, cli, chain, tmp_path):
    path = "skills/reentrancy/SKILL.md"
    done(cli, "chain", "open", "--ledger", chain)
    node.mine(3)
    file = str(tmp_path / "evidence.json")
    told = cli("chain", "evidence", "--ledger", chain, "--path", path, "-o", file)
    assert told.status == 0, told.err
    found = done(cli, "verify", file, "--content", path)
    assert found["trust_level"] == "L0" and any("block" in one for one in found["missing"])
    hash = node.block(found["chain"]["block"])["hash"]
    found = done(cli, "verify", file, "--content", path, "--block-hash", hash)
    assert found["trust_level"] == "L3"
    assert found["chain"]["owner"] == node.accounts[0].lower()
    other = node.block(found["chain"]["block"] - 1)["hash"]
    assert cli("verify", file, "--block-hash", other).status == 3
    short = cli("verify", file, "--content", path, "--block-hash", hash[:18])
    assert short.status == 0 and "the rest of the block hash" in short.out
    assert cli("verify", file, "--block-hash", other[:18]).status == 3
    assert cli("verify", file, "--block-hash", hash[:10]).status == 1


def test_a_signer_commits_and_a_stranger_cannot(node, agent, cli, chain, use):
    on = ("--ledger", chain)
    done(cli, "chain", "open", *on)
    learn(cli, "shared", "one")
    use(1)
    told = cli("chain", "commit", *on, "--json")
    assert told.status == 1 and told.error["code"] == "unauthorized"
    use(0)
    done(cli, "chain", "owner", "--signer", node.accounts[1], *on)
    use(1)
    assert done(cli, "chain", "commit", *on)["sender"] == node.accounts[1].lower()
    use(0)
    done(cli, "chain", "owner", "--signer", "none", *on)
    learn(cli, "shared", "two")
    use(1)
    assert cli("chain", "commit", *on, "--json").error["code"] == "unauthorized"


def test_a_brain_changes_hands_in_two_steps(node, agent, cli, chain, use):
    on = ("--ledger", chain)
    done(cli, "chain", "open", *on)
    done(cli, "chain", "owner", "--offer", node.accounts[1], *on)
    done(cli, "chain", "owner", "--offer", "none", *on)
    use(1)
    told = cli("chain", "owner", "--accept", *on, "--json")
    assert told.status == 1 and told.error["code"] == "unauthorized"
    assert node.accounts[1].lower() in told.error["message"]
    use(0)
    assert (
        cli("chain", "owner", "--offer", "0x" + "0" * 40, *on, "--json").error["code"]
        == "bad_address"
    )
    done(cli, "chain", "owner", "--offer", node.accounts[1], *on)
    use(1)
    done(cli, "chain", "owner", "--accept", *on)
    learn(cli, "shared", "one")
    assert done(cli, "chain", "commit", *on)["seq"] == 2
    assert done(cli, "chain", "status", *on)["owner"] == node.accounts[1].lower()
    use(0)
    learn(cli, "shared", "two")
    assert cli("chain", "commit", *on, "--json").error["code"] == "unauthorized"


def test_a_batch_is_one_transaction_and_each_brain_has_its_evidence(
    node, agent, cli, chain, tmp_path
):
    brains = [str(tmp_path / f"b{number}") for number in range(5)]
    for brain in brains:
        cli("init", brain)
        cli("-C", brain, "skill", "upsert", "A", "-d", "What it learned")
    before = node.call("eth_getTransactionCount", node.accounts[0], "latest")
    batch = done(cli, "chain", "batch", "--ledger", chain, *brains)
    after = node.call("eth_getTransactionCount", node.accounts[0], "latest")
    assert int(after, 16) - int(before, 16) == 1
    assert len(batch["committed"]) == 5 and batch["anchored"]["size"] == 5
    on = ("-C", brains[0], "chain")
    (early,) = done(cli, *on[2:], "status", "--ledger", chain, at=brains[0])["commitments"]
    assert early["status"] == "included"
    told = cli(*on, "evidence", "--ledger", chain, "--json")
    assert told.status == 1 and told.error["code"] == "not_final"
    node.mine(3)
    for brain in brains:
        told = cli(
            *("-C", brain, "chain", "evidence", "--ledger", chain),
            *("--path", "skills/a/SKILL.md", "-o", str(tmp_path / "evidence.json")),
        )
        assert told.status == 0, told.err
        told = cli("verify", str(tmp_path / "evidence.json"), "--json")
        assert told.status == 4  # until the reader brings the hash of the block
        found = told.document
        assert found["chain"]["sender"] == node.accounts[0].lower()
        hash = node.block(found["chain"]["block"])["hash"]
        found = done(cli, "verify", str(tmp_path / "evidence.json"), "--block-hash", hash)
        assert found["trust_level"] == "L3"
        assert found["log"]["size"] == 5
        assert cli("-C", brain, "verify", "--ledger", chain).status == 0


def test_a_commitment_that_waits_is_told_as_such_and_is_not_sent_twice(
    node, agent, cli, chain, monkeypatch
):
    from brain_cli.settings import user_ledgers

    on = ("--ledger", chain)
    done(cli, "chain", "open", *on)
    learn(cli, "shared", "one")
    monkeypatch.setattr(user_ledgers, "TRANSACTION_TIMEOUT_SECONDS", 0.0)
    node.set_automine(False)
    try:
        sent = done(cli, "chain", "commit", *on)
        assert (sent["status"], sent["block"]) == ("pending", None)
        again = done(cli, "chain", "commit", *on)
        assert again["transaction"] == sent["transaction"]
        status = done(cli, "chain", "status", *on)
        assert status["seq"] == 1 and status["behind"] == 1
        assert [one["status"] for one in status["commitments"]][1:] == ["pending"]
    finally:
        node.set_automine(True)
        node.mine()
    assert done(cli, "chain", "status", *on)["seq"] == 2
    assert done(cli, "verify", *on)["ok"]


def test_a_keystore_opens_with_the_passphrase_in_a_file(
    node, agent, cli, chain, tmp_path, monkeypatch
):
    from eth_account import Account

    kept = Account.encrypt(KEYS[0], "open sesame", kdf="pbkdf2", iterations=1000)
    write_secret(tmp_path / "key.json", json.dumps(kept))
    write_secret(tmp_path / "passphrase", "open sesame\n")
    monkeypatch.delenv("BRAIN_LEDGER_KEY")
    configure(cli, f"ledger.{chain}", "--keystore", str(tmp_path / "key.json"))
    told = cli("chain", "open", "--ledger", chain, "--json")
    assert told.status == 1 and told.error["code"] == "passphrase_needed"
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(tmp_path / "passphrase"))
    made = done(cli, "chain", "open", "--ledger", chain)
    assert made["sender"] == node.accounts[0].lower()
    monkeypatch.delenv("BRAIN_LEDGER_PASSPHRASE_FILE")
    assert done(cli, "chain", "status", "--ledger", chain)["seq"] == 1


@pytest.mark.parametrize("key", ["0xnot-a-key", "0x" + "00" * 32, "12" * 31])
def test_a_bad_key_in_the_environment_is_named_and_not_shown(key, agent, cli, chain, monkeypatch):
    monkeypatch.setenv("BRAIN_LEDGER_KEY", key)
    told = cli("chain", "open", "--ledger", chain, "--json")
    assert told.status == 1 and told.error["code"] == "bad_key"
    assert "BRAIN_LEDGER_KEY" in told.error["message"]
    assert "keystore file, or restore" not in told.error["hint"]
    assert key not in told.err


def test_a_bad_keystore_is_named(agent, cli, chain, tmp_path, monkeypatch):
    from eth_account import Account

    monkeypatch.delenv("BRAIN_LEDGER_KEY")
    keystore, passphrase = tmp_path / "key.json", tmp_path / "passphrase"
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(passphrase))
    configure(cli, f"ledger.{chain}", "--keystore", str(keystore))
    kept = Account.encrypt(KEYS[0], "open sesame", kdf="pbkdf2", iterations=1000)
    for content, typed, code in (
        (None, "open sesame", "no_key"),
        ("{", "open sesame", "bad_key"),
        (json.dumps(kept | {"address": "0" * 40}), "open sesame", "bad_key"),
        (json.dumps(kept), "open rhubarb", "wrong_passphrase"),
        (json.dumps(kept), "", "no_passphrase"),
    ):
        if content is not None:
            write_secret(keystore, content)
        write_secret(passphrase, typed)
        told = cli("chain", "open", "--ledger", chain, "--json")
        assert told.status == 1 and told.error["code"] == code, told.err
        named = passphrase if code == "no_passphrase" else keystore
        assert str(named) in told.error["message"]


def test_what_cannot_be_reached_is_a_clear_error(node, agent, cli, chain):
    configure(cli, f"ledger.{chain}", "--rpc", "http://127.0.0.1:1")
    told = cli("chain", "status", "--ledger", chain, "--json")
    assert told.status == 1 and told.error["code"] == "unreachable" and told.error["hint"]
    told = cli("verify", "--ledger", chain, "--json")
    assert told.status == 3
    assert [one["code"] for one in told.document["findings"]] == ["unreachable"]
    told = cli("verify", "--ledger", chain)
    assert f"{chain}: could not be read\n" in told.out


def test_what_waits_for_a_block_is_not_told_as_done(node, agent, cli, chain, monkeypatch):
    from brain_cli.settings import user_ledgers

    on = ("--ledger", chain)
    done(cli, "chain", "open", *on)
    node.set_automine(False)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(user_ledgers, "TRANSACTION_TIMEOUT_SECONDS", 0.0)
            told = cli("chain", "owner", "--signer", node.accounts[1], *on)
        assert told.status == 0
        assert told.out.startswith("Not yet in a block: Signer is ")
        assert done(cli, "chain", "status", *on)["signer"] is None
    finally:
        node.mine()
        node.set_automine(True)
    assert cli("chain", "owner", "--signer", "none", *on).out.startswith("Only the owner")


@pytest.mark.parametrize("way", ["deploy", "contract"])
def test_a_second_machine_sees_what_was_committed_before_it_was_set_up(
    way, node, agent, cli, chain, tmp_path
):
    on = ("--ledger", chain)
    opened = done(cli, "chain", "open", *on)
    node.mine(1000)
    contract = settings_of(cli, f"ledger.{chain}")["contract"]
    (tmp_path / "config.toml").unlink()
    shutil.rmtree(tmp_path / "ledgers")
    configure(cli, f"ledger.{chain}", "--rpc", node.url, "--finality", "1")
    if way == "deploy":
        assert done(cli, "chain", "deploy", *on)["transaction"] is None
    else:
        configure(cli, f"ledger.{chain}", "--contract", contract)
    status = done(cli, "chain", "status", *on)
    assert [one["transaction"] for one in status["commitments"]] == [opened["transaction"]]
    assert cli("verify", *on).status == 0
