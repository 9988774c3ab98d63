"""A key that signs by default, and the warning about a snapshot that will not verify."""

from pathlib import Path

import pytest

from tests.cli.conftest import Call, validate
from tests.cli.test_commands import learn
from tests.cli.test_trust_commands import codes, new


@pytest.fixture
def trusted(agent, cli):
    """A brain in which the key ada may sign."""
    new(cli, "ada")
    assert cli("key", "trust", "ada", "--as", "Ada").status == 0
    return agent


def warnings(cli: Call, *call: str) -> list[str]:
    """Run a command that writes; return the lines that warn."""
    told = cli(*call)
    assert told.status == 0
    return [line for line in told.err.splitlines() if line.startswith("Warning: snapshot")]


def test_every_write_that_will_not_verify_says_so_and_what_to_do(trusted, cli):
    for call in (
        ["skill", "upsert", "one", "-d", "x"],
        ["skill", "delete", "one"],
        ["restore", "@~1"],
    ):
        (line,) = warnings(cli, *call)
        assert "lacks the signature of a trusted key and does not verify" in line
        assert "run `brain sign --key ada`" in line and "`brain config sign ada`" in line
    Path("memory/notes.md").write_text("new\n")
    assert len(warnings(cli, "snapshot")) == 1
    assert warnings(cli, "snapshot") == warnings(cli, "status") == []


def test_the_json_of_a_write_has_the_warning(trusted, cli):
    calls = {
        "skill-upsert": ["skill", "upsert", "one", "-d", "x"],
        "skill-delete": ["skill", "delete", "one"],
        "restore": ["restore", "@~1"],
        "merge": ["merge", "@~1"],
    }
    for name, call in calls.items():
        told = cli(*call, "--json")
        validate(name, told.document)
        if name == "merge":  # it records nothing
            assert "warnings" not in told.document
            continue
        (warning,) = told.document["warnings"]
        assert warning["code"] == "unsigned" and "`brain sign --key ada`" in warning["message"]
        assert warning["snapshot"] == cli("show", "--json").document["snapshot"]
    assert "warnings" not in cli("status", "--json").document
    cli("config", "sign", "ada")
    signed = cli("skill", "upsert", "one", "-d", "y", "--json")
    assert "warnings" not in signed.document


def test_without_a_key_of_ones_own_the_warning_names_who_may_sign(
    trusted, cli, monkeypatch, tmp_path
):
    monkeypatch.setenv("BRAIN_KEYS", str(tmp_path / "none"))
    (line,) = warnings(cli, "skill", "upsert", "one", "-d", "x")
    assert "ask one of Ada to run `brain sign`" in line and "config sign" not in line


def test_a_key_that_is_not_trusted_does_not_silence_the_warning(trusted, cli, monkeypatch):
    new(cli, "eve")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "eve")
    assert len(warnings(cli, "skill", "upsert", "one", "-d", "x")) == 1


def test_a_brain_without_trusted_keys_warns_of_nothing(agent, cli):
    assert warnings(cli, "skill", "upsert", "one", "-d", "x") == []


def test_a_configured_key_signs_what_every_command_records(trusted, cli):
    assert "no key" in cli("config", "sign").out
    assert cli("config", "sign", "ada").out == "sign: ada\n"
    assert warnings(cli, "skill", "upsert", "one", "-d", "x") == []
    assert codes(cli, "--root", "ada") == set()
    assert "sign: ada" in cli("config", "list").out
    assert "signs new snapshots" in cli("key", "list").out
    assert cli("config", "sign", "--off").status == 0
    assert len(warnings(cli, "skill", "delete", "one")) == 1
    assert cli("config", "sign", "--json").document["key"] is None


def test_the_variable_takes_precedence_and_an_empty_one_turns_signing_off(
    trusted, cli, monkeypatch
):
    new(cli, "eve")
    cli("config", "sign", "eve")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    assert warnings(cli, "skill", "upsert", "one", "-d", "x") == []
    assert "sign: ada, by BRAIN_SIGN_KEY (setting: eve)" in cli("config", "sign").out
    monkeypatch.setenv("BRAIN_SIGN_KEY", "")
    learn(cli, "two", "text")
    assert cli("show", "--json").document["signatures"] == []


def test_only_a_key_that_exists_can_be_configured(agent, cli):
    told = cli("config", "sign", "nobody", "--json")
    assert (told.status, told.error["code"]) == (1, "no_key")
    assert cli("config", "sign", "ada", "--off").status == 2


def test_a_damaged_setting_is_an_error_with_the_way_out(agent, cli):
    new(cli, "ada")
    cli("config", "sign", "ada")
    Path(cli("config", "sign", "--json").document["file"]).write_text('{"format": "other"}')
    told = cli("skill", "upsert", "one", "-d", "x", "--json")
    assert (told.status, told.error["code"]) == (1, "bad_signing")
    assert "brain config sign KEY" in told.error["hint"]
    assert cli("config", "sign", "--off").status == 0
    assert cli("skill", "upsert", "one", "-d", "x").status == 0
