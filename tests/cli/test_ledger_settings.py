"""Settings of ledgers that are wrong, by hand or by accident: each is told, none is believed."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from brain.chain import ledger_config
from tests.cli.conftest import validate
from tests.support import anvil_node
from tests.support.chain.lying_node import run_lying_node
from tests.support.secret_files import write_secret

FORMAT = "brain v1 ledgers"
NOWHERE = {"rpc": ["http://127.0.0.1:1"], "chain_id": 5, "genesis": "0x" + "5" * 64}


@pytest.fixture(scope="module")
def node():
    with anvil_node.run_anvil() as running:
        yield running


@pytest.fixture
def edited(tmp_path, folder):
    """Put settings of the ledger `dev` in place, as an editor would."""

    def edit(**settings: object) -> None:
        document = {"format": FORMAT, "ledgers": {"dev": settings}}
        (tmp_path / "settings.json").write_text(json.dumps(document))

    return edit


@pytest.mark.parametrize(
    "options",
    [
        ["--rpc", "http://x", "--finality", "²"],
        ["--rpc", "http://x", "--max-cost-wei", "9" * 5000],
        ["--rpc", "http://x", "--max-cost-wei", "-5"],
        ["--rpc", "http://x", "--max-fee-gwei", "nan"],
        ["--rpc", "http://[::1"],
        ["--rpc", "http://127.0.0.1:99999"],
        ["--rpc", ""],
        ["--finality", "2"],
    ],
)
def test_what_no_ledger_can_be_is_refused_before_a_node_is_asked(cli, folder, tmp_path, options):
    told = cli("config", "ledger", "dev", *options, "--json")
    assert told.status == 1 and told.error["code"] == "bad_ledger" and told.error["hint"]
    assert not (tmp_path / "settings.json").exists()


def test_a_chain_id_that_its_nodes_do_not_have_is_refused(node, cli, folder, tmp_path):
    told = cli("config", "ledger", "dev", "--rpc", node.url, "--chain-id", "5", "--json")
    assert told.status == 1 and told.error["code"] == "wrong_chain"
    wrong = ["--genesis", "0x" + "5" * 64]
    told = cli("config", "ledger", "dev", "--rpc", node.url, *wrong, "--json")
    assert told.status == 1 and told.error["code"] == "wrong_chain"
    assert not (tmp_path / "settings.json").exists()
    told = cli("config", "ledger", "dev", "--rpc", node.url, "--finality", "2")
    assert told.status == 0 and "final is a block with 2 blocks on top" in told.out


def test_an_unknown_chain_is_capped_by_its_price_when_it_is_configured(cli, folder, tmp_path):
    with anvil_node.run_anvil("--chain-id", 424242, "--base-fee", 10**6) as node:
        with run_lying_node(node.url) as one, run_lying_node(node.url) as liar:
            liar.answer_with("eth_maxPriorityFeePerGas", hex(10**18))
            one.answer_with("eth_maxPriorityFeePerGas", hex(4 * 10**6))
            ledger = ["config", "ledger", "dev", "--json"]
            made = cli(*ledger, "--rpc", one.url, "--rpc", liar.url).document
            assert made["max_fee"] == 20 * (10**6 + 4 * 10**6)
            assert made["max_cost"] == 200_000 * made["max_fee"]
        made = cli(*ledger, "--finality", "2").document
        assert made["max_fee"] == 10**8
        assert "at most 0.1 gwei per gas" in cli("config", "ledger", "dev", "--finality", "3").out
        made = cli(*ledger, "--max-fee-gwei", "3").document
        assert made["max_fee"] == 3 * 10**9


@pytest.mark.parametrize(
    "settings",
    [{"rpc": 5}, {"rpc": ["http://x"], "keystore": 5}, {"rpc": "http://x", "secret": 1}, {}],
)
def test_a_ledger_that_was_edited_into_nonsense_is_named_and_can_be_removed(cli, edited, settings):
    edited(**settings)
    told = cli("config", "list", "--json")
    assert told.status == 1 and told.error["code"] == "bad_ledger"
    assert "dev" in told.error["message"] and told.error["hint"]
    told = cli("config", "remove", "dev", "--json")
    assert told.status == 0, told.err
    validate("config-remove", told.document)
    assert cli("config", "list", "--json").document["ledgers"] == []


def test_a_ledger_without_a_contract_keeps_no_verification_from_passing(agent, cli, edited):
    edited(**NOWHERE)
    cli("chain", "commit")
    told = cli("verify", "--ledger", "all", "--json")
    assert told.status == 0, told.err
    assert [one["ledger"] for one in told.document["ledgers"]] == ["local"]
    assert cli("verify", "--ledger", "dev").status == 3


def test_a_node_that_is_gone_is_a_finding_also_where_a_log_was_anchored(
    agent, cli, edited, tmp_path
):
    cli("chain", "commit")
    edited(**NOWHERE, contract="0x" + "5" * 40, creator="0x" + "1" * 40)
    note = {"identity": f"eip155:5:0x{'5' * 40}", "log": "tlog:x", "sender": "0x" + "1" * 40}
    note |= {"root": "00" * 32, "size": 1}
    (tmp_path / "ledgers/anchors.jsonl").write_text(json.dumps(note) + "\n")
    told = cli("verify", "--ledger", "all", "--json")
    assert told.status == 3
    assert [one["code"] for one in told.document["findings"]] == ["unreachable"]


def test_a_ledger_that_fails_is_not_mended_by_a_copy_of_the_store(agent, cli):
    told = cli("verify", "--ledger", "local", "--json")
    assert told.status == 3 and "brain chain commit" in told.error["hint"]
    told = cli("chain", "verify", "--json")
    assert told.status == 3 and "brain chain commit" in told.error["hint"]


def test_damage_of_the_log_is_no_damage_of_the_store(agent, cli, tmp_path):
    cli("chain", "commit")
    (tmp_path / "ledgers/local/log.db").unlink()
    told = cli("verify", "--ledger", "local", "--json")
    assert told.status == 3 and "brain chain status" in told.error["hint"]


def test_a_log_that_cannot_be_opened_is_a_finding_beside_those_of_the_lineage(agent, cli, tmp_path):
    (tmp_path / "ledgers").write_text("no folder")
    told = cli("verify", "--ledger", "all", "--json")
    assert told.status == 3
    assert [one["code"] for one in told.document["findings"]] == ["io_error"]
    validate("verify", told.document)


def test_the_status_of_a_log_that_is_not_there_yet_says_so(agent, cli):
    assert cli("chain", "status").out.startswith("Ledger local, not created yet\n")


def test_a_passphrase_that_is_no_text_opens_nothing(agent, cli, edited, tmp_path, monkeypatch):
    keystore = {"version": 3, "address": "z" * 40, "crypto": {"kdfparams": {}}}
    write_secret(tmp_path / "key.json", json.dumps(keystore))
    write_secret(tmp_path / "passphrase", b"\xff\xfe\n")
    edited(**NOWHERE, keystore=str(tmp_path / "key.json"), contract="0x" + "5" * 40)
    on = ("--ledger", "dev", "--json")
    told = cli("chain", "signer", "0x" + "1" * 40, *on)
    assert told.error["code"] == "passphrase_needed"
    assert "BRAIN_LEDGER_PASSPHRASE_FILE" in told.error["hint"]
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(tmp_path / "passphrase"))
    assert cli("chain", "signer", "0x" + "1" * 40, *on).error["code"] == "wrong_passphrase"
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(tmp_path / "none"))
    assert cli("chain", "signer", "0x" + "1" * 40, *on).error["code"] == "no_such_file"


def test_a_write_stands_and_says_so_if_the_key_of_its_ledger_is_gone(agent, cli, edited, tmp_path):
    (tmp_path / "key.json").mkdir()
    edited(**NOWHERE, keystore=str(tmp_path / "key.json"), contract="0x" + "5" * 40)
    Path("manifest.yaml").write_text("name: agent\ncommit:\n  ledger: dev\n")
    told = cli("snapshot", "--json")
    assert told.status == 1 and told.document["changed"]
    assert told.document["commitment"]["status"] == "failed"


def test_settings_kept_at_the_same_time_are_all_kept(tmp_path):
    path = tmp_path / "settings.json"
    names = [f"chain-{number}" for number in range(16)]
    gate = threading.Barrier(len(names))

    def keep(name: str) -> None:
        gate.wait()
        ledger_config.save_ledger(path, name, {"chain_id": 1})

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(keep, names))
    assert sorted(ledger_config.load_ledgers(path)) == sorted(names)


def test_a_log_that_was_removed_is_begun_anew_on_purpose_alone_and_warned_of(agent, cli, tmp_path):
    gone = cli("chain", "commit", "--json").document["identity"]
    shutil.rmtree(tmp_path / "ledgers")
    refused = cli("chain", "commit")
    assert refused.status == 3 and gone in refused.err
    assert cli("chain", "open").status == 0
    told = cli("verify", "--ledger", "all")
    assert told.status == 0
    assert told.out.startswith("warning: not_asked: ") and gone in told.out


def test_a_manifest_that_names_no_ledger_is_named_itself(agent, cli):
    Path("manifest.yaml").write_text("name: agent\ncommit:\n  every: 0\n")
    told = cli("snapshot")
    assert told.status == 1 and "\nError: not committed: manifest.yaml: " in told.err
