"""A stolen signer commits what is not of the brain; the owner disowns it and goes on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from brain_cli.settings import user_ledgers

from brain import Brain
from brain.chain.evidence import offline_check
from brain.chain.evm.evm_ledger import EvmLedger
from brain.chain.evm.tx_sender import TxSender
from brain.repo.ledgers import seen
from tests.cli.conftest import validate
from tests.cli.test_commands import learn
from tests.cli.test_on_chain import done
from tests.support.chain.registry_contract import encode_call, word_of
from tests.support.process_death import dies_before_call
from tests.support.user_settings import settings_of


@pytest.fixture
def registry_id(agent, cli, chain, node):
    """The id on the chain of the brain, opened with its second account as the signer."""
    opened = done(cli, "chain", "open", "--ledger", chain)
    done(cli, "chain", "owner", "--signer", node.accounts[1], "--ledger", chain)
    creator = bytes.fromhex(node.accounts[0][2:])
    return offline_check.brain_id(creator, bytes.fromhex(opened["brain"]))


@pytest.fixture
def steal(node, cli, chain, registry_id):
    """Commit snapshots with the stolen key of the signer."""
    contract = settings_of(cli, f"ledger.{chain}")["contract"]

    def commit(*snapshots: bytes) -> None:
        head = bytes.fromhex(done(cli, "chain", "status", "--ledger", chain)["snapshot"])
        for snapshot in snapshots:
            call = encode_call("commit", registry_id, snapshot, head)
            assert node.transact(node.accounts[1], contract, call)["status"] == "0x1"
            head = snapshot

    return commit


ORPHANS = (word_of("orphan 1"), word_of("orphan 2"))


def test_the_owner_disowns_what_a_stolen_signer_committed_and_the_lineage_goes_on(
    node, cli, chain, steal, tmp_path
):
    on = ("--ledger", chain)
    steal(*ORPHANS)
    learn(cli, "shared", "one")
    refused = cli("chain", "commit", *on, "--json")
    assert refused.status == 12 and refused.error["code"] == "ledger_ahead"
    assert "brain chain owner --disown REV --ledger dev" in refused.error["hint"]
    assert cli("verify", *on).status == 3

    priced = done(cli, "chain", "owner", "--disown", "@", *on, "--dry-run")
    assert [one["snapshot"] for one in priced["disowned"]] == [one.hex() for one in ORPHANS]
    assert (priced["kept"], priced["commitment"]) == (1, None)
    shown = cli("chain", "owner", "--disown", "@", *on)
    assert shown.status == 0, shown.err
    assert ORPHANS[1].hex()[:12] in shown.err.partition("Sending: ")[0]
    assert "as commitment 4" in shown.out

    verified = cli("verify", *on, "--json")
    assert verified.status == 0, verified.err
    (finding,) = verified.document["findings"]
    assert (finding["code"], finding["severity"]) == ("disowned", "warning")
    assert "commitments 2 to 3" in finding["message"] and "commitment 4" in finding["message"]
    status = done(cli, "chain", "status", *on)
    assert [one["disowned_by"] for one in status["commitments"]] == [None, 4, 4, None]
    assert status["signer"] is None and status["behind"] == 0
    assert "disowned by commitment 4" in cli("chain", "status", *on).out

    for text in ("two", "three"):
        learn(cli, "shared", text)
        done(cli, "chain", "commit", *on)
    node.mine(2)
    for revision, seq in (("@", 6), ("@~1", 5), ("@~2", 4)):
        file = str(tmp_path / f"{seq}.json")
        made = cli("chain", "evidence", revision, *on, "-o", file)
        assert made.status == 0, made.err
        found = done(cli, "verify", file)
        assert (found["seq"], found["chain"]["repairs"]) == (seq, 1)
        assert "the owner disowned commitments once" in cli("verify", file).out


def test_evidence_of_older_commitments_holds_before_during_and_after_a_theft(
    node, cli, chain, steal, tmp_path
):
    on = ("--ledger", chain)
    learn(cli, "shared", "one")
    second = done(cli, "chain", "commit", *on)["snapshot"]
    first = cli("log", "--json").document["snapshots"][1]["snapshot"]
    node.mine(2)
    files = []

    def write_evidence(when: str) -> None:
        for snapshot in (first, second):
            files.append((snapshot, str(tmp_path / f"{when} {snapshot[:6]}.json")))
            assert cli("chain", "evidence", snapshot, *on, "-o", files[-1][1]).status == 0

    write_evidence("before")
    steal(*ORPHANS)
    status = cli("chain", "status", *on)
    assert "of a snapshot that this copy of the brain does not have" in status.out
    write_evidence("during")
    done(cli, "chain", "owner", "--disown", "@", *on)
    learn(cli, "shared", "two")
    done(cli, "chain", "commit", *on)
    node.mine(2)
    shutil.rmtree(tmp_path / "ledgers")  # nothing kept from before
    write_evidence("after")
    for snapshot, file in files:
        found = done(cli, "verify", file)
        assert found["snapshot"] == snapshot
        hash = node.block(found["chain"]["block"])["hash"]
        assert found["chain"]["block_hash"] == hash
    assert done(cli, "verify", *on)["ok"]


def test_the_same_snapshot_is_committed_again_after_it_was_taken_over(
    node, cli, chain, steal, tmp_path
):
    on = ("--ledger", chain)
    node.mine(2)
    file = str(tmp_path / "evidence.json")
    assert cli("chain", "evidence", *on, "-o", file).status == 0  # of commitment 1, stored
    steal(*ORPHANS)
    done(cli, "chain", "owner", "--signer", "none", *on)
    made = done(cli, "chain", "owner", "--disown", "@", *on)
    assert (made["commitment"]["seq"], made["commitment"]["changed"]) == (4, True)
    node.mine(2)
    assert cli("verify", *on).status == 0
    assert cli("chain", "evidence", *on, "-o", file).status == 0
    assert done(cli, "verify", file)["committed"] == made["commitment"]["snapshot"]
    refused = cli("chain", "owner", "--disown", "@", *on, "--json")
    assert refused.status == 0 and refused.document["commitment"]["changed"] is False


def test_an_old_snapshot_that_a_stolen_signer_committed_is_disowned(cli, chain, steal):
    on = ("--ledger", chain)
    first = bytes.fromhex(done(cli, "chain", "status", *on)["snapshot"])
    learn(cli, "shared", "one")
    done(cli, "chain", "commit", *on)
    steal(first)
    failed = cli("verify", *on, "--json")
    assert failed.document["findings"][0]["code"] == "commitment_order"
    assert "brain chain owner --disown" in failed.error["hint"]
    assert [
        one["seq"] for one in done(cli, "chain", "owner", "--disown", "@", *on)["disowned"]
    ] == [3]
    assert done(cli, "verify", *on)["ok"]


def test_evidence_of_a_disowned_snapshot_is_refused_by_name(node, cli, chain, steal):
    on = ("--ledger", chain)
    learn(cli, "shared", "one")
    assert cli("branch", "idea").status == 0
    bad = cli("log", "--json").document["snapshots"][0]["snapshot"]
    steal(bytes.fromhex(bad))
    node.mine(2)
    assert cli("chain", "evidence", "@", *on).status == 0
    done(cli, "chain", "owner", "--disown", "@~1", *on)
    refused = cli("chain", "evidence", bad, *on, "--json")
    assert refused.status == 12
    assert refused.error["code"] == "disowned" and "commitment 2" in refused.error["message"]


def test_another_machine_with_a_copy_of_the_brain_sees_the_same(
    cli, chain, steal, node, tmp_path, monkeypatch
):
    on = ("--ledger", chain)
    copy = tmp_path / "copy"
    shutil.copytree(".", copy)
    steal(*ORPHANS)
    done(cli, "chain", "owner", "--disown", "@", *on)
    monkeypatch.delenv("BRAIN_LEDGER_KEY")
    monkeypatch.setenv("BRAIN_LEDGERS", str(tmp_path / "other ledgers"))
    shutil.copy(tmp_path / "config.toml", tmp_path / "other.toml")
    monkeypatch.setenv("BRAIN_CONFIG", str(tmp_path / "other.toml"))
    verified = done(cli, "verify", *on, at=str(copy))
    assert verified["ok"] and [one["code"] for one in verified["findings"]] == ["disowned"]
    rows = done(cli, "chain", "status", *on, at=str(copy))["commitments"]
    assert [one["disowned_by"] for one in rows] == [None, 4, 4, None]


def test_a_run_that_died_between_sending_and_noting_is_repeated(cli, chain, steal):
    on = ("--ledger", chain)
    steal(*ORPHANS)
    with Brain.open(Path(), author="tester") as brain:
        ledger = user_ledgers.open_evm_ledger(chain, lambda _: None, lambda _: None)
        plan = brain.ledger.plan_repair(ledger)
        with dies_before_call(seen, "record_last_seen_head"):
            brain.ledger.supersede(ledger, plan)
    made = done(cli, "chain", "owner", "--disown", "@", *on)
    assert (made["commitment"]["seq"], made["commitment"]["changed"]) == (4, False)
    assert (made["kept"], made["disowned"]) == (4, [])
    assert cli("log", "--ops").out.count(" to dev") == 2
    assert done(cli, "verify", *on)["ok"]


def test_a_run_that_died_between_writing_and_sending_is_repeated(cli, chain, steal, node):
    on = ("--ledger", chain)
    steal(*ORPHANS)
    with Brain.open(Path(), author="tester") as brain:
        ledger = user_ledgers.open_evm_ledger(chain, lambda _: None, lambda _: None)
        plan = brain.ledger.plan_repair(ledger)
        with dies_before_call(TxSender, "_broadcast"):
            brain.ledger.supersede(ledger, plan)
    assert done(cli, "chain", "owner", "--disown", "@", *on)["commitment"]["seq"] == 4
    assert done(cli, "chain", "status", *on)["seq"] == 4


def test_a_thief_who_commits_again_is_met_by_removing_the_signer_first(
    cli, chain, steal, monkeypatch
):
    on = ("--ledger", chain)
    steal(ORPHANS[0])
    supersede = EvmLedger.supersede

    def overtaken(self: EvmLedger, *call: Any) -> Any:
        steal(ORPHANS[1])
        return supersede(self, *call)

    with monkeypatch.context() as patch:
        patch.setattr(EvmLedger, "supersede", overtaken)
        refused = cli("chain", "owner", "--disown", "@", *on, "--json")
    assert refused.status == 12 and refused.error["code"] == "stale_parent"
    assert "brain chain owner --signer none" in refused.error["hint"]
    done(cli, "chain", "owner", "--signer", "none", *on)
    assert done(cli, "chain", "owner", "--disown", "@", *on)["kept"] == 1


def test_nothing_to_disown_is_said_and_a_snapshot_apart_is_refused(cli, chain, steal, use):
    on = ("--ledger", chain)
    refused = cli("chain", "owner", "--disown", "@", *on, "--json")
    assert refused.status == 12 and refused.error["code"] == "nothing_to_disown"
    steal(ORPHANS[0])
    refused = cli("chain", "owner", "--disown", "@~1", *on, "--json")
    assert refused.status == 12 and refused.error["code"] == "not_descended"
    use(1)
    refused = cli("chain", "owner", "--disown", "@", *on, "--json")
    assert refused.status == 1 and refused.error["code"] == "unauthorized"
    assert "is its signer, which may only commit" in refused.error["message"]
    validate("error", json.loads(refused.err))
