"""A fresh machine has nothing but a copy of the brain, and notices that a chain went back."""

import shutil
from pathlib import Path

import pytest

from brain import Brain
from brain.repo.ledgers import seen
from tests.cli.test_commands import learn
from tests.cli.test_on_chain import done
from tests.support.user_settings import configure, settings_of


@pytest.fixture
def fresh_machine(node, agent, cli, chain, tmp_path, monkeypatch):
    """Copy the brain to a machine of a name, which has no files about the chain."""
    settings = settings_of(cli, f"ledger.{chain}")

    def copy(name: str) -> Path:
        machine = tmp_path / name
        shutil.copytree(agent, machine / "agent")
        for variable in ("BRAIN_LEDGERS", "BRAIN_CONFIG", "BRAIN_ROOTS", "BRAIN_KEYS"):
            monkeypatch.setenv(variable, str(machine / variable.lower()))
        monkeypatch.delenv("BRAIN_LEDGER_KEY", raising=False)
        monkeypatch.chdir(machine / "agent")
        known = ["--contract", settings["contract"], "--creator", node.accounts[0]]
        configure(cli, f"ledger.{chain}", "--rpc", node.url, "--finality", "1", *known)
        return machine / "agent"

    return copy


CALLS = (
    ("chain", "status"),
    ("chain", "evidence", "-o", "evidence.json"),
    ("chain", "commit", "--dry-run"),
    ("chain", "owner", "--disown", "@", "--dry-run"),
)


def test_each_command_on_a_fresh_machine_refuses_a_chain_that_was_rolled_back(
    node, cli, chain, fresh_machine
):
    on = ("--ledger", chain)
    done(cli, "chain", "open", *on)
    state = node.snapshot()
    learn(cli, "shared", "one")
    done(cli, "chain", "commit", *on)
    node.mine(2)
    assert done(cli, "chain", "status", *on)["status"] == "finalized"
    fresh_machine("honest")
    assert done(cli, "chain", "status", *on)["seq"] == 2
    node.revert(state)
    fresh_machine("rolled-back")
    for call in CALLS:
        refused = cli(*call, *on, "--json")
        assert (refused.status, refused.error["code"]) == (3, "rolled_back"), call
        assert "commitment 2 of this brain was final" in refused.error["message"]
    found = cli("verify", *on, "--json")
    codes = {one["code"] for one in found.document["findings"] if one["severity"] == "error"}
    assert (found.status, codes) == (3, {"rolled_back"})


def test_a_brain_whose_ledger_is_no_chain_keeps_no_note_of_a_final_head(agent, cli):
    learn(cli, "shared", "one")
    done(cli, "chain", "commit", "--ledger", "local")
    done(cli, "chain", "status", "--ledger", "local")
    with Brain.open(agent) as brain:
        assert brain._session.store.read_meta(seen.FINAL_META_KEY) is None
        operations = [row.description for row in brain.history.list_operations()]
    assert not [text for text in operations if "final" in text]


# Trust levels of commitments and batches, by the command line.
@pytest.mark.parametrize(("nodes", "level"), [(1, "L1"), (2, "L2")])
def test_a_final_batch_has_the_level_of_a_final_commitment(nodes, level, node, cli, chain):
    on = ("--ledger", chain)
    urls = (node.url, node.url.replace("127.0.0.1", "localhost"))[:nodes]
    named = [option for url in urls for option in ("--rpc", url)]
    configure(cli, f"ledger.{chain}", *named, "--quorum", str(nodes))
    assert done(cli, "chain", "batch", ".", *on)["anchored"]["status"] == "included"
    assert done(cli, "chain", "status", *on)["trust_level"] == "L1"
    node.mine(2)
    assert done(cli, "chain", "status", *on)["trust_level"] == level
    done(cli, "chain", "open", *on)
    node.mine(2)
    assert done(cli, "chain", "status", *on)["trust_level"] == level


# Whose brain it is: the manifest, which the keys of the brain sign, names the account, and the
# account commits the snapshot with that line.
def findings(cli, chain):
    told = cli("verify", "--ledger", chain, "--json")
    found = [(one["code"], one["severity"]) for one in told.document["findings"]]
    return told.status, [one for one in found if "owner" in one[0] or "manifest" in one[0]]


def name_owner(cli, text):
    path = Path("manifest.yaml")
    path.write_text(f"{path.read_text()}owner: {text}\n" if text else "name: x\n")
    assert cli("snapshot").status == 0


def test_the_owner_in_the_manifest_is_compared_with_the_contract_both_ways(node, cli, agent, chain):
    on = ("--ledger", chain)
    owner = done(cli, "chain", "open", *on)["sender"]
    assert findings(cli, chain) == (0, [])
    name_owner(cli, owner)
    assert findings(cli, chain) == (0, [("owner_not_committed", "warning")])
    done(cli, "chain", "commit", *on)
    assert findings(cli, chain) == (0, [])
    name_owner(cli, "")
    name_owner(cli, "0x" + "1" * 40)
    assert findings(cli, chain) == (3, [("other_owner", "error")])


def test_a_committed_line_is_compared_although_a_later_snapshot_left_it_out(
    node, cli, agent, chain
):
    name_owner(cli, "0x" + "1" * 40)
    done(cli, "chain", "open", "--ledger", chain)
    name_owner(cli, "")
    assert findings(cli, chain) == (3, [("other_owner", "error")])


def test_an_owner_that_is_no_address_is_another_one(node, cli, agent, chain):
    done(cli, "chain", "open", "--ledger", chain)
    name_owner(cli, "mallory")
    assert findings(cli, chain) == (3, [("other_owner", "error")])


def test_a_manifest_that_cannot_be_read_names_nobody(node, cli, agent, chain):
    done(cli, "chain", "open", "--ledger", chain)
    Path("manifest.yaml").write_text("layout: [")
    assert cli("snapshot").status == 0
    assert findings(cli, chain) == (0, [("bad_manifest", "warning")])
