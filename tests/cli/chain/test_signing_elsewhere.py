"""Transactions that are written to a file, signed elsewhere, and sent from a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from brain_cli.settings import evm_ledgers
from eth_account import Account as Library
from eth_utils.address import to_checksum_address

from brain import Brain
from brain.chain.evm import tx_sender
from brain.chain.evm.create2 import CREATE2_PROXY
from brain.chain.evm.signing.signed_transaction import read_signed_file
from brain.chain.evm.tx_sender import TxSender
from brain.chain.evm.tx_status import TxTracker
from tests.cli.conftest import validate
from tests.cli.test_commands import learn
from tests.cli.test_on_chain import KEYS, done
from tests.support import anvil_node
from tests.support.chain.lying_node import run_lying_node
from tests.support.process_death import dies_before_call

Write = Callable[..., dict[str, Any]]
"""Runs a command with --unsigned, and returns the fields of the transaction."""
Sign = Callable[..., str]
"""Signs fields with the first account of the node, and returns the file."""


@pytest.fixture
def offline(chain, monkeypatch):
    """A ledger for which this machine has no key."""
    monkeypatch.delenv("BRAIN_LEDGER_KEY")
    return chain


@pytest.fixture
def write(cli, offline, node, tmp_path):
    def run(*command: str, sender: int = 0) -> dict[str, Any]:
        file = str(tmp_path / "unsigned.json")
        to_file = ("--unsigned", "-o", file, "--from", node.accounts[sender], "--ledger", offline)
        written = done(cli, "chain", *command, *to_file)
        assert written["sender"] == node.accounts[sender].lower()
        fields: dict[str, Any] = json.loads(Path(file).read_text())["transaction"]
        return fields

    return run


@pytest.fixture
def sign(tmp_path):
    def signed(fields: dict[str, Any], key: int = 0, **changes: Any) -> str:
        kept = {name: value for name, value in fields.items() if name != "from"}
        made = Library.sign_transaction({**kept, **changes}, KEYS[key])
        file = tmp_path / "signed.hex"
        file.write_text(f"0x{bytes(made.raw_transaction).hex()}\n")
        return str(file)

    return signed


def test_a_brain_is_opened_and_committed_without_a_key_here(
    node, cli, offline, write, sign, tmp_path
):
    on = ("--ledger", offline)
    count = int(node.call("eth_getTransactionCount", node.accounts[0], "pending"), 16)
    fields = write("open")
    assert int(node.call("eth_getTransactionCount", node.accounts[0], "pending"), 16) == count
    opened = done(cli, "chain", "send", sign(fields), *on)
    assert (opened["seq"], opened["changed"]) == (1, True)
    learn(cli, "shared", "one")
    file = sign(write("commit"))
    made = done(cli, "chain", "send", file, *on)
    assert (made["seq"], made["snapshots"], made["sender"]) == (2, 1, node.accounts[0].lower())
    status = done(cli, "chain", "status", *on)
    assert [one["transaction"] for one in status["commitments"]] == [
        opened["transaction"],
        made["transaction"],
    ]
    node.mine(3)
    evidence = str(tmp_path / "evidence.json")
    assert cli("chain", "evidence", *on, "-o", evidence).status == 0
    assert done(cli, "chain", "check", evidence)["seq"] == 2
    again = done(cli, "chain", "send", file, *on)
    assert (again["transaction"], again["changed"]) == (made["transaction"], False)


def test_writing_a_file_changes_neither_the_brain_nor_the_journal(
    node, cli, offline, write, sign, tmp_path
):
    done(cli, "chain", "send", sign(write("open")), "--ledger", offline)
    learn(cli, "shared", "one")

    def contents() -> dict[Path, bytes]:
        here = [path for path in Path().rglob("*") if path.is_file() and path.suffix != ".db-shm"]
        return {path: path.read_bytes() for path in (*here, tmp_path / "settings.json")}

    def journaled() -> set[str]:
        records = map(Path.read_text, tmp_path.glob("ledgers/chains/**/*.json"))
        return {attempt["hash"] for record in records for attempt in json.loads(record)["attempts"]}

    before, sent, block = contents(), journaled(), node.block_number()
    other = node.accounts[1]
    for command in (["commit"], ["signer", other], ["transfer", other], ["transfer", "--withdraw"]):
        write(*command)
        assert (journaled(), node.block_number()) == (sent, block)
        assert {
            path for path, content in contents().items() if before.get(path) != content
        } == set()


def test_a_file_says_what_the_transaction_does(node, cli, offline, tmp_path):
    on = ("--ledger", offline, "--from", node.accounts[0])
    shown = cli("chain", "open", "--unsigned", *on)
    assert shown.status == 0
    call = shown.document["call"]
    assert call["function"] == "open(bytes32,bytes32)"
    assert call["arguments"].keys() == {"salt", "snapshot"}
    assert shown.document["transaction"]["chainId"] == hex(node.chain)
    told = cli("chain", "open", "--unsigned", "-o", str(tmp_path / "file"), *on)
    assert told.out.startswith(f"To be signed by {node.accounts[0].lower()}, in ")
    assert ": open\n  salt 0x" in told.out
    document = done(cli, "chain", "open", "--unsigned", *on)
    validate("chain-open", document)
    assert document["unsigned"]["transaction"]["from"] == (to_checksum_address(node.accounts[0]))


def test_all_that_the_owner_does_can_be_signed_elsewhere(node, cli, offline, write, sign):
    on, other = ("--ledger", offline), node.accounts[1].lower()
    done(cli, "chain", "send", sign(write("open")), *on)
    sent = done(cli, "chain", "send", sign(write("signer", other)), *on)
    assert (sent["kind"], sent["status"]) == ("signer", "included")
    assert done(cli, "chain", "status", *on)["signer"] == other
    learn(cli, "shared", "one")
    done(cli, "chain", "send", sign(write("commit", sender=1), 1), *on)
    superseded = sign(write("supersede", "@~1"))
    made = done(cli, "chain", "send", superseded, *on)
    assert (made["seq"], made["snapshots"]) == (3, 0)
    done(cli, "chain", "send", sign(write("transfer", other)), *on)
    accepted = done(cli, "chain", "send", sign(write("accept", sender=1), 1), *on)
    assert accepted["kind"] == "accept"
    assert done(cli, "chain", "status", *on)["owner"] == other


def test_the_log_of_a_machine_is_anchored_by_a_wallet_elsewhere(
    agent, node, cli, offline, write, sign
):
    on = ("--ledger", offline)
    sent = done(cli, "chain", "send", sign(write("batch", ".")), *on)
    assert sent["kind"] == "anchor"
    done(cli, "config", "ledger", offline, "--account", node.accounts[0])
    batch = done(cli, "chain", "batch", ".", *on)
    assert batch["anchored"]["status"] in ("included", "safe", "finalized")
    assert done(cli, "chain", "status", *on)["seq"] == 1


def test_a_contract_is_deployed_by_a_wallet_elsewhere(agent, cli, sign, use):
    on = ("--ledger", "fresh")
    with anvil_node.run_anvil() as node:  # without a contract, which the other tests share
        done(cli, "config", "ledger", "fresh", "--rpc", node.url, "--account", node.accounts[0])
        use(0)
        unsigned = done(cli, "chain", "deploy", "--unsigned", *on)["unsigned"]
        assert done(cli, "chain", "send", sign(unsigned["transaction"]), *on)["since"] > 0
        already = cli("chain", "deploy", "--unsigned", *on, "--json")
    assert already.status == 1 and json.loads(already.err)["error"]["code"] == "nothing_to_sign"


def test_a_key_that_is_not_here_is_told_with_what_to_do(node, cli, offline):
    refused = cli("chain", "open", "--unsigned", "--ledger", offline, "--json")
    assert refused.error["code"] == "no_sender" and "--account" in refused.error["hint"]
    done(cli, "config", "ledger", offline, "--account", node.accounts[0])
    assert done(cli, "chain", "open", "--unsigned", "--ledger", offline)["format"] == "plain"
    refused = cli("chain", "open", "--ledger", offline, "--json")
    assert refused.error["code"] == "no_key" and "--unsigned" in refused.error["hint"]


def test_a_local_log_and_a_price_need_no_file(agent, cli, offline):
    refused = cli("chain", "commit", "--unsigned", "--json")
    assert refused.error["code"] == "bad_ledger"
    refused = cli("chain", "batch", ".", "--unsigned", "--json")
    assert refused.error["code"] == "bad_ledger"
    assert done(cli, "chain", "status")["seq"] == 0
    on = ("--ledger", offline)
    assert cli("chain", "commit", "--unsigned", "--dry-run", *on).status == 2
    assert cli("chain", "commit", "--format", "safe", *on).status == 2
    assert cli("chain", "send", *on).status == 2


def test_a_pending_transaction_is_sped_up_and_cancelled_by_files(
    node, cli, offline, write, sign, monkeypatch
):
    on = ("--ledger", offline)
    done(cli, "chain", "send", sign(write("open")), *on)
    done(cli, "config", "ledger", offline, "--account", node.accounts[0])
    monkeypatch.setattr(evm_ledgers, "TRANSACTION_TIMEOUT_SECONDS", 0.0)
    learn(cli, "shared", "one")
    node.set_automine(False)
    try:
        fields = write("commit")
        first = done(cli, "chain", "send", sign(fields), *on)
        assert first["status"] == "pending"
        faster = done(cli, "chain", "send", sign(write("speed-up")), *on)
        assert faster["status"] == "pending" and faster["transaction"] != first["transaction"]
        other = sign(write("signer", "--none"), nonce=fields["nonce"])
        refused = cli("chain", "send", other, *on, "--json")
        assert refused.error["code"] == "nonce_taken"
        cancelling = write("cancel")
        for command, unsigned in (("cancel", cancelling), ("commit", fields)):
            cheap = {name: hex(10**9) for name in ("maxFeePerGas", "maxPriorityFeePerGas")}
            refused = cli("chain", "send", sign(unsigned, **cheap), *on, "--json")
            assert refused.error["code"] == "low_price", command
            (same,) = done(cli, "chain", "resend", *on)["transactions"]
            assert same["transaction"] == faster["transaction"], command
        taken_back = done(cli, "chain", "send", sign(cancelling), *on)
        assert taken_back["kind"] == "cancel"
        refused = cli("chain", "send", sign(fields), *on, "--json")
        assert refused.error["code"] == "nonce_taken", "it is cancelled"
        (mended,) = done(cli, "chain", "resend", *on)["transactions"]
        assert mended["transaction"] == taken_back["transaction"]
    finally:
        node.mine()
        node.set_automine(True)
    status = done(cli, "chain", "status", *on)
    assert (status["seq"], status["behind"]) == (1, 1)


def test_a_stuck_transaction_of_a_wallet_elsewhere_is_sent_again_as_it_is(
    node, cli, offline, write, sign, monkeypatch
):
    on = ("--ledger", offline)
    done(cli, "chain", "send", sign(write("open")), *on)
    done(cli, "config", "ledger", offline, "--account", node.accounts[0])
    monkeypatch.setattr(evm_ledgers, "TRANSACTION_TIMEOUT_SECONDS", 0.0)
    monkeypatch.setattr(tx_sender, "STUCK_BLOCKS", 0)
    learn(cli, "shared", "one")
    node.set_automine(False)
    try:
        sent = done(cli, "chain", "send", sign(write("commit")), *on)
        node.drop(sent["transaction"])
        (mended,) = done(cli, "chain", "resend", *on)["transactions"]
        assert (mended["transaction"], mended["status"]) == (sent["transaction"], "pending")
        again = cli("chain", "commit", "--unsigned", *on, "--json")
        assert json.loads(again.err)["error"]["code"] == "nothing_to_sign"
        assert again.document["transaction"] == sent["transaction"]
    finally:
        node.mine()
        node.set_automine(True)
    assert done(cli, "chain", "status", *on)["seq"] == 2


def test_a_cancellation_that_nodes_refuse_leaves_the_commitment_pending(
    node, cli, offline, write, sign, monkeypatch
):
    on = ("--ledger", offline)
    done(cli, "chain", "send", sign(write("open")), *on)
    done(cli, "config", "ledger", offline, "--account", node.accounts[0])
    monkeypatch.setattr(evm_ledgers, "TRANSACTION_TIMEOUT_SECONDS", 0.0)
    learn(cli, "shared", "one")
    node.set_automine(False)
    try:
        sent = done(cli, "chain", "send", sign(write("commit")), *on)
        with run_lying_node(node.url) as liar:
            done(cli, "config", "ledger", offline, "--rpc", liar.url)
            cancelling = sign(write("cancel"))
            liar.refuse("eth_sendRawTransaction", "replacement transaction underpriced")
            refused = cli("chain", "send", cancelling, *on, "--json")
            assert refused.error["code"] == "refused"
        done(cli, "config", "ledger", offline, "--rpc", node.url)
        (kept,) = done(cli, "chain", "resend", *on)["transactions"]
        assert (kept["kind"], kept["transaction"]) == ("commit", sent["transaction"])
    finally:
        node.mine()
        node.set_automine(True)
    assert done(cli, "chain", "status", *on)["seq"] == 2


@pytest.mark.parametrize(
    "died_before", [(TxSender, "_broadcast"), (TxTracker, "wait_for_outcome")], ids=["6", "7"]
)
def test_a_run_that_died_is_repeated_and_sends_once(cli, offline, write, sign, died_before, node):
    on, file = ("--ledger", offline), sign(write("open"))
    received = read_signed_file(Path(file).read_bytes())
    with Brain.open(Path(), author="tester") as brain:
        signed_by = (lambda _: None, lambda _: None, received.sender)
        ledger = evm_ledgers.open_evm_ledger(offline, *signed_by)
        with dies_before_call(*died_before):
            brain.ledger.send_signed(ledger, received)
    made = done(cli, "chain", "send", file, *on)
    assert (made["seq"], made["transaction"]) == (1, received.signed.hash)
    assert cli("op", "log").out.count(" to dev") == 1


WRONG_FILES = {
    "nothing": b"",
    "no hex": b"0xzz",
    "no JSON": b"{",
    "another object": b'{"tx": {}}',
    "the unsigned file": b'{"transaction": {"to": "0x"}}',
    "a legacy transaction": b"0xf86c",
    "a list that ends early": b"0x02c3010203",
}


@pytest.mark.parametrize("content", WRONG_FILES)
def test_a_file_without_a_signed_transaction_is_refused(cli, chain, tmp_path, content):
    file = tmp_path / "signed"
    file.write_bytes(WRONG_FILES[content])
    refused = cli("chain", "send", str(file), "--ledger", chain, "--json")
    assert (refused.status, refused.error["code"]) == (1, "bad_signed")
    assert str(file) in refused.error["message"]


def test_a_transaction_is_compared_with_the_ledger_before_it_is_sent(
    node, cli, offline, write, sign
):
    on = ("--ledger", offline)
    fields = write("open")

    def refused(**changes: Any) -> str:
        told = cli("chain", "send", sign(fields, **changes), *on, "--json")
        assert told.status in (1, 12), told.out
        code: str = told.error["code"]
        return code

    balance = node.call("eth_getBalance", node.accounts[0], "latest")
    assert refused(chainId=5) == "wrong_chain"
    assert refused(to=to_checksum_address("0x" + "11" * 20)) == "not_ours"
    assert refused(data="0x12345678") == "not_ours"
    assert refused(data=fields["data"] + "00") == "not_ours"
    assert refused(data=fields["data"][:-2] + "ff") == "no_revision"
    assert refused(data=fields["data"][:10] + "11" * 32 + fields["data"][74:]) == "another_brain"
    assert refused(value=1) == "bad_signed"
    assert refused(gas=30_000) == "low_gas"
    assert refused(maxFeePerGas=200 * 10**9) == "fee_cap"
    assert refused(gas=3 * 10**6, maxFeePerGas=90 * 10**9) == "fee_cap"
    assert refused(nonce=hex(int(fields["nonce"], 16) + 1)) == "nonce_gap"
    assert refused(nonce=0) == "replaced"
    assert node.call("eth_getBalance", node.accounts[0], "latest") == balance
    done(cli, "chain", "send", sign(fields), *on)


def test_what_is_signed_is_sent_to_the_contract_only(cli, offline, write, sign):
    on, proxy = ("--ledger", offline), to_checksum_address(CREATE2_PROXY)
    fields = write("open")
    done(cli, "config", "ledger", offline, "--contract", CREATE2_PROXY, "--since", "1")
    refused = cli("chain", "send", sign(fields, to=proxy), *on, "--json")
    assert refused.error["code"] == "wrong_code"


def test_an_opening_that_another_than_the_creator_signed_is_not_sent(
    node, cli, offline, write, sign
):
    fields = write("open")
    done(cli, "config", "ledger", offline, "--creator", node.accounts[3])
    refused = cli("chain", "send", sign(fields), "--ledger", offline, "--json")
    assert refused.error["code"] == "wrong_creator"


def test_what_the_account_cannot_pay_for_is_not_sent(node, cli, offline, write, sign):
    account = node.accounts[1]
    fields = write("open", sender=1)
    before = node.call("eth_getBalance", account, "latest")
    node.call("anvil_setBalance", account, hex(10**9))
    refused = cli("chain", "send", sign(fields, 1), "--ledger", offline, "--json")
    node.call("anvil_setBalance", account, before)
    assert refused.error["code"] == "unfunded"


def test_a_commitment_that_was_overtaken_is_written_again(node, cli, offline, write, sign):
    on = ("--ledger", offline)
    done(cli, "chain", "send", sign(write("open")), *on)
    learn(cli, "shared", "one")
    late = write("commit")
    done(cli, "chain", "send", sign(late), *on)
    learn(cli, "shared", "two")
    stale = sign({**write("commit"), "data": late["data"]})
    done(cli, "chain", "send", sign(write("commit")), *on)
    refused = cli("chain", "send", sign({**late, "nonce": "0x0"}), *on, "--json")
    assert refused.status == 12 and refused.error["code"] == "ledger_ahead"
    assert cli("chain", "send", stale, *on, "--json").error["code"] in ("ledger_ahead", "replaced")


def test_a_brain_is_only_opened_by_the_creator_of_the_ledger(node, cli, offline, use):
    on = ("--ledger", offline)
    done(cli, "config", "ledger", offline, "--creator", node.accounts[3])
    use(0)
    refused = cli("chain", "open", *on, "--json")
    assert refused.error["code"] == "wrong_creator"
    refused = cli("chain", "open", "--unsigned", "--from", node.accounts[1], *on, "--json")
    assert refused.error["code"] == "wrong_creator"
