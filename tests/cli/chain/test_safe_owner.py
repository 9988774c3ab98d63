"""A Safe owns a brain: the command line writes batches for it, and its owners execute them."""

import json
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from tests.cli.test_commands import learn
from tests.cli.test_on_chain import done
from tests.support.chain.registry_contract import wallet_key
from tests.support.chain.safe_wallet import deploy_safe

OWNERS = [wallet_key(f"owner {n} of a safe") for n in range(3)]


@pytest.fixture(scope="module")
def safe(node):
    return deploy_safe(node, OWNERS, 2)


@pytest.fixture
def execute(cli, chain, safe, tmp_path, monkeypatch):
    monkeypatch.delenv("BRAIN_LEDGER_KEY")

    def run(*command: str, signed_by: tuple[str, ...] = ()) -> str:
        file = tmp_path / "batch.json"
        to_file = ("--unsigned", "-o", str(file), "--format", "safe", *signed_by, "--ledger", chain)
        done(cli, "chain", *command, *to_file)
        batch = json.loads(file.read_text())
        assert batch["meta"]["createdFromSafeAddress"].lower() == safe.address
        (call,) = batch["transactions"]
        receipt = safe.execute(call["to"].lower(), encode_method(call))
        assert receipt["status"] == "0x1"
        executed: str = receipt["transactionHash"]
        return executed

    return run


def encode_method(call: dict[str, Any]) -> bytes:
    """Encode the method and the values of a batch, as the Transaction Builder does."""
    method, values = call["contractMethod"], call["contractInputsValues"]
    types = [one["type"] for one in method["inputs"]]
    arguments = [
        int(values[one["name"]]) if one["type"].startswith("uint")
        else values[one["name"]] if one["type"] == "address"
        else bytes.fromhex(values[one["name"]][2:])
        for one in method["inputs"]
    ]  # fmt: skip
    return keccak(text=f"{method['name']}({','.join(types)})")[:4] + encode(types, arguments)


def test_a_safe_opens_commits_and_hands_over_a_brain(
    node, cli, chain, safe, execute, use, tmp_path, monkeypatch
):
    on = ("--ledger", chain)
    done(cli, "config", "ledger", chain, "--account", safe.address)
    opened = execute("open")
    made = done(cli, "chain", "send", "--mined", opened, *on)
    assert (made["seq"], made["author"], made["transaction"]) == (1, safe.address, opened)
    assert done(cli, "config", "list")["ledgers"][0]["creator"] == safe.address

    learn(cli, "shared", "one")
    committed = execute("commit")
    status = done(cli, "chain", "status", *on)
    assert (status["seq"], status["owner"], status["behind"]) == (2, safe.address, 0)
    assert status["commitments"][1]["author"] == safe.address
    assert done(cli, "chain", "send", "--mined", committed, *on)["seq"] == 2
    assert done(cli, "chain", "verify", *on)["ok"]

    node.mine(3)
    evidence = str(tmp_path / "evidence.json")
    assert cli("chain", "evidence", *on, "-o", evidence).status == 0
    found = done(cli, "chain", "check", evidence)
    assert found["seq"] == 2 and found["chain"]["owner"] == safe.address
    hash = node.block(found["chain"]["block"])["hash"]
    assert done(cli, "chain", "check", evidence, "--block-hash", hash)["trust_level"] == "L3"

    person = node.accounts[1]
    execute("signer", person)
    learn(cli, "shared", "two")
    use(1)
    assert done(cli, "chain", "commit", *on)["author"] == person.lower()
    monkeypatch.delenv("BRAIN_LEDGER_KEY")
    execute("supersede", "@~1")
    status = done(cli, "chain", "status", *on)
    assert (status["seq"], status["signer"]) == (4, None)
    execute("transfer", person)
    use(1)
    done(cli, "chain", "accept", *on)
    assert done(cli, "chain", "status", *on)["owner"] == person.lower()


def test_a_safe_takes_over_a_brain(node, cli, chain, safe, execute, use):
    on = ("--ledger", chain)
    use(0)
    done(cli, "chain", "open", *on)
    done(cli, "chain", "transfer", safe.address, *on)
    execute("accept", signed_by=("--from", safe.address))
    assert done(cli, "chain", "status", *on)["owner"] == safe.address
    learn(cli, "shared", "one")
    refused = cli("chain", "commit", *on, "--json")
    assert refused.error["code"] == "unauthorized"
    execute("commit", signed_by=("--from", safe.address))
    assert done(cli, "chain", "status", *on)["commitments"][1]["author"] == safe.address


def test_a_proposal_for_the_transaction_service_is_what_the_owners_execute(
    node, cli, chain, safe, execute
):
    on = ("--ledger", chain)
    done(cli, "config", "ledger", chain, "--account", safe.address)
    to_stdout = ("--unsigned", "--format", "safe-service")
    proposal = done(cli, "chain", "open", *to_stdout, *on)["unsigned"]
    assert proposal["nonce"] == safe.nonce()
    assert proposal["contractTransactionHash"] == f"0x{safe.transaction_hash(proposal).hex()}"
    executed = safe.execute(proposal["to"].lower(), bytes.fromhex(proposal["data"][2:]))
    made = done(cli, "chain", "send", "--mined", executed["transactionHash"], *on)
    assert (made["seq"], made["author"]) == (1, safe.address)
    no_safe = ("--from", node.accounts[0])
    refused = cli("chain", "deploy", *to_stdout, *no_safe, *on, "--json")
    assert json.loads(refused.err)["error"]["code"] == "nothing_to_sign"
    learn(cli, "shared", "one")
    refused = cli("chain", "batch", ".", *to_stdout, *no_safe, *on, "--json")
    assert refused.error["code"] == "no_safe"


def test_a_safe_anchors_the_log_of_a_machine(node, cli, chain, safe, execute, tmp_path):
    on, evidence = ("--ledger", chain), str(tmp_path / "evidence.json")
    done(cli, "config", "ledger", chain, "--account", safe.address)
    executed = execute("batch", ".")
    assert done(cli, "chain", "batch", ".", *on)["anchored"]["status"] == "included"
    refused = cli("chain", "send", "--mined", executed, *on, "--json")
    assert refused.error["code"] == "not_committed", "it committed no brain by itself"
    node.mine(3)
    assert cli("chain", "evidence", *on, "-o", evidence).status == 0
    found = done(cli, "chain", "check", evidence)
    assert found["chain"]["sender"] == safe.address


def test_what_a_transaction_did_not_commit_is_not_recorded(node, cli, chain, safe, execute):
    on = ("--ledger", chain)
    refused = cli("chain", "send", "--mined", "0x1234", *on, "--json")
    assert refused.error["code"] == "bad_hash"
    refused = cli("chain", "send", "--mined", "0x" + "12" * 32, *on, "--json")
    assert refused.error["code"] == "not_committed"
    execute("open", signed_by=("--from", safe.address))
    failed = safe.execute(safe.address, b"", OWNERS[:1])["transactionHash"]
    refused = cli("chain", "send", "--mined", failed, *on, "--json")
    assert refused.error["code"] == "not_committed"
