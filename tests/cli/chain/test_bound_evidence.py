"""Evidence from a real node tells a stranger who knows a key whose brain it is."""

from tests.cli.test_on_chain import done


def test_evidence_shows_that_the_owner_is_bound_to_a_key(node, agent, cli, chain, tmp_path):
    key = cli("key", "new").out.strip()
    done(cli, "key", "bind", "--ledger", chain)
    opened = done(cli, "chain", "open", "--ledger", chain)
    node.mine(3)
    file = str(tmp_path / "evidence.json")
    assert cli("chain", "evidence", "--ledger", chain, "-o", file).status == 0
    found = done(cli, "chain", "check", file, "--key", key)
    assert [(one["account"], one["key"], one["status"]) for one in found["accounts"]] == [
        (opened["sender"], key, "valid")
    ]
    other = cli("key", "new", "other").out.strip()
    refused = cli("chain", "check", file, "--key", other, "--json")
    assert (refused.status, refused.error["code"]) == (3, "not_bound")


def test_a_broken_file_of_statements_does_not_stop_evidence(node, agent, cli, chain, tmp_path):
    (agent / "accounts.json").write_text("{}")
    assert cli("snapshot").status == 0
    done(cli, "chain", "open", "--ledger", chain)
    node.mine(3)
    file = str(tmp_path / "evidence.json")
    assert cli("chain", "evidence", "--ledger", chain, "-o", file).status == 0
    assert done(cli, "chain", "check", file)["accounts"] == []
