"""Permits by the command line: the owner or the signer signs, another account pays."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak

from tests.cli.conftest import Call
from tests.cli.test_commands import learn
from tests.cli.test_on_chain import done
from tests.support.chain.registry_contract import wallet_key
from tests.support.chain.safe_wallet import deploy_safe

NOBODY = "0x" + "0" * 40
PERMIT = "../permit.json"

Refused = Callable[..., str]


@pytest.fixture
def owner(node, chain, monkeypatch, tmp_path):
    """The address of an owner without money, whose key signs from now on."""
    key = wallet_key(str(tmp_path))
    node.set_balance(key.address, 0)
    monkeypatch.setenv("BRAIN_LEDGER_KEY", "0x" + bytes(key.key).hex())
    return str(key.address).lower()


@pytest.fixture
def refused(cli, chain):
    """Relay the permit, which has to be refused with a status; return the code of the error."""

    def relay(status: int, *more: str) -> str:
        told = cli("chain", "relay", PERMIT, *more, "--ledger", chain, "--json")
        assert told.status == status, told.err
        return str(told.error["code"])

    return relay


def authorize(cli: Call, chain: str, *call: str) -> Any:
    return done(cli, "chain", "authorize", *call, "--ledger", chain, "-o", PERMIT)["permit"]


def relay(cli: Call, chain: str, *more: str) -> Any:
    return done(cli, "chain", "relay", PERMIT, *more, "--ledger", chain)


def test_an_owner_without_money_opens_commits_and_names_a_signer(
    node, cli, chain, owner, use, refused
):
    on = ("--ledger", chain)
    opening = authorize(cli, chain, "open")
    assert (opening["primaryType"], opening["message"]["owner"]) == ("Open", owner)
    assert json.loads(Path(PERMIT).read_text()) == opening
    use(0)
    assert relay(cli, chain, "--dry-run")["status"] == "quoted"
    shown = cli("chain", "relay", PERMIT, *on)
    assert shown.status == 0, shown.err
    assert shown.out.startswith(f"Relayed: the brain is opened, and {owner} is its owner\n")
    money = node.call("eth_getBalance", node.accounts[0], "latest")
    assert refused(12) == "permit_used"
    assert refused(12, "--dry-run") == "permit_used"
    assert node.call("eth_getBalance", node.accounts[0], "latest") == money

    status = done(cli, "chain", "status", *on)
    assert (status["owner"], status["behind"]) == (owner, 0)
    (row,) = status["commitments"]
    assert (row["author"], row["sender"]) == (owner, node.accounts[0].lower())
    node.mine(2)
    assert cli("chain", "evidence", *on, "-o", "../evidence.json").status == 0
    assert done(cli, "chain", "check", "../evidence.json")["chain"]["owner"] == owner
    assert cli("verify", *on).status == 0


def test_a_permit_is_printed_and_relayed_from_standard_input(
    cli, process, chain, owner, use, agent
):
    printed = cli("chain", "authorize", "open", "--ledger", chain)
    use(0)
    sent = process("chain", "relay", "-", "--ledger", chain, input=printed.out.encode())
    assert sent.status == 0, sent.err
    refused = process("chain", "relay", "-", "--ledger", chain, input=b"[]", cwd=agent)
    assert refused.status == 1 and "standard input: the permit cannot be read" in refused.err


def test_a_commitment_signed_by_the_signer_is_paid_for_by_another(node, cli, chain, use, refused):
    on = ("--ledger", chain)
    done(cli, "chain", "open", *on)
    done(cli, "chain", "signer", node.accounts[1], *on)
    learn(cli, "shared", "one")
    use(1)
    permit = authorize(cli, chain, "commit")
    use(0)
    assert relay(cli, chain)["snapshot"] == permit["message"]["snapshot"][2:]
    row = done(cli, "chain", "status", *on)["commitments"][-1]
    assert (row["author"], row["sender"]) == (node.accounts[1].lower(), node.accounts[0].lower())
    assert f"by {row['author']}" in cli("chain", "status", *on).out
    assert refused(12) == "permit_used"
    Path(PERMIT).write_text("{}")
    assert refused(1) == "bad_permit"
    Path(PERMIT).write_text("[")
    assert refused(1) == "bad_permit"
    assert PERMIT in cli("chain", "relay", PERMIT, *on).err


def test_a_permit_names_the_signer_and_another_removes_it(node, cli, chain, use):
    on = ("--ledger", chain)
    signer = node.accounts[1].lower()
    done(cli, "chain", "open", *on)
    for call, named in ((signer, signer), ("--none", None)):
        permit = authorize(cli, chain, "signer", call)
        assert permit["message"]["signer"] == (named or NOBODY)
        use(1)
        assert relay(cli, chain)["snapshot"] is None
        assert done(cli, "chain", "status", *on)["signer"] == named
        use(0)


def test_a_permit_of_a_signer_stays_revoked_after_it_was_named_again(
    node, cli, chain, use, refused
):
    on = ("--ledger", chain)
    signer, heir = node.accounts[1], node.accounts[0]
    done(cli, "chain", "open", *on)
    done(cli, "chain", "signer", signer, *on)
    learn(cli, "shared", "one")
    use(1)
    authorize(cli, chain, "commit")
    use(0)
    assert relay(cli, chain, "--dry-run")["status"] == "quoted"
    done(cli, "chain", "signer", "--none", *on)
    assert refused(12) == "permit_void"
    done(cli, "chain", "signer", signer, *on)
    assert refused(12) == "permit_void"
    # Under another owner, who names the same signer.
    done(cli, "chain", "transfer", signer, *on)
    use(1)
    done(cli, "chain", "accept", *on)
    done(cli, "chain", "signer", signer, *on)
    assert refused(12) == "permit_void"
    done(cli, "chain", "transfer", heir, *on)
    use(0)
    done(cli, "chain", "accept", *on)
    done(cli, "chain", "signer", signer, *on)
    assert refused(12) == "permit_void"
    assert done(cli, "chain", "status", *on)["seq"] == 1


def test_a_safe_signs_elsewhere_and_another_account_pays(
    node, cli, chain, use, monkeypatch, refused
):
    safe = deploy_safe(node, [wallet_key(f"owner {n} of the safe") for n in range(2)], 2)
    done(cli, "config", "ledger", chain, "--creator", safe.address)

    def relay_signed(*call: str) -> None:
        monkeypatch.delenv("BRAIN_LEDGER_KEY")
        permit = authorize(cli, chain, *call, "--unsigned")
        use(0)
        assert refused(1) == "bad_permit"
        text = encode_typed_data(full_message=permit)
        digest = keccak(b"\x19" + text.version + text.header + text.body)
        relay(cli, chain, "--signature", "0x" + safe.sign_digest(digest).hex())

    relay_signed("open")
    learn(cli, "shared", "one")
    relay_signed("commit")
    relay_signed("signer", node.accounts[1])
    status = done(cli, "chain", "status", "--ledger", chain)
    assert (status["owner"], status["signer"], status["seq"]) == (
        safe.address,
        node.accounts[1].lower(),
        2,
    )
    assert {one["author"] for one in status["commitments"]} == {safe.address}
    assert cli("chain", "verify", "--ledger", chain).status == 0


def test_an_unsigned_permit_says_who_is_to_sign_it(cli, chain, use):
    done(cli, "chain", "open", "--ledger", chain)
    call = ("chain", "authorize", "signer", "--none", "--unsigned", "--ledger", chain)
    written = cli(*call, "-o", PERMIT).out
    assert written.startswith(f"To be signed, in {PERMIT}, valid until 20")
    assert written.endswith(": only the owner can commit\n")
    assert "signature" not in json.loads(cli(*call).out)


def test_hours_are_one_or_more_and_address_or_none_is_given(cli, chain):
    on = ("--ledger", chain)
    for call in (
        ("authorize", "signer"),
        ("authorize", "signer", NOBODY, "--none"),
        ("authorize", "commit", "--hours", "0"),
        ("transfer", "0x" + "1" * 40, "--hours", "0"),
        ("transfer", "--withdraw", "--hours", "2"),
    ):
        assert cli("chain", *call, *on).status == 2
