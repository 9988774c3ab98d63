"""Commitment to the log of this machine, as people and programs see it."""

import shutil
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import validate
from tests.cli.test_commands import learn, masked
from tests.support.user_settings import configure, settings_of


def test_a_commitment_needs_no_set_up_and_is_told_in_words(agent, cli):
    told = cli("chain", "commit")
    assert (told.status, told.err) == (0, "")
    assert masked(told) == (
        "Committed ID12 to local as commitment 1, covers 2 snapshots: finalized, L0\n"
    )
    assert masked(cli("chain", "commit")) == (
        "Nothing new: local has ID12 as commitment 1, covers 2 snapshots: finalized, L0\n"
    )
    assert cli("chain", "commit", "--json").document["changed"] is False
    learn(cli, "shared", "one")
    assert masked(cli("chain", "commit")) == (
        "Committed ID12 to local as commitment 2, covers 1 snapshot: finalized, L0\n"
    )


def test_the_status_lists_commitments_and_what_is_not_covered(agent, cli):
    told = cli("chain", "status")
    assert told.status == 0 and told.out.endswith("No commitment of this brain\n")
    cli("chain", "commit")
    learn(cli, "shared", "one")
    told = cli("chain", "status")
    assert told.out.startswith("Ledger local, tlog:brain.local/")
    assert (
        "finalized" in told.out
        and "\n1 snapshot not covered yet\nKey of the log: brain.local/" in told.out
    )
    cli("chain", "commit")
    assert "\nAll snapshots are covered\n" in cli("chain", "status").out


def test_a_dry_run_records_nothing(agent, cli):
    assert cli("chain", "commit", "--dry-run").out == "No cost\n"
    assert cli("chain", "status", "--json").document["seq"] == 0


def test_an_upsert_can_be_committed_in_one_go(agent, cli):
    told = cli("skill", "upsert", "reentrancy", "-d", "Other", "--commit", "--json")
    document = told.document
    assert document["commitment"]["snapshot"] == document["snapshot"]
    told = cli("skill", "upsert", "reentrancy", "-d", "Another", "--commit")
    assert "to local as commitment 2" in told.out


def test_an_upsert_whose_commitment_fails_stands_and_says_so(agent, cli):
    cli("branch", "idea")
    learn(cli, "shared", "one")
    cli("chain", "commit")
    cli("switch", "idea")
    told = cli("skill", "upsert", "reentrancy", "-d", "Other", "--commit", "--json")
    assert told.status == 1
    assert told.document["commitment"]["status"] == "failed"
    assert told.error["code"] == "ledger_forked" and "brain merge" in told.error["hint"]
    assert cli("skill", "view", "reentrancy", "--json").document["version"] == 4


def test_the_manifest_commits_by_itself(agent, cli):
    Path("manifest.yaml").write_text("name: agent\ncommit:\n  every: 2\n")
    told = cli("snapshot")
    assert "to local as commitment 1" in told.out
    assert "Committed" not in cli("skill", "upsert", "reentrancy", "-d", "One").out
    assert "as commitment 2, covers 2 snapshots" in (
        cli("skill", "upsert", "reentrancy", "-d", "Two").out
    )
    validate("manifest", {"name": "agent", "commit": {"every": 2}})


def test_a_log_that_was_deleted_as_a_whole_is_not_begun_anew_without_a_word(agent, cli, tmp_path):
    identity = cli("chain", "commit", "--json").document["identity"]
    shutil.rmtree(tmp_path / "ledgers")
    learn(cli, "shared", "one")
    for command in (["commit"], ["status"], ["commit", "--dry-run"]):
        told = cli("chain", *command, "--json")
        assert (told.status, told.error["code"]) == (3, "another_log")
        assert identity in told.error["message"] and "chain open" in told.error["hint"]
    told = cli("verify", "--ledger", "local", "--json")
    assert told.status == 3
    assert "another_log" in {one["code"] for one in told.document["findings"]}
    assert not (tmp_path / "ledgers").exists()


def test_another_log_is_begun_on_demand_and_verify_still_names_the_one_before(agent, cli, tmp_path):
    cli("chain", "commit")
    shutil.rmtree(tmp_path / "ledgers")
    assert cli("chain", "open", "--ledger", "local", "--json").document["seq"] == 1
    learn(cli, "shared", "one")
    assert cli("chain", "commit", "--json").document["seq"] == 2
    told = cli("verify", "--ledger", "local", "--json")
    assert told.status == 0
    assert [one["code"] for one in told.document["findings"]] == ["not_asked"]


def test_a_log_without_its_database_is_gone_and_not_merely_not_created(agent, cli, tmp_path):
    cli("chain", "commit")
    for path in (tmp_path / "ledgers" / "local").glob("log.db*"):
        path.unlink()
    for command in ("status", "commit"):
        told = cli("chain", command, "--json")
        assert (told.status, told.error["code"]) == (3, "rolled_back")


def test_evidence_of_a_file_is_checked_with_nothing_else(agent, cli, tmp_path, monkeypatch):
    path = "skills/reentrancy/SKILL.md"
    cli("chain", "commit")
    told = cli("chain", "evidence", "--path", path, "-o", str(tmp_path / "evidence.json"))
    assert told.status == 0 and "Evidence in" in told.out
    key = cli("chain", "status", "--json").document["key"]
    shutil.copy(path, tmp_path / "SKILL.md")
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(agent)
    told = cli("verify", "evidence.json", "--content", "SKILL.md")
    assert told.status == 4 and f"It says: {path} is in snapshot " in told.out
    told = cli("verify", "evidence.json", "--content", "SKILL.md", "--log-key", key)
    assert (told.status, told.err) == (0, "")
    assert told.out.startswith(f"Shown: {path} is in snapshot ")
    assert "Trust: L0" in told.out
    (tmp_path / "SKILL.md").write_text("other\n")
    told = cli("verify", "evidence.json", "--content", "SKILL.md", "--json")
    assert told.status == 3 and told.out == ""
    for option in ("--block-hash", "--log-key", "--owner", "--witness"):
        told = cli("verify", "evidence.json", option, "", "--json")
        assert (told.status, told.error["code"]) == (2, "usage"), option


def test_a_snapshot_that_was_skipped_is_shown_by_the_next_commitment(agent, cli, tmp_path):
    learn(cli, "shared", "one")
    skipped = cli("show", "--json").document["snapshot"]
    learn(cli, "shared", "two")
    committed = cli("chain", "commit", "--json").document["snapshot"]
    Path("../evidence.json").write_text(cli("chain", "evidence", skipped).out)
    found = cli("verify", "../evidence.json", "--json").document
    assert (found["snapshot"], found["committed"]) == (skipped, committed)


def test_what_is_not_committed_has_no_evidence(agent, cli):
    told = cli("chain", "evidence", "--json")
    assert told.status == 1 and told.error["code"] == "not_committed"
    assert "brain chain commit" in told.error["hint"]


def test_verification_asks_ledgers_if_told_to(agent, cli):
    cli("chain", "commit")
    learn(cli, "shared", "one")
    told = cli("verify", "--ledger", "all")
    assert told.status == 0
    assert "local: commitment 1 of " in told.out and "1 snapshot behind the head" in told.out
    assert "Trust level L0\n" in told.out
    assert cli("verify", "--ledger", "local", "--json").document["ok"]


def test_verification_fails_if_the_ledger_holds_what_was_undone(agent, cli):
    learn(cli, "shared", "one")
    cli("chain", "commit")
    cli("undo")
    told = cli("verify", "--ledger", "local", "--json")
    assert told.status == 3
    assert [one["code"] for one in told.document["findings"]] == ["ledger_forked"]
    assert not told.document["ok"]


def test_verification_fails_where_nothing_is_committed(agent, cli):
    told = cli("verify", "--ledger", "local", "--json")
    assert told.status == 3 and told.document["findings"][0]["code"] == "not_committed"


def test_a_log_that_was_brought_back_from_a_copy_is_noticed(agent, cli, tmp_path):
    cli("chain", "commit")
    shutil.copytree(tmp_path / "ledgers/local", tmp_path / "copy")
    learn(cli, "shared", "one")
    cli("chain", "commit")
    shutil.rmtree(tmp_path / "ledgers/local")
    shutil.copytree(tmp_path / "copy", tmp_path / "ledgers/local")
    assert cli("chain", "status").status == 3
    assert cli("verify", "--ledger", "local").status == 3


def test_a_kept_checkpoint_shows_that_the_log_was_rolled_back_or_forked(agent, cli, tmp_path):
    kept = str(tmp_path / "kept.txt")
    compare = ("verify", "--ledger", "local", "--compare", kept)

    def faults() -> set[str]:
        told = cli(*compare, "--json")
        found = {one["code"] for one in told.document["findings"] if one["severity"] == "error"}
        assert told.status == (3 if found else 0)
        return found

    cli("chain", "commit")
    shutil.copytree(tmp_path / "ledgers", tmp_path / "copy")
    first = cli("chain", "status", "-o", kept, "--json").document
    assert (first["checkpoint"], first["file"]) == (Path(kept).read_text("utf-8"), kept)
    assert f"Key of the log: {first['key']}\n" in cli("chain", "status").out
    assert faults() == set()
    learn(cli, "shared", "one")
    cli("chain", "commit")
    assert faults() == set(), "the log extends it"
    cli("chain", "status", "-o", kept)
    shutil.rmtree(tmp_path / "ledgers")
    assert faults() == {"rolled_back", "another_log", "not_committed"}
    assert cli(*compare).out.count("on another machine") == 2
    shutil.copytree(tmp_path / "copy", tmp_path / "ledgers")
    assert faults() == {"rolled_back"}
    cli("init", str(tmp_path / "other"))
    cli("-C", str(tmp_path / "other"), "chain", "commit")
    assert faults() == {"log_forked", "rolled_back"}
    shutil.rmtree(tmp_path / "ledgers")
    cli("chain", "open", "--ledger", "local")
    assert faults() == {"wrong_origin"}
    for wrong in (compare[:1], (*compare[:2], "all"), compare[:1]):
        assert cli(*wrong, "--compare", kept).status == 2
    assert cli(*compare[:-1], "nothing.txt").status == 1


def test_a_log_without_an_entry_has_no_checkpoint(agent, cli, tmp_path):
    assert cli("chain", "status", "-o", str(tmp_path / "c.txt")).status == 2
    told = cli("chain", "status", "--json").document
    assert (told["key"], told["checkpoint"], told["file"]) == (None, None, None)


def test_a_batch_commits_each_brain_and_names_what_it_cannot(cli, folder, tmp_path):
    for name in "abc":
        cli("init", str(tmp_path / name))
    cli("-C", str(tmp_path / "a"), "chain", "commit")
    (tmp_path / "none").mkdir()
    folders = [str(tmp_path / name) for name in ("a", "b", "c", "none")]
    told = cli("chain", "batch", *folders, "--json")
    assert told.status == 1
    document = told.document
    assert len(document["committed"]) == 2 and document["unchanged"] == 1
    assert [one["code"] for one in document["left"]] == ["no_brain"]
    assert told.error["code"] == "left_out"
    for name in "abc":
        assert cli("-C", str(tmp_path / name), "verify", "--ledger", "local").status == 0


def test_a_ledger_that_nobody_knows_is_named_with_those_there_are(agent, cli):
    for call in (["chain", "commit"], ["chain", "status"], ["verify"], ["chain", "deploy"]):
        told = cli(*call, "--ledger", "sepolia", "--json")
        assert told.status == 1 and told.error["code"] == "no_ledger"
        assert "local" in told.error["hint"]


@pytest.mark.parametrize("call", [["deploy"], ["owner", "--accept"]])
def test_what_is_for_a_chain_says_so(agent, cli, call):
    told = cli("chain", *call, "--json")
    assert told.status == 1 and told.error["code"] == "bad_ledger"


def test_settings_of_a_ledger_are_kept_shown_and_forgotten(agent, cli, tmp_path):
    url, file = "http://user:secret@localhost:8545/key", tmp_path / "config.toml"
    shown = cli("config", "ledger.sepolia.rpc", url, "--json")
    assert settings_of(cli, "ledger.sepolia")["chain-id"] == 11155111 and "secret" not in shown.out
    assert file.stat().st_mode & 0o777 == 0o600
    configure(cli, "ledger.sepolia", "--contract", "0x" + "5f" * 20, "--finality", "12")
    kept = tomllib.loads(file.read_text())["ledger"]["sepolia"]
    assert kept["rpc"] == [url] and kept["finality"] == 12
    shown = cli("config")
    assert "ledger.sepolia.chain-id  11155111" in shown.out and "secret" not in shown.out
    assert cli("config", "--unset", "ledger.sepolia").status == 0
    assert "ledger.sepolia" not in cli("config").out
    gone = cli("config", "--unset", "ledger.sepolia", "--json")
    assert gone.status == 1 and gone.error["code"] == "not_set"


@pytest.mark.parametrize(
    "call",
    [
        ["rpc", "ftp://x"],
        ["contract", "0x12"],
        ["finality", "latest"],
        ["quorum", "2"],
        ["rpc", "http://x", "http://x"],
    ],
)
def test_settings_that_are_none_are_refused_and_nothing_is_kept(cli, folder, tmp_path, call):
    refused = cli("config", f"ledger.sepolia.{call[0]}", *call[1:], "--json")
    assert refused.status == 1 and refused.error["code"] == "bad_ledger"
    assert not (tmp_path / "config.toml").exists()


def test_a_merge_into_the_branch_of_the_manifest_is_committed(agent, cli):
    Path("manifest.yaml").write_text("name: agent\ncommit:\n  branch: main\n")
    cli("snapshot")
    cli("switch", "--new", "idea")
    assert "Committed" not in cli("skill", "upsert", "reentrancy", "-d", "One").out
    cli("switch", "main")
    told = cli("merge", "idea")
    assert told.status == 0 and "to local as commitment 2, covers 1 snapshot" in told.out
    Path("manifest.yaml").write_text("name: agent\ncommit:\n  ledger: nowhere\n")
    cli("snapshot")
    cli("switch", "idea")
    told = cli("merge", "main", "--json")
    assert told.status == 1 and told.error["code"] == "no_ledger"
    assert told.document["changed"] and told.document["commitment"]["status"] == "failed"


def test_what_a_witness_signed_travels_in_the_evidence(agent, cli, tmp_path):
    from brain.chain.tlog import note
    from tests.support.tlog_ledgers import WITNESS, WITNESS_SEED, sign_cosignature

    cli("chain", "commit")
    text = cli("chain", "status", "--json").document["checkpoint"]
    file = tmp_path / "checkpoint.txt"
    file.write_text(text)
    by = ("--witness", str(WITNESS))
    told = cli("chain", "record", str(file), *by, "--json")
    assert told.status == 3 and told.error["code"] == "no_cosignature"
    line = sign_cosignature(note.parse_note(text).text, WITNESS, WITNESS_SEED, 7)
    file.write_text(text + str(line))
    told = cli("chain", "record", str(file), *by)
    assert told.status == 0 and "Stored 1 cosignature: witness.example/w1" in told.out
    assert cli("chain", "status", "--json").document["trust_level"] == "L1"
    evidence = str(tmp_path / "evidence.json")
    cli("chain", "evidence", "-o", evidence)
    assert "Trust: L1, one witness cosigned the log" in cli("verify", evidence, *by).out
    other = ("--witness", str(WITNESS).replace("w1", "w2"))
    assert cli("verify", evidence, *other).status != 0
    assert cli("chain", "record", *by).status == 2
    for text in ("", "nonsense\n", "x" * 2_000_000):
        file.write_text(text)
        told = cli("chain", "record", str(file), *by, "--json")
        assert told.status in (1, 3) and told.error["code"] != "internal"
