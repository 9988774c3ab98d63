"""Transactions that are printed for a wallet elsewhere, and recorded once it sent them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eth_utils.address import to_checksum_address

from tests.cli.test_commands import learn
from tests.cli.test_on_chain import done
from tests.support import anvil_node
from tests.support.user_settings import configure, settings_of

Write = Callable[..., dict[str, Any]]
"""Runs a command with --unsigned, and returns the fields of the transaction."""
Send = Callable[..., str]
"""Runs a command with --unsigned, has the node's wallet send it, and returns the hash."""


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
def send(node, write):
    def run(*command: str, sender: int = 0) -> str:
        return str(node.call("eth_sendTransaction", write(*command, sender=sender)))

    return run


def test_a_brain_is_opened_and_committed_without_a_key_here(node, cli, offline, send, tmp_path):
    on, account = ("--ledger", offline), node.accounts[0].lower()
    opened = done(cli, "chain", "record", send("open"), *on)
    assert (opened["seq"], opened["sender"]) == (1, account)
    assert settings_of(cli, f"ledger.{offline}")["creator"] == account
    learn(cli, "shared", "one")
    made = done(cli, "chain", "record", send("commit"), *on)
    assert (made["seq"], made["snapshots"], made["sender"]) == (2, 1, account)
    status = done(cli, "chain", "status", *on)
    assert [one["transaction"] for one in status["commitments"]] == [
        opened["transaction"],
        made["transaction"],
    ]
    node.mine(3)
    evidence = str(tmp_path / "evidence.json")
    assert cli("chain", "evidence", *on, "-o", evidence).status == 0
    assert done(cli, "verify", evidence)["seq"] == 2
    assert done(cli, "chain", "record", made["transaction"], *on)["seq"] == 2, "again"
    assert cli("log", "--ops").out.count(" to dev") == 2


def test_printing_changes_neither_the_brain_nor_the_journal(
    node, cli, offline, write, send, tmp_path
):
    done(cli, "chain", "record", send("open"), "--ledger", offline)
    learn(cli, "shared", "one")

    def contents() -> dict[Path, bytes]:
        here = [path for path in Path().rglob("*") if path.is_file() and path.suffix != ".db-shm"]
        return {path: path.read_bytes() for path in (*here, tmp_path / "config.toml")}

    before, block, other = contents(), node.block_number(), node.accounts[1]
    changes = (["--signer", other], ["--offer", other], ["--offer", "none"])
    for command in (["commit"], *(["owner", *what] for what in changes)):
        write(*command)
        assert node.block_number() == block
        assert list(tmp_path.glob("ledgers/chains/**/*.json")) == []
        assert {
            path for path, content in contents().items() if before.get(path) != content
        } == set()


def test_a_file_says_what_the_transaction_does(node, cli, offline, tmp_path):
    on = ("--ledger", offline, "--from", node.accounts[0])
    shown = cli("chain", "open", "--unsigned", *on)
    assert shown.status == 0
    call, fields = shown.document["call"], shown.document["transaction"]
    assert call["function"] == "open(bytes32,bytes32)"
    assert call["arguments"].keys() == {"salt", "snapshot"}
    assert fields.keys() == {"chainId", "from", "to", "value", "data", "gas"}
    assert (fields["chainId"], fields["value"]) == (hex(node.chain), "0x0")
    told = cli("chain", "open", "--unsigned", "-o", str(tmp_path / "file"), *on)
    assert told.out.startswith(f"To be sent by {node.accounts[0].lower()}, in ")
    assert ": open\n  salt 0x" in told.out
    document = done(cli, "chain", "open", "--unsigned", *on)
    assert document["unsigned"]["transaction"]["from"] == (to_checksum_address(node.accounts[0]))
    assert document["unsigned"]["transaction"]["data"].endswith(call["arguments"]["snapshot"][2:])


def test_all_that_the_owner_does_can_be_signed_elsewhere(node, cli, offline, send):
    on, other = ("--ledger", offline), node.accounts[1].lower()
    done(cli, "chain", "record", send("open"), *on)
    send("owner", "--signer", other)
    assert done(cli, "chain", "status", *on)["signer"] == other
    learn(cli, "shared", "one")
    done(cli, "chain", "record", send("commit", sender=1), *on)
    made = done(cli, "chain", "record", send("owner", "--disown", "@~1"), *on)
    assert (made["seq"], made["snapshots"]) == (3, 0)
    send("owner", "--offer", other)
    send("owner", "--accept", sender=1)
    assert done(cli, "chain", "status", *on)["owner"] == other


def test_the_log_of_a_machine_is_anchored_by_a_wallet_elsewhere(agent, node, cli, offline, send):
    on = ("--ledger", offline)
    send("batch", ".")
    configure(cli, f"ledger.{offline}", "--account", node.accounts[0])
    batch = done(cli, "chain", "batch", ".", *on)
    assert batch["anchored"]["status"] in ("included", "safe", "finalized")
    assert done(cli, "chain", "status", *on)["seq"] == 1


def test_a_contract_is_deployed_by_a_wallet_elsewhere(agent, cli, use, monkeypatch):
    on = ("--ledger", "fresh")
    with anvil_node.run_anvil() as node:  # without a contract, which the other tests share
        configure(cli, "ledger.fresh", "--rpc", node.url, "--account", node.accounts[0])
        use(0)
        unsigned = done(cli, "chain", "deploy", "--unsigned", *on)["unsigned"]
        assert unsigned["call"] is None
        node.call("eth_sendTransaction", unsigned["transaction"])
        already = cli("chain", "deploy", "--unsigned", *on, "--json")
        assert already.status == 1 and already.error["code"] == "nothing_to_sign"
        monkeypatch.delenv("BRAIN_LEDGER_KEY")
        found = done(cli, "chain", "deploy", *on)
    assert (found["since"] > 0, found["transaction"]) == (True, None)


def test_a_key_that_is_not_here_is_told_with_what_to_do(node, cli, offline):
    refused = cli("chain", "open", "--unsigned", "--ledger", offline, "--json")
    assert refused.error["code"] == "no_sender" and ".account ADDRESS`" in refused.error["hint"]
    configure(cli, f"ledger.{offline}", "--account", node.accounts[0])
    assert done(cli, "chain", "open", "--unsigned", "--ledger", offline)["file"] is None
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
    assert cli("chain", "commit", "-o", "file", *on).status == 2
    assert cli("chain", "record", *on).status == 2


def test_a_brain_is_only_opened_by_the_creator_of_the_ledger(node, cli, offline, use):
    on = ("--ledger", offline)
    configure(cli, f"ledger.{offline}", "--creator", node.accounts[3])
    use(0)
    refused = cli("chain", "open", *on, "--json")
    assert refused.error["code"] == "wrong_creator"
    refused = cli("chain", "open", "--unsigned", "--from", node.accounts[1], *on, "--json")
    assert refused.error["code"] == "wrong_creator"
