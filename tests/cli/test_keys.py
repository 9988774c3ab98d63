"""Keys of one's own: where they are, who may read them, and what opens them."""

import os
import pty
import stat
import subprocess
from pathlib import Path

from tests.cli.conftest import COMMAND, environment
from tests.cli.test_trust_commands import new
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.secret_files import write_secret


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
