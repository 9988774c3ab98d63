"""A brain is entered in the settings of clients, and nothing else in them changes."""

import json
import os
import re
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from brain_cli.commands.mcp import MCP_CLIENTS
from brain_cli.settings import client_settings
from brain_cli.settings.client_settings import set_json
from brain_cli.settings.toml_lines import set_toml
from hypothesis import given
from hypothesis import strategies as st

from brain.clients.client_table import load_clients
from tests.support.cases import read_cases

CASES = read_cases(__file__)

ENTRY = {"command": "/opt/brain", "args": ["-C", '/a "b"\\ü', "mcp"]}


def home(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


@pytest.fixture(autouse=True)
def no_client(monkeypatch, tmp_path):
    """Leave no client on the PATH; return the folder that is it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    return programs


PLACES: list[tuple[str, tuple[str, ...], str, Any]] = [
    ("claude", (".claude.json",), "mcpServers", json.loads),
    ("codex", (".codex", "config.toml"), "mcp_servers", tomllib.loads),
    ("cursor", (".cursor", "mcp.json"), "mcpServers", json.loads),
    ("vscode", (".config", "Code", "User", "mcp.json"), "servers", json.loads),
    ("hermes", (".hermes", "config.yaml"), "mcp_servers", yaml.safe_load),
]


def test_the_entry_keeps_the_mode_and_the_proposal(agent, cli):
    options = ("--approve", "--proposal", "team")
    told = cli("mcp", "install", "cursor", *options, "--json")
    assert told.document["entry"]["args"][-4:] == ["mcp", *options]
    refused = cli("mcp", "install", "cursor", "--proposal", "team")
    assert refused.status == 2 and "--proposal requires --approve" in refused.err


@pytest.mark.parametrize(("client", "place", "key", "load"), PLACES)
def test_a_client_is_set_up_where_it_looks(agent, cli, client, place, key, load):
    told = cli("mcp", "install", client, "--approve", "--json")
    file = home(*place)
    assert told.document["path"] == str(file) and told.document["changed"] is True
    entry = load(file.read_text())[key]["brain"]
    assert entry == told.document["entry"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-4:] == ["-C", str(agent.resolve()), "mcp", "--approve"]
    assert entry.get("type", "stdio") == "stdio"
    before = file.read_bytes()
    again = cli("mcp", "install", client, "--approve", "--json")
    assert again.document["changed"] is False and file.read_bytes() == before
    if file.suffix != ".yaml":
        assert cli("connect", client, "--read-only", "--force").status == 0
        assert load(file.read_text())[key]["brain"]["args"][-1] == "--read-only"


OTHERS = {
    ".json": '{\n  "KEY": {\n    "x": {"command": "x"},\n'
    '    "brain": {"command": "mine", "env": {"A": "hush"}}\n  },\n  "z" : 1\n}\n',
    ".toml": '# mine\n[KEY.x]\ncommand = "x"\n\n[KEY.brain] # this\ncommand = "mine"\n'
    'env = {A = "hush"} # but\n\n# then\n[z]\n',
}
EDITED = [row for row in PLACES if row[0] != "hermes"]


@pytest.mark.parametrize(("client", "place", "key", "_load"), EDITED)
def test_another_entry_of_that_name_is_replaced_only_if_asked_for(
    agent, cli, client, place, key, _load
):
    file = home(*place)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(OTHERS[file.suffix].replace("KEY", key))
    file.chmod(0o640)
    before = file.read_bytes()
    for options in ((), ("--dry-run",)):
        refused = cli("mcp", "install", client, *options, "--json")
        assert refused.status == 12 and refused.error["code"] == "entry_differs"
        assert "differs in" in refused.error["message"] and "env" in refused.error["message"]
        assert "hush" not in refused.error["message"] and "--force" in refused.error["hint"]
        assert file.read_bytes() == before
    assert cli("mcp", "install", client, "--name", "second").status == 0
    both = file.read_text()
    assert all(line in both for line in before.decode().splitlines())
    file.write_bytes(before)
    assert cli("mcp", "install", client, "--force").status == 0
    after = file.read_text()
    assert all(remark in after for remark in re.findall(r"# (?:mine|this|then)", before.decode()))
    assert "hush" not in after and "x" in _load(after)[key]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert cli("mcp", "install", client, "--json").document["changed"] is False


@pytest.mark.parametrize(
    ("client", "place", "here"), CASES["test_settings_of_a_project_name_nothing_of_this_machine"]
)
def test_settings_of_a_project_name_nothing_of_this_machine(agent, cli, client, place, here):
    entry = cli("mcp", "install", client, "--scope", "project", "--json").document["entry"]
    assert (entry["command"], entry["args"]) == ("brain", ["-C", here, "mcp"])
    text = (agent / place).read_text()
    assert str(agent) not in text and str(Path.home()) not in text


def test_a_brain_below_the_project_is_named_from_there(folder, cli, monkeypatch):
    assert cli("init", "agents/auditor").status == 0
    for client, place in (
        ("claude", "agents/auditor"),
        ("vscode", "${workspaceFolder}/agents/auditor"),
    ):
        told = cli(
            *("-C", "agents/auditor", "mcp", "install", client, "--scope", "project", "--json")
        )
        assert told.document["entry"]["args"] == ["-C", place, "mcp"]


def test_one_elsewhere_is_named_in_full(agent, cli, tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    told = cli("-C", str(agent), "mcp", "install", "claude", "--scope", "project", "--json")
    assert str(agent.resolve()) in told.document["entry"]["args"]


def test_hermes_has_no_settings_of_a_project(agent, cli):
    told = cli("mcp", "install", "hermes", "--scope", "project", "--json")
    assert told.status == 1 and told.error["code"] == "no_scope"


@pytest.mark.parametrize(
    ("client", "variable", "file"), CASES["test_a_home_that_a_variable_names_is_used"]
)
def test_a_home_that_a_variable_names_is_used(
    agent, cli, tmp_path, monkeypatch, client, variable, file
):
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    assert cli("mcp", "install", client).status == 0
    assert (tmp_path / "elsewhere" / file).is_file()


@pytest.mark.parametrize(("client", "system", "place"), CASES["test_each_system_has_its_place"])
def test_each_system_has_its_place(machine, monkeypatch, client, system, place):
    monkeypatch.setattr(client_settings.sys, "platform", system)
    assert user_settings_of(client, machine) == machine / place


def test_claude_desktop_as_a_windows_package_has_settings_of_its_own(machine, monkeypatch):
    monkeypatch.setattr(client_settings.sys, "platform", "win32")
    packaged = machine / "local" / "Packages" / "Claude_1a" / "LocalCache" / "Roaming" / "Claude"
    packaged.mkdir(parents=True)
    usual = machine / "roaming" / "Claude"
    usual.mkdir(parents=True)
    name = "claude_desktop_config.json"
    for made, read in (("", packaged), (usual, usual), (packaged, packaged)):
        if made:
            (made / name).write_text("{}")
        assert user_settings_of("claude-desktop", machine) == read / name


def user_settings_of(client: str, folder: Path) -> Path:
    row = load_clients()[client]
    assert row.mcp
    return client_settings.settings_path(row, row.mcp, "user", folder)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Point the variables for folders below `tmp_path`."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    folders = {"XDG_CONFIG_HOME": "xdg", "APPDATA": "roaming", "LOCALAPPDATA": "local"}
    for variable, folder in folders.items():
        monkeypatch.setenv(variable, str(tmp_path / folder))
    return tmp_path


def test_what_the_server_lacks_is_said_before_a_client_cannot_start_it(agent, cli, monkeypatch):
    assert cli("mcp", "install", "claude").err == ""
    monkeypatch.setitem(sys.modules, "mcp", None)
    told = cli("mcp", "install", "codex")
    assert told.status == 0 and home(".codex", "config.toml").is_file()
    assert told.err.startswith("Note: serving agents needs the package mcp")
    assert "pip install 'agent-brain[serve]'" in told.err


def test_a_dry_run_and_a_print_write_nothing(agent, cli):
    for option in ("--dry-run", "--print"):
        for client, place, *_ in PLACES:
            out = cli("mcp", "install", client, option).out
            assert "mcp" in out and not home(*place).exists()


def refused(agent, cli, client: str, file: Path) -> str:
    """Install where settings cannot be edited: they stay, and the entry is printed; return why."""
    before = file.read_bytes() if file.is_file() else b""
    shown = cli("mcp", "install", client, "--json")
    assert shown.status == 1 and shown.document["changed"] is False
    lines = cli("mcp", "install", client)
    assert lines.status == 1 and lines.out == shown.document["text"]
    assert lines.err.startswith(f"{file} was not changed: ") and str(agent.resolve()) in lines.out
    assert (file.read_bytes() if file.is_file() else b"") == before
    assert cli("mcp", "install", client, "--print").out == lines.out
    return str(shown.document["problem"])


@pytest.mark.parametrize("client", ["claude", "codex", "hermes"])
@pytest.mark.parametrize(
    "content",
    [
        *(b"{", b"[1", b"mcpServers = {", b"\xff\xfe", b"a: [", b'{"mcpServers": 3}\x00'),
        *(b"[" * 5000, b"7", b"[]", b'{"mcpServers": []}\nmcp_servers = 1'),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone_and_the_entry_printed(
    agent, cli, client, content
):
    place = next(place for name, place, *_ in PLACES if name == client)
    file = home(*place)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    assert refused(agent, cli, client, file)


UNEDITED = [
    ("zed", (".config", "zed", "settings.json"), '{\n  // mine\n  "theme": "x",\n}\n', "line 2"),
    ("vscode", (".config", "Code", "User", "mcp.json"), '{"servers": {}, /* x */}', "line 1"),
    ("cursor", (".cursor", "mcp.json"), '{"mcpServers": [1]}', "mcpServers has another form"),
    ("hermes", (".hermes", "config.yaml"), "model: x # mine\n", "it is YAML"),
    ("goose", (".config", "goose", "config.yaml"), "extensions:\n  a: {}\n", "it is YAML"),
    ("codex", (".codex", "config.toml"), "mcp_servers = {x = {command = '1'}}\n", "safely"),
]


@pytest.mark.parametrize(("client", "place", "text", "why"), UNEDITED)
def test_settings_that_cannot_be_edited_safely_stay_as_they_are(
    agent, cli, client, place, text, why
):
    file = home(*place)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    assert why in refused(agent, cli, client, file)


def test_an_entry_that_was_pasted_into_yaml_is_seen(agent, cli):
    file = home(".hermes", "config.yaml")
    file.parent.mkdir()
    file.write_text("model: x # mine\n")
    file.write_text(file.read_text() + cli("mcp", "install", "hermes").out)
    assert cli("mcp", "install", "hermes").out == f"{file} already has this entry\n"
    assert cli("mcp", "install", "hermes", "--approve", "--json").error["code"] == "entry_differs"


def test_what_is_no_file_of_the_user_is_not_replaced(agent, cli, monkeypatch):
    file = home(".cursor", "mcp.json")
    file.parent.mkdir()
    os.mkfifo(file)
    assert refused(agent, cli, "cursor", file) == "it is not a regular file"
    file.unlink()
    file.symlink_to(file)
    assert cli("mcp", "install", "cursor").status == 1 and file.is_symlink()
    file.unlink()
    file.write_text("{}")
    monkeypatch.setattr(client_settings.os, "geteuid", lambda: os.getuid() + 1)
    assert refused(agent, cli, "cursor", file) == "it belongs to another user"


def test_rights_and_links_stay(agent, cli, tmp_path):
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text('{"a": 1}')
    target.chmod(0o600)
    os.symlink(target, home(".claude.json"))
    assert cli("mcp", "install", "claude").status == 0
    assert home(".claude.json").is_symlink()
    assert "brain" in json.loads(target.read_text())["mcpServers"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [file.name for file in target.parent.iterdir()] == ["claude.json"]


def test_a_link_out_of_a_project_is_not_followed(agent, cli, tmp_path, installed):
    target = tmp_path / "settings.json"
    target.write_text("{}")
    (agent / ".mcp.json").symlink_to(target)
    (agent / ".cursor").symlink_to(tmp_path)
    (agent / ".vscode").symlink_to(agent / ".vscode")
    assert cli("mcp", "install", "vscode", "--scope", "project", "--json").error["code"]
    for client in ("claude", "cursor"):
        refused = cli("mcp", "install", client, "--scope", "project", "--json")
        assert refused.status == 1
        assert refused.document["problem"] == "it is a link out of the project"
    assert target.read_text() == "{}" and not (tmp_path / "mcp.json").exists()
    assert not installed.exists()


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "ü", 'a"b', "a.b"])
def test_a_name_that_some_client_would_not_take_is_refused(agent, cli, name):
    told = cli("mcp", "install", "claude", "--name", name)
    assert told.status == (0 if name == "" else 2)


# The edits themselves


@pytest.mark.parametrize(("before", "after"), CASES["test_json_gains_a_member_and_keeps_the_rest"])
def test_json_gains_a_member_and_keeps_the_rest(before, after):
    made = set_json(before, ("s", "b"), 1)
    assert made == after
    assert json.loads(made)["s"]["b"] == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    settings=st.dictionaries(st.text(), JSON, max_size=4),
    servers=st.none() | st.dictionaries(st.text() | st.just("brain"), JSON, max_size=3),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    ascii_only=st.booleans(),
)
def test_any_json_is_the_same_but_for_the_entry(settings, servers, indent, ascii_only):
    if servers is not None:
        settings = {**settings, "mcpServers": servers}
    text = json.dumps(settings, indent=indent, ensure_ascii=ascii_only)
    if not isinstance(settings.get("mcpServers", {}), dict):
        with pytest.raises(ValueError, match="not an object"):
            set_json(text, ("mcpServers", "brain"), ENTRY)
        return
    made = set_json(text, ("mcpServers", "brain"), ENTRY)
    wanted = {**settings, "mcpServers": {**settings.get("mcpServers", {}), "brain": ENTRY}}
    assert json.loads(made) == wanted
    if "brain" not in (servers or {}):
        at = next(at for at in range(len(made) + 1) if made[at : at + 1] != text[at : at + 1])
        assert made.endswith(text[at:])
    assert json.loads(set_json(made, ("mcpServers", "brain"), ENTRY)) == wanted


@pytest.mark.parametrize(("before", "after"), CASES["test_toml_gains_a_table_and_keeps_the_rest"])
def test_toml_gains_a_table_and_keeps_the_rest(before, after):
    assert set_toml(before, ("s", "b"), {"command": "c", "args": None}) == after


@pytest.mark.parametrize("text", CASES["test_toml_in_another_form_is_refused"])
def test_toml_in_another_form_is_refused(text):
    with pytest.raises(ValueError):
        set_toml(text, ("s", "b"), {"command": "c"})


TOML_LINES = [
    *("# one\n", "\n", "[s]\n", "[s.b] # b\n", "[t]\r\n", '"a.b" = 1 # "x\n', "[s.b.c]\n"),
    *("z = [\n  [1],\n  [2]\n]\n", 'm = """\n[s.b]\nz = 2\n"""\n', "b = 1\n", "command = 2 # c"),
]


@given(st.lists(st.sampled_from(TOML_LINES), max_size=9), st.none() | st.text(), st.booleans())
def test_any_toml_is_the_same_but_for_the_field(lines, command, has_end):
    text = "".join(lines) + ("\n" if has_end else "")
    try:
        before = tomllib.loads(text)
        made = set_toml(text, ("s", "b"), {"command": command})
    except ValueError:
        return  # not TOML, or in a form that lines cannot change
    after = tomllib.loads(made)
    found = after.get("s", {}).get("b", {})
    assert found.pop("command", None) == command
    before.get("s", {}).get("b", {}).pop("command", None)
    assert without_empty(after) == without_empty(before)
    assert all(line.strip() in made for line in lines if line.startswith(("#", "z", "m", '"')))


def without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: below for key, each in value.items() if (below := without_empty(each)) != {}}


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_command_is_read_back_from_toml(command, arguments):
    entry = {"command": command, "args": arguments}
    assert tomllib.loads(set_toml("", ("s", "b"), entry)) == {"s": {"b": entry}}


def server_of(file: Path, client: str, name: str = "brain") -> Any:
    """Return the entry in a settings file of a client."""
    settings = load_clients()[client].mcp
    assert settings
    load = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
    found = load[settings.file_format](file.read_text())
    for key in (*settings.servers, name):
        found = found[key]
    return found


def test_the_clients_are_those_of_the_table():
    assert tuple(name for name, row in load_clients().items() if row.mcp) == MCP_CLIENTS


@pytest.mark.parametrize("client", MCP_CLIENTS)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_each_client_of_the_table_gets_an_entry_of_its_form_once(agent, cli, client, scope):
    told = cli("mcp", "install", client, "--scope", scope, "--name", "mine", "--json")
    settings = load_clients()[client].mcp
    assert settings
    if scope == "project" and not settings.project:
        assert told.error["code"] == "no_scope"
        return
    entry = server_of(Path(told.document["path"]), client, "mine")
    assert entry == told.document["entry"] and told.document["command"] is None
    assert entry.keys() == settings.entry.keys()
    words = json.dumps(entry).replace("${workspaceFolder}", "")
    assert '"mcp"' in words and "{name}" not in words and "{command}" not in words
    again = cli("mcp", "install", client, "--scope", scope, "--name", "mine", "--json")
    assert again.document["changed"] is False


CLAUDE = """#!/bin/sh
echo "$@" > {log}
cat > {file} <<'END'
{{"mcpServers": {{"brain": {{
    "type": "stdio", "command": "{program}", "args": [{words}], "env": {{}}
}}}}}}
END
"""


def make_program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.fixture
def installed(agent, cli, no_client, monkeypatch):
    """Install a program that adds a server as Claude Code does; return what it was called with."""
    monkeypatch.setenv("PATH", f"{no_client}:/usr/bin:/bin")
    entry = cli("mcp", "install", "claude", "--dry-run", "--json").document["entry"]
    log = no_client / "log"
    words = ", ".join(map(json.dumps, entry["args"]))
    text = CLAUDE.format(log=log, file=home(".claude.json"), program=entry["command"], words=words)
    make_program(no_client, "claude", text)
    return log


def test_the_own_command_of_a_client_is_preferred_and_named(agent, cli, installed):
    dry = cli("mcp", "install", "claude", "--dry-run")
    assert dry.out.startswith("Would add with `claude mcp add --scope user brain -- ")
    assert not installed.exists()
    told = cli("mcp", "install", "claude")
    assert told.out.startswith("Added with `claude mcp add --scope user brain -- ")
    assert installed.read_text().startswith("mcp add --scope user brain -- /")
    assert "env" in server_of(home(".claude.json"), "claude")  # as the client wrote it
    again = cli("mcp", "install", "claude", "--json")
    assert again.document["changed"] is False


@pytest.mark.parametrize("text", ["#!/bin/sh\necho no luck >&2\nexit 3\n", "#!/bin/sh\nexit 0\n"])
def test_a_client_whose_command_fails_gets_its_file_changed(
    agent, cli, no_client, monkeypatch, text
):
    monkeypatch.setenv("PATH", f"{no_client}:/usr/bin:/bin")
    make_program(no_client, "codex", text)
    told = cli("mcp", "install", "codex")
    assert told.status == 0 and told.out.startswith(f"Added to {home('.codex', 'config.toml')}")
    assert "codex mcp add brain -- " in told.err and " failed: " in told.err
    assert server_of(home(".codex", "config.toml"), "codex")["args"][-1] == "mcp"


def test_vs_code_gets_the_entry_with_its_name_in_it(agent, cli, no_client, monkeypatch):
    monkeypatch.setenv("PATH", f"{no_client}:/usr/bin:/bin")
    log = no_client / "log"
    make_program(no_client, "code", f'#!/bin/sh\nprintf "%s\\n" "$@" > {log}\n')
    entry = cli("mcp", "install", "vscode", "--json").document["entry"]
    option, given = log.read_text().splitlines()
    assert option == "--add-mcp" and json.loads(given) == {"name": "brain", **entry}


def test_the_own_command_of_a_client_may_edit_what_is_not_edited_here(
    agent, cli, no_client, monkeypatch
):
    monkeypatch.setenv("PATH", f"{no_client}:/usr/bin:/bin")
    file = home(".config", "opencode", "opencode.jsonc")
    file.parent.mkdir(parents=True)
    file.write_text("{ // mine\n}\n")
    make_program(no_client, "opencode", f"#!/bin/sh\necho '{{\"brain\": 1}} // it' > {file}\n")
    assert cli("mcp", "install", "opencode").out.startswith("Added with `opencode mcp add brain")
    assert "differ" not in refused(agent, cli, "opencode", file)  # it may have another "brain"


def test_another_entry_is_never_left_to_the_command_of_a_client(agent, cli, installed):
    home(".claude.json").write_text('{"mcpServers": {"brain": {"command": "mine"}}}')
    assert cli("mcp", "install", "claude").status == 12
    assert cli("mcp", "install", "claude", "--force").status == 0
    assert not installed.exists() and server_of(home(".claude.json"), "claude")["type"] == "stdio"
