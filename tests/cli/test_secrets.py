"""What the command line says of secrets, without ever printing one."""

import random
from pathlib import Path

from tests.cli.conftest import validate
from tests.support import planted_secrets

KEY = planted_secrets.SECRET_MAKERS["aws-access-key"](random.Random(21))


def test_a_snapshot_says_where_and_which_rule_and_how_to_be_rid_of_it(agent, cli):
    Path("memory/notes.md").write_text(f"one\nkey {KEY}\n")
    told = cli("snapshot")
    assert told.status == 0
    assert told.err.startswith("Note: memory/notes.md: line 2 looks like a secret (aws-access-key,")
    assert KEY not in told.out + told.err
    _, command, _ = told.err.split("`")
    assert cli(*command.split()[1:], "--yes").status == 0
    assert cli("secrets", "--history").status == 0 and not Path("memory/notes.md").exists()


def test_an_upsert_warns_as_a_snapshot_does(agent, cli):
    Path("../body.md").write_text(f"one\nkey {KEY}\n")
    told = cli("skill", "upsert", "Oracle manipulation", "-f", "../body.md")
    path = "skills/oracle-manipulation/SKILL.md"
    assert told.status == 0 and told.err.startswith(f"Note: {path}: line ")
    assert f"brain redact {path}" in told.err and KEY not in told.out + told.err


def test_findings_end_with_status_1_and_an_accepted_one_does_not(agent, cli):
    assert cli("secrets").out == "No secrets in 5 files.\n"
    Path("memory/notes.md").write_text(KEY)
    cli("snapshot")
    told = cli("secrets")
    assert told.status == 1 and told.out.startswith("memory/notes.md:1:1: aws-access-key ")
    assert "brain redact" in told.err and KEY not in told.out + told.err
    (found,) = cli("secrets", "--json").document["findings"]
    Path("manifest.yaml").write_text(f'secrets:\n  accepted: ["{found["id"]}"]\n')
    cli("snapshot")
    told = cli("secrets")
    assert (told.status, told.out) == (0, "No secrets in 5 files, 1 accepted.\n")


def test_in_json_findings_keep_the_schema(agent, cli):
    Path("memory/notes.md").write_text(KEY)
    snapshot = cli("snapshot", "--json").document
    assert [notice["code"] for notice in snapshot["notices"]] == ["secret"]
    told = cli("secrets", "--history", "--json")
    validate("secrets", told.document)
    assert told.status == 1 and told.document["findings"][0]["snapshot"] == snapshot["snapshot"]
