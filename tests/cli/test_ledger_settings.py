"""Settings of ledgers that are wrong, by hand or by accident: each is told, none is believed."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from brain_cli.settings import config_file

from tests.support import anvil_node
from tests.support.chain.lying_node import run_lying_node
from tests.support.secret_files import write_secret
from tests.support.user_settings import configure, settings_of

NOWHERE = {"rpc": ["http://127.0.0.1:1"], "chain-id": 5, "genesis": "0x" + "5" * 64}


@pytest.fixture(scope="module")
def node():
    with anvil_node.run_anvil() as running:
        yield running


@pytest.fixture
def edited(tmp_path, folder):
    """Put settings of the ledger `dev` in place, as an editor would."""

    def edit(**settings: object) -> None:
        lines = (f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        (tmp_path / "config.toml").write_text(f"[ledger.dev]\n{''.join(lines)}")

    return edit


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("finality", "²"),
        ("max-cost-wei", "9" * 5000),
        ("max-cost-wei", "0"),
        ("max-fee-gwei", "nan"),
        ("rpc", "http://[::1"),
        ("rpc", "http://127.0.0.1:99999"),
        ("genesis", "0x5"),
        ("since", "soon"),
    ],
)
def test_what_no_ledger_can_be_is_refused_before_a_node_is_asked(
    cli, folder, tmp_path, field, value
):
    refused = cli("config", f"ledger.dev.{field}", value, "--json")
    assert refused.status == 1 and refused.error["code"] == "bad_ledger" and refused.error["hint"]
    assert not (tmp_path / "config.toml").exists()


def test_a_chain_id_that_its_nodes_do_not_have_is_refused(node, cli, folder):
    for pin in (("chain-id", "5"), ("genesis", "0x" + "5" * 64)):
        assert cli("config", f"ledger.dev.{pin[0]}", pin[1]).status == 0
        refused = cli("config", "ledger.dev.rpc", node.url, "--json")
        assert refused.status == 1 and refused.error["code"] == "wrong_chain"
        assert f"unset ledger.dev.{pin[0]}" in refused.error["hint"]
        assert cli("config", "--unset", f"ledger.dev.{pin[0]}").status == 0
    configure(cli, "ledger.dev", "--rpc", node.url, "--finality", "2")
    assert settings_of(cli, "ledger.dev")["finality"] == 2


def test_an_unknown_chain_is_capped_by_its_price_when_it_is_configured(cli, folder, tmp_path):
    with anvil_node.run_anvil("--chain-id", 424242, "--base-fee", 10**6) as node:
        with run_lying_node(node.url) as one, run_lying_node(node.url) as liar:
            liar.answer_with("eth_maxPriorityFeePerGas", hex(10**18))
            one.answer_with("eth_maxPriorityFeePerGas", hex(4 * 10**6))
            configure(cli, "ledger.dev", "--rpc", one.url, "--rpc", liar.url)
        configure(cli, "ledger.dev", "--finality", "2")
        assert settings_of(cli, "ledger.dev")["max-fee-gwei"] == "0.1"
        configure(cli, "ledger.dev", "--max-fee-gwei", "3")
        assert settings_of(cli, "ledger.dev")["max-fee-gwei"] == 3


@pytest.mark.parametrize(
    "settings",
    [{"rpc": 5}, {"rpc": ["http://x"], "keystore": 5}, {"rpc": "http://x", "secret": 1}],
)
def test_a_ledger_that_was_edited_into_nonsense_is_named(cli, edited, settings):
    edited(**settings)
    refused = cli("config", "--json")
    assert refused.status == 1 and refused.error["code"] == "bad_settings"
    assert "ledger.dev." in refused.error["message"] and refused.error["hint"]


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


def test_the_status_of_a_log_that_is_not_there_yet_says_so(agent, cli):
    assert cli("chain", "status").out.startswith("Ledger local, not created yet\n")


def test_a_passphrase_that_is_no_text_opens_nothing(agent, cli, edited, tmp_path, monkeypatch):
    keystore = {"version": 3, "address": "z" * 40, "crypto": {"kdfparams": {}}}
    write_secret(tmp_path / "key.json", json.dumps(keystore))
    write_secret(tmp_path / "passphrase", b"\xff\xfe\n")
    edited(**NOWHERE, keystore=str(tmp_path / "key.json"), contract="0x" + "5" * 40)
    on = ("--ledger", "dev", "--json")
    told = cli("chain", "owner", "--signer", "0x" + "1" * 40, *on)
    assert told.error["code"] == "passphrase_needed"
    assert "BRAIN_LEDGER_PASSPHRASE_FILE" in told.error["hint"]
    signer = ("chain", "owner", "--signer", "0x" + "1" * 40)
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(tmp_path / "passphrase"))
    assert cli(*signer, *on).error["code"] == "wrong_passphrase"
    monkeypatch.setenv("BRAIN_LEDGER_PASSPHRASE_FILE", str(tmp_path / "none"))
    assert cli(*signer, *on).error["code"] == "no_such_file"


def test_a_write_stands_and_says_so_if_the_key_of_its_ledger_is_gone(agent, cli, edited, tmp_path):
    (tmp_path / "key.json").mkdir()
    edited(**NOWHERE, keystore=str(tmp_path / "key.json"), contract="0x" + "5" * 40)
    Path("manifest.yaml").write_text("name: agent\ncommit:\n  ledger: dev\n")
    told = cli("snapshot", "--json")
    assert told.status == 1 and told.document["changed"]
    assert told.document["commitment"]["status"] == "failed"


def test_settings_kept_at_the_same_time_are_all_kept(tmp_path):
    names = [f"chain-{number}" for number in range(16)]
    gate = threading.Barrier(len(names))

    def keep(name: str) -> None:
        gate.wait()
        config_file.change_table(("ledger", name), {"chain-id": 1})

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(keep, names))
    assert sorted(config_file.read_table("ledger")) == sorted(names)


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
