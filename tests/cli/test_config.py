"""`brain config`: one file for all settings, of which every other byte stays."""

import os
import tomllib

import pytest
from brain_cli.commands.config import SettingType
from brain_cli.settings import config_file

from tests.support.user_settings import configure, settings_of

MINE = """# mine
[model] # it
  name = 'openai:small'   # the "small" one
timeout =  90

# of the team
[ledger."base"]
rpc = [ # nodes
  "https://one.example.org/key",
]
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "config.toml"


def test_all_settings_are_shown_with_where_each_comes_from(cli, file, monkeypatch):
    file.write_text(MINE)
    monkeypatch.setenv("BRAIN_EXPERIENCE_URL", "postgresql://u:hush@h/db")
    shown = cli("config", "--json").document
    rows = {row["key"]: (row["value"], row["source"], row["variable"]) for row in shown["settings"]}
    assert rows["model.name"] == ("openai:small", "file", None)
    assert rows["model.retries"] == (2, "default", None)
    assert rows["model.base-url"] == (None, None, None)
    assert rows["experience.url"] == ("postgresql db on h", "environment", "BRAIN_EXPERIENCE_URL")
    assert rows["ledger.base.rpc"] == (["one.example.org"], "file", None)
    known = {key.replace("*", "base") for key in config_file.SETTINGS}
    assert rows.keys() <= known and {key for key in known if key[:6] != "ledger"} <= rows.keys()
    lines = cli("config").out
    assert lines.startswith(f"Settings in {file}\nsign.key ") and "hush" not in lines


def test_a_change_keeps_every_other_byte(cli, file):
    file.write_text(MINE)
    assert cli("config", "model.timeout", "30").status == 0
    assert file.read_text() == MINE.replace("timeout =  90", "timeout = 30")
    assert cli("config", "model.retries", "1").status == 0
    assert cli("config", "model", "openai:large").status == 0
    changed = file.read_text()
    assert 'name = "openai:large"   # the "small" one\n' in changed and "retries = 1" in changed
    assert cli("config", "--unset", "model").status == 0
    left = file.read_text()
    assert left == "# mine\n\n# of the team\n" + MINE.split("# of the team\n")[1]
    assert cli("config", "--unset", "ledger.base").status == 0
    assert tomllib.loads(file.read_text()) == {}


def test_every_setting_is_written_read_and_removed(agent, cli, file):
    values = {
        "model.name": "openai:x",
        "model.base-url": "http://localhost:1/v1",
        "model.price-in": "0.25",
        "model.price-out": "1",
        "embedder.name": "small",
        "embedder.base-url": "http://localhost:1/v1",
        "experience.url": "postgresql:///db",
        "ledger.far.chain-id": "5",
        "ledger.far.genesis": "0x" + "5" * 64,
        "ledger.far.rpc": "http://127.0.0.1:1",
        "ledger.far.contract": "0x" + "5" * 40,
        "ledger.far.creator": "0x" + "5" * 40,
        "ledger.far.account": "0x" + "5" * 40,
        "ledger.far.finality": "safe",
        "ledger.far.max-fee-gwei": "0.5",
    }
    assert cli("key", "new", "ada").status == 0
    values["sign.key"] = "ada"
    for key in (key.replace("*", "far") for key in config_file.SETTINGS):
        if key not in values:
            values[key] = str(file.parent / "none") if key.endswith(("-file", "store")) else "1"
    for key, value in values.items():
        told = cli("config", key, value)
        assert told.status == 0, (key, told.err)
    for key, value in values.items():
        (row,) = cli("config", key, "--json").document["settings"]
        shown = row["value"][0] if isinstance(row["value"], list) else str(row["value"])
        assert shown in value or key == "experience.url", key
        assert row["source"] == "file"
    for key in reversed(values):
        told = cli("config", "--unset", key)
        assert told.status == 0 or told.err.startswith(f"Error: {key} is not set"), (key, told.err)
    assert tomllib.loads(file.read_text()) == {}


@pytest.mark.parametrize(
    "text",
    [
        "[modle]\nname = 'openai:x'",
        "[model]\nkey = 'openai:x'",
        "[model]\nname = 1",
        "[model]\ntimeout = true",
        "[sign]\nkey = []",
        "[sign.more]\nkey = 'a'",
        "model = 1",
        "ledger = 1",
        "[ledger]\nbase = 1",
        "[ledger.Base]\nrpc = 'http://x'",
        "[ledger.base]\nrpc = [1]",
        "a = [",
        '{"format": "brain v1 ledgers"}',
    ],
)
def test_what_the_file_cannot_mean_is_refused_by_name_and_left_alone(cli, file, text):
    file.write_text(text)
    for call in (["config"], ["config", "sign", "--json"], ["config", "experience.url", "x:y"]):
        refused = cli(*call)
        assert refused.status == 1 and str(file) in refused.err
    assert file.read_text() == text


@pytest.mark.parametrize("content", [b"\xff", b"#" * (1 << 21)])
def test_a_file_that_is_no_text_is_refused(cli, file, content):
    file.write_bytes(content)
    assert cli("config", "--json").error["code"] == "bad_settings"


def test_a_form_that_lines_cannot_change_is_left_alone(cli, file):
    file.write_text("model = {name = 'openai:x'} # mine\n")
    assert settings_of(cli, "model")["name"] == "openai:x"
    refused = cli("config", "model.timeout", "5", "--json")
    assert refused.error["code"] == "bad_settings" and "safely" in refused.error["message"]
    assert file.read_text() == "model = {name = 'openai:x'} # mine\n"


def test_a_file_of_an_earlier_version_is_refused_by_name(cli, file):
    old = file.with_name("signing.json")
    old.write_text('{"format": "brain v1 signing", "key": "ada"}')
    refused = cli("config", "--json")
    assert refused.error["code"] == "bad_settings" and str(old) in refused.error["message"]
    assert "brain config KEY VALUE" in refused.error["hint"]
    old.unlink()
    assert cli("config").status == 0


def test_a_link_stays_a_link(cli, file, tmp_path):
    target = tmp_path / "dotfiles" / "brain.toml"
    target.parent.mkdir()
    file.symlink_to(target)
    configure(cli, "model", "openai:x")
    assert file.is_symlink() and "openai:x" in target.read_text()
    file.unlink()
    file.symlink_to(file)
    assert cli("config", "model", "openai:x").status == 1 and file.is_symlink()


def test_a_file_of_another_user_is_not_replaced(cli, file, monkeypatch):
    file.write_text(MINE)
    monkeypatch.setattr(config_file.os, "geteuid", lambda: os.getuid() + 1)
    refused = cli("config", "model.timeout", "5", "--json")
    assert refused.error["code"] == "bad_settings"
    assert "another user" in refused.error["message"] and file.read_text() == MINE


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (["list"], "'brain config'"),
        (["remove", "base"], "'brain config --unset ledger.NAME'"),
        (["ledger", "base"], "'ledger.NAME.rpc'"),
        (["model", "openai:x", "--key-file", "k"], "brain config model.key-file VALUE"),
        (["ledger", "base", "--rpc", "http://x"], "brain config ledger.NAME.rpc VALUE"),
        (["sign", "--off"], "--unset"),
        (["modle.name"], "'model.name'"),
        (["ledger.base.rcp"], "There is no setting"),
        (["ledger.base.rpc.x"], "There is no setting"),
        (["model.name", "a", "b"], "takes one VALUE"),
        (["ledger.base", "x"], "ledger.base.rpc"),
        (["sign", ""], "--unset removes"),
        (["sign", "ada", "--unset"], "cannot be combined"),
        (["--unset"], "requires a KEY"),
    ],
)
def test_what_is_no_setting_and_what_was_a_command_is_answered_with_what_to_type(cli, call, hint):
    refused = cli("config", *call)
    assert refused.status == 2 and hint in refused.err


@pytest.mark.parametrize("name", ["local", "all", "Base", "a--b", "x" * 41])
def test_a_ledger_has_a_name_that_others_take(cli, name):
    assert cli("config", f"ledger.{name}.rpc", "http://x", "--json").error["code"] == "bad_ledger"


def test_a_shell_completes_keys_and_those_of_ledgers_there_are(cli, file):
    file.write_text(MINE)
    complete = SettingType().shell_complete
    found = [item.value for item in complete(None, None, "ledger.base.m")]  # type: ignore[arg-type]
    assert found == ["ledger.base.max-fee-gwei", "ledger.base.max-cost-wei"]
    assert {item.value for item in complete(None, None, "model.t")} == {  # type: ignore[arg-type]
        "model.timeout",
        "model.tool-rounds",
    }
