"""Keys of one's own."""

import os
import pty
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Call, environment
from tests.cli.test_commands import learn
from tests.cli.test_trust_commands import codes, new
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.secret_files import write_secret
from tests.support.user_settings import settings_of


def test_a_key_with_a_passphrase_signs_only_with_it(agent, cli, monkeypatch):
    write_secret(Path("../word"), "open sesame\n")
    write_secret(Path("../wrong"), "open barley\n")
    cli("key", "new", "safe", "--passphrase-file", "../word")
    assert "with passphrase" in cli("key", "list").out
    assert cli("sign", "--json").error["code"] == "passphrase_needed"
    assert cli("sign", "--passphrase-file", "../wrong", "--json").error["code"] == (
        "wrong_passphrase"
    )
    assert cli("sign", "--passphrase-file", "../word").status == 0
    monkeypatch.setenv("BRAIN_SIGN_KEY", "safe")
    before = cli("show", "--json").document["snapshot"]
    told = cli("skill", "upsert", "x", "-d", "y", "--json")
    assert told.status == 1 and told.error["code"] == "passphrase_needed"
    assert cli("show", "--json").document["snapshot"] == before
    monkeypatch.setenv("BRAIN_PASSPHRASE_FILE", "../word")
    assert cli("skill", "upsert", "x", "-d", "y").status == 0
    assert len(cli("show", "--json").document["signatures"]) == 1


def answering(folder: Path, answer: str, *call: str) -> str:
    """Run the command line at a pseudo-terminal, answer each question, return what it showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *call], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
            if shown.endswith(b": "):
                os.write(ours, answer.encode() + b"\n")
    except OSError:
        pass  # Linux reports the end of a pseudo-terminal as EIO
    finally:
        os.close(ours)
    assert process.wait(timeout=TIMEOUT_SECONDS) in (0, 1)
    return shown.decode()


def test_a_person_is_asked_for_the_passphrase_which_is_not_shown(agent, cli):
    made = answering(agent, "open sesame", "key", "new", "--passphrase")
    assert "Passphrase: " in made and "sesame" not in made
    signed = answering(agent, "open sesame", "sign")
    assert "Passphrase of the key default: " in signed and " signed by ed25519:" in signed
    assert "does not open the private key" in answering(agent, "open barley", "sign", "@~1")
    assert len(cli("show", "--json").document["signatures"]) == 1


def test_a_file_without_a_passphrase_is_refused(agent, cli):
    write_secret(Path("../word"), "\n")
    told = cli("key", "new", "--passphrase-file", "../word", "--json")
    assert told.error["code"] == "no_passphrase"
    assert cli("key", "new", "--passphrase-file", "../none", "--json").error["code"] == (
        "no_such_file"
    )
    assert cli("key", "new", "--passphrase", "--json").error["code"] == "passphrase_needed"


def test_of_several_keys_one_has_to_be_named(agent, cli):
    new(cli, "ada", "bob")
    told = cli("sign", "--json")
    assert told.error["code"] == "which_key" and "ada, bob" in told.error["hint"]
    assert cli("sign", "--key", "carol", "--json").error["code"] == "no_key"
    assert cli("key", "new", "ada").status == 12
    assert cli("key", "new", "../ada", "--json").error["code"] == "bad_name"


def test_a_key_that_others_may_read_does_not_sign(agent, cli, keys):
    new(cli, "ada")
    (keys / "ada.pem").chmod(0o644)
    assert cli("sign", "--json").error["code"] == "unsafe_key_file"


def test_the_keys_are_with_the_settings_of_the_user(agent, process):
    home = agent.parent / "home"
    home.mkdir()
    env = environment(HOME=str(home), XDG_CONFIG_HOME=str(home / "config"), BRAIN_KEYS="")
    told = process("key", "new", "--json", env=env)
    assert told.status == 0 and Path(told.document["path"]).is_relative_to(home)
    assert stat.S_IMODE(Path(told.document["path"]).parent.stat().st_mode) == 0o700


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
    for call in ("skill upsert one -d x", "skill delete one", "restore @~1", "merge @~1"):
        told = cli(*call.split(), "--json")
        if call == "merge @~1":  # it records nothing
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
    assert "sign.key  -  (not set)" in cli("config", "sign").out
    assert cli("config", "sign", "ada").out.endswith("\nsign.key  ada\n")
    assert warnings(cli, "skill", "upsert", "one", "-d", "x") == []
    assert codes(cli, "--root", "ada") == set()
    assert "signs new snapshots" in cli("key", "list").out
    assert cli("config", "--unset", "sign").status == 0
    assert len(warnings(cli, "skill", "delete", "one")) == 1
    assert settings_of(cli, "sign") == {}


def test_the_variable_takes_precedence_and_an_empty_one_turns_signing_off(
    trusted, cli, monkeypatch
):
    new(cli, "eve")
    cli("config", "sign", "eve")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    assert warnings(cli, "skill", "upsert", "one", "-d", "x") == []
    assert "sign.key  ada  (BRAIN_SIGN_KEY)" in cli("config", "sign").out
    monkeypatch.setenv("BRAIN_SIGN_KEY", "")
    learn(cli, "two", "text")
    assert cli("show", "--json").document["signatures"] == []


def test_only_a_key_that_exists_can_be_configured(agent, cli):
    refused = cli("config", "sign", "nobody", "--json")
    assert (refused.status, refused.error["code"]) == (1, "no_key")


def test_with_damaged_settings_nothing_is_written_and_all_is_shown(agent, cli, tmp_path):
    new(cli, "ada")
    cli("config", "sign", "ada")
    (tmp_path / "config.toml").write_text("[sign\n")
    refused = cli("skill", "upsert", "one", "-d", "x", "--json")
    assert (refused.status, refused.error["code"]) == (1, "bad_settings")
    assert "config.toml: it is not TOML" in refused.error["message"]
    for call in (["index"], ["status"], ["log"], ["verify"]):
        assert cli(*call).status == 0
    (tmp_path / "config.toml").unlink()
    assert cli("skill", "upsert", "one", "-d", "x").status == 0


@pytest.fixture
def without_bob(agent, cli, keys):
    """The keys of ada and bob, whom the brain trusts; bob's is on another machine."""
    ada, bob = new(cli, "ada", "bob")
    for name in ("ada", "bob"):
        assert cli("key", "trust", name, "--as", name, "--key", "ada").status == 0
    (keys / "bob.pem").unlink()
    return ada, bob


def test_a_stolen_key_is_revoked_by_its_name_in_the_trust_file(without_bob, cli):
    told = cli("key", "revoke", "bob", "--reason", "stolen", "--json")
    assert told.status == 0 and told.document["key"] == without_bob[1]
    assert "revoked: stolen" in cli("key", "list").out
    assert cli("key", "revoke", "carl", "--reason", "stolen", "--json").error["code"] == "no_key"


def test_a_name_of_two_keys_revokes_neither(without_bob, cli):
    (mine,) = new(cli, "bob")
    told = cli("key", "revoke", "bob", "--reason", "stolen", "--key", "ada", "--json")
    assert told.status == 1 and told.error["code"] == "which_key"
    assert mine in told.error["message"] and without_bob[1] in told.error["message"]


def test_a_name_that_only_the_brain_gives_is_no_root_key(without_bob, cli, keys):
    ada, _ = without_bob
    (keys / "ada.pem").unlink()
    assert cli("verify", "--root", "ada").status == 0  # pinned, when the trust file was made
    Path(os.environ["BRAIN_ROOTS"]).unlink()
    for call in (["verify", "--root", "ada"], ["key", "roots", "--add", "ada"]):
        told = cli(*call, "--json")
        assert (told.status, told.error["code"]) == (1, "no_key")
        assert ada in told.error["message"]
    assert cli("verify", "--root", ada).status == 0
    assert cli("key", "roots", "--remove", "ada").status == 0


def test_whoever_has_signed_is_not_asked_again(agent, cli):
    new(cli, "ada", "bob")
    for name in ("ada", "bob"):
        cli("key", "trust", name, "--as", name, "--key", "ada")
    cli("key", "trust", "--threshold", "2", "--key", "ada")
    cli("sign", "--key", "bob")
    learn(cli)
    assert cli("sign", "--key", "ada").status == 0
    assert "run `brain sign --key bob`" in cli("status").out
    told = cli("verify")
    assert told.status == 3 and "--key bob" in told.err and "--key ada" not in told.err
