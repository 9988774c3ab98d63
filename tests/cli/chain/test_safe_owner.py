"""A Safe of several people owns a brain: its owners execute what --unsigned prints."""

import pytest

from tests.cli.test_commands import learn
from tests.cli.test_on_chain import done
from tests.support.chain.registry_contract import wallet_key
from tests.support.chain.safe_wallet import deploy_safe
from tests.support.user_settings import configure, settings_of

OWNERS = [wallet_key(f"owner {n} of a safe") for n in range(3)]


@pytest.fixture(scope="module")
def safe(node):
    return deploy_safe(node, OWNERS, 2)


@pytest.fixture
def execute(cli, chain, safe, monkeypatch):
    monkeypatch.delenv("BRAIN_LEDGER_KEY")

    def run(*command: str, signed_by: tuple[str, ...] = ()) -> str:
        printed = done(cli, "chain", *command, "--unsigned", *signed_by, "--ledger", chain)
        call = printed["unsigned"]["transaction"]
        assert (call["from"].lower(), call["value"]) == (safe.address, "0x0")
        receipt = safe.execute(call["to"].lower(), bytes.fromhex(call["data"][2:]))
        assert receipt["status"] == "0x1"
        executed: str = receipt["transactionHash"]
        return executed

    return run


def test_a_safe_opens_commits_and_hands_over_a_brain(
    node, cli, chain, safe, execute, use, tmp_path, monkeypatch
):
    on = ("--ledger", chain)
    configure(cli, f"ledger.{chain}", "--account", safe.address)
    opened = execute("open")
    made = done(cli, "chain", "record", opened, *on)
    assert (made["seq"], made["author"], made["transaction"]) == (1, safe.address, opened)
    assert settings_of(cli, f"ledger.{chain}")["creator"] == safe.address

    learn(cli, "shared", "one")
    committed = execute("commit")
    status = done(cli, "chain", "status", *on)
    assert (status["seq"], status["owner"], status["behind"]) == (2, safe.address, 0)
    assert status["commitments"][1]["author"] == safe.address
    assert done(cli, "chain", "record", committed, *on)["seq"] == 2
    assert done(cli, "verify", *on)["ok"]

    node.mine(3)
    evidence = str(tmp_path / "evidence.json")
    assert cli("chain", "evidence", *on, "-o", evidence).status == 0
    found = done(cli, "verify", evidence)
    assert found["seq"] == 2 and found["chain"]["owner"] == safe.address
    hash = node.block(found["chain"]["block"])["hash"]
    assert done(cli, "verify", evidence, "--block-hash", hash)["trust_level"] == "L3"

    person = node.accounts[1]
    execute("owner", "--signer", person)
    learn(cli, "shared", "two")
    use(1)
    assert done(cli, "chain", "commit", *on)["author"] == person.lower()
    monkeypatch.delenv("BRAIN_LEDGER_KEY")
    execute("owner", "--disown", "@~1")
    status = done(cli, "chain", "status", *on)
    assert (status["seq"], status["signer"]) == (4, None)
    execute("owner", "--offer", person)
    use(1)
    done(cli, "chain", "owner", "--accept", *on)
    assert done(cli, "chain", "status", *on)["owner"] == person.lower()


def test_a_safe_takes_over_a_brain(node, cli, chain, safe, execute, use):
    on = ("--ledger", chain)
    use(0)
    done(cli, "chain", "open", *on)
    done(cli, "chain", "owner", "--offer", safe.address, *on)
    execute("owner", "--accept", signed_by=("--from", safe.address))
    assert done(cli, "chain", "status", *on)["owner"] == safe.address
    learn(cli, "shared", "one")
    refused = cli("chain", "commit", *on, "--json")
    assert refused.error["code"] == "unauthorized"
    execute("commit", signed_by=("--from", safe.address))
    assert done(cli, "chain", "status", *on)["commitments"][1]["author"] == safe.address


def test_a_safe_anchors_the_log_of_a_machine(node, cli, chain, safe, execute, tmp_path):
    on, evidence = ("--ledger", chain), str(tmp_path / "evidence.json")
    configure(cli, f"ledger.{chain}", "--account", safe.address)
    executed = execute("batch", ".")
    assert done(cli, "chain", "batch", ".", *on)["anchored"]["status"] == "included"
    refused = cli("chain", "record", executed, *on, "--json")
    assert refused.error["code"] == "not_committed", "it committed no brain by itself"
    node.mine(3)
    assert cli("chain", "evidence", *on, "-o", evidence).status == 0
    found = done(cli, "verify", evidence)
    assert found["chain"]["sender"] == safe.address


def test_what_a_transaction_did_not_commit_is_not_recorded(node, cli, chain, safe, execute):
    on = ("--ledger", chain)
    refused = cli("chain", "record", "0x1234", *on, "--json")
    assert refused.error["code"] == "bad_hash"
    refused = cli("chain", "record", "0x" + "12" * 32, *on, "--json")
    assert refused.error["code"] == "not_committed"
    execute("open", signed_by=("--from", safe.address))
    failed = safe.execute(safe.address, b"", OWNERS[:1])["transactionHash"]
    refused = cli("chain", "record", failed, *on, "--json")
    assert refused.error["code"] == "not_committed"
