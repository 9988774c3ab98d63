"""What an owner, a signer and a taker may do, by the command line."""

from brain.chain.evm.deployment import CREATE2_PROXY
from tests.cli.test_commands import learn
from tests.cli.test_on_chain import done
from tests.support.chain.registry_contract import wallet_key
from tests.support.user_settings import configure, settings_of


def test_a_signer_is_told_what_a_signer_may_do(node, cli, chain, use):
    on = ("--ledger", chain)
    done(cli, "chain", "open", *on)
    done(cli, "chain", "owner", "--signer", node.accounts[1], *on)
    use(1)
    for call in (
        ("owner", "--signer", "none"),
        ("owner", "--signer", node.accounts[2]),
        ("owner", "--offer", node.accounts[1]),
        ("owner", "--offer", "none"),
    ):
        refused = cli("chain", *call, *on, "--json")
        assert refused.status == 1 and refused.error["code"] == "unauthorized"
        assert node.accounts[0].lower() in refused.error["message"]
        assert "is its signer, which may only commit" in refused.error["message"]
        assert refused.error["hint"] == "use the key of the owner"


def test_a_signer_on_another_machine_is_told_to_name_the_creator(
    node, cli, chain, use, tmp_path, monkeypatch
):
    on = ("--ledger", chain)
    done(cli, "chain", "open", *on)
    done(cli, "chain", "owner", "--signer", node.accounts[1], *on)
    learn(cli, "shared", "one")
    contract = settings_of(cli, f"ledger.{chain}")["contract"]
    use(1)
    monkeypatch.setenv("BRAIN_CONFIG", str(tmp_path / "other.toml"))
    configure(cli, f"ledger.{chain}", "--rpc", node.url, "--contract", contract)
    for call in (("commit",), ("owner", "--signer", "none"), ("owner", "--disown", "@")):
        refused = cli("chain", *call, *on, "--json")
        assert refused.status == 1 and refused.error["code"] == "not_open"
        assert node.accounts[1].lower() in refused.error["message"]
        assert ".creator ADDRESS`" in refused.error["hint"]
    configure(cli, f"ledger.{chain}", "--creator", node.accounts[0])
    assert done(cli, "chain", "commit", *on)["seq"] == 2


def test_an_offer_is_taken_until_it_ends(node, cli, chain, use):
    on = ("--ledger", chain)
    done(cli, "chain", "open", *on)
    offered = cli("chain", "owner", "--offer", node.accounts[1], "--hours", "1", *on)
    assert " until 20" in offered.out
    status = done(cli, "chain", "status", *on)
    assert status["offered_to"] == node.accounts[1].lower()
    assert status["offer_ends"][:16] in offered.out
    assert f"Offered to {status['offered_to']} until 20" in cli("chain", "status", *on).out
    node.set_next_time(node.block_time() + 3700)
    node.mine()
    use(1)
    refused = cli("chain", "owner", "--accept", *on, "--json")
    assert refused.status == 12 and refused.error["code"] == "expired"
    assert "the offer of this brain ended at 20" in refused.error["message"]
    use(0)
    done(cli, "chain", "owner", "--offer", node.accounts[1], "--hours", "2", *on)
    use(1)
    assert cli("chain", "owner", "--accept", *on).out.startswith(
        "The brain is yours, and nobody else can"
    )
    assert done(cli, "chain", "status", *on)["offered_to"] is None


def test_a_brain_is_not_offered_to_its_owner(node, cli, chain):
    done(cli, "chain", "open", "--ledger", chain)
    refused = cli("chain", "owner", "--offer", node.accounts[0], "--ledger", chain, "--json")
    assert refused.status == 1 and refused.error["code"] == "bad_address"


def test_who_has_no_money_is_told_so(node, cli, chain, tmp_path, monkeypatch):
    key = wallet_key(str(tmp_path))
    monkeypatch.setenv("BRAIN_LEDGER_KEY", "0x" + bytes(key.key).hex())
    refused = cli("chain", "open", "--ledger", chain, "--json")
    assert refused.status == 1 and refused.error["code"] == "unfunded"


def test_opening_with_another_key_than_the_creators_is_refused_and_not_priced(
    node, cli, chain, use
):
    on = ("--ledger", chain)
    configure(cli, f"ledger.{chain}", "--creator", node.accounts[0])
    assert settings_of(cli, f"ledger.{chain}")["creator"] == node.accounts[0].lower()
    use(1)
    for more in ((), ("--dry-run",)):
        refused = cli("chain", "open", *on, *more, "--json")
        assert refused.status == 1 and refused.error["code"] == "wrong_creator"


def test_another_contract_at_the_address_is_told(node, cli, chain):
    configure(cli, f"ledger.{chain}", "--contract", CREATE2_PROXY)
    calls = ("status", "commit", "open", "owner --signer none", "owner --accept")
    for call in map(str.split, calls):
        refused = cli("chain", *call, "--ledger", chain, "--json")
        assert refused.status == 1 and refused.error["code"] == "wrong_code", call
        assert "is not BrainRegistry" in refused.error["message"]
