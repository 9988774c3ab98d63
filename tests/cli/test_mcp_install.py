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
from brain_cli.clients import json_editor, mcp_clients, toml_yaml_editor
from brain_cli.clients.json_editor import parse_json_nodes
from brain_cli.commands.mcp import MCP_CLIENTS
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


def test_the_entry_keeps_the_budget_and_the_proposal(agent, cli):
    options = ("--approve", "--proposal", "team", "--budget", "500")
    told = cli("mcp", "install", "cursor", *options, "--json")
    assert told.document["entry"]["args"][-6:] == ["mcp", *options]
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
    assert cli("mcp", "install", client, "--read-only", "--force").status == 0
    assert load(file.read_text())[key]["brain"]["args"][-1] == "--read-only"


OTHERS = {
    ".json": '{\n  // mine\n  "KEY": {\n    "x": {"command": "x"}, // x\n'
    '    "brain": {"command": "mine", "env": {"A": "hush"}}\n  },\n  "z": 1\n}\n',
    ".toml": '# mine\n[KEY.x]\ncommand = "x"\n\n[KEY.brain]\ncommand = "mine"\n'
    '[KEY.brain.env]\nA = "hush"\n\n# then\n[z]\n',
    ".yaml": "# mine\nKEY:\n  x: {command: x}  # x\n  brain:\n    command: mine\n"
    "    env: {A: hush}\n\n# then\nz: 1\n",
}


@pytest.mark.parametrize(("client", "place", "key", "_load"), PLACES)
def test_another_entry_of_that_name_is_replaced_only_if_asked_for(
    agent, cli, client, place, key, _load
):
    file = home(*place)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(OTHERS[file.suffix].replace("KEY", key))
    file.chmod(0o640)
    before = file.read_bytes()
    for options in ((), ("--dry-run",)):
        told = cli("mcp", "install", client, *options, "--json")
        assert told.status == 12 and told.error["code"] == "entry_differs"
        assert 'command is "mine", not "' in told.error["message"]
        assert "it has no args; env would be lost" in told.error["message"]
        assert "hush" not in told.error["message"] and "--force" in told.error["hint"]
        assert file.read_bytes() == before
    assert cli("mcp", "install", client, "--name", "second").status == 0
    both = file.read_text()
    assert all(line in both for line in before.decode().splitlines())
    file.write_bytes(before)
    assert cli("mcp", "install", client, "--force").status == 0
    after = file.read_text()
    remarks = re.findall(r"(?:#|//) \w+", before.decode())
    assert remarks and all(remark in after for remark in remarks) and "hush" not in after
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
    monkeypatch.setattr(mcp_clients.sys, "platform", system)
    assert mcp_clients.settings_path(client, "user", machine) == machine / place


def test_claude_desktop_as_a_windows_package_has_settings_of_its_own(machine, monkeypatch):
    monkeypatch.setattr(mcp_clients.sys, "platform", "win32")
    packaged = machine / "local" / "Packages" / "Claude_1a" / "LocalCache" / "Roaming" / "Claude"
    packaged.mkdir(parents=True)
    usual = machine / "roaming" / "Claude"
    usual.mkdir(parents=True)
    name = "claude_desktop_config.json"
    for made, read in (("", packaged), (usual, usual), (packaged, packaged)):
        if made:
            (made / name).write_text("{}")
        assert mcp_clients.settings_path("claude-desktop", "user", machine) == read / name


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


@pytest.mark.parametrize("client", ["claude", "codex", "hermes"])
@pytest.mark.parametrize(
    "content", [b"{", b"[1", b"mcpServers = {", b"\xff\xfe", b"a: [", b'{"mcpServers": 3}\x00']
)
def test_a_file_that_cannot_be_read_is_left_alone(agent, cli, client, content):
    place = next(place for name, place, *_ in PLACES if name == client)
    file = home(*place)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    told = cli("mcp", "install", client, "--json")
    assert told.status == 1 and told.error["code"] == "bad_settings"
    assert file.read_bytes() == content
    assert cli("mcp", "install", client, "--print").status == 0


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


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "ü", 'a"b', "a.b"])
def test_a_name_that_some_client_would_not_take_is_refused(agent, cli, name):
    told = cli("mcp", "install", "claude", "--name", name)
    assert told.status == (0 if name == "" else 2)


# The edits themselves


@pytest.mark.parametrize(("before", "after"), CASES["test_json_gains_a_member_and_keeps_the_rest"])
def test_json_gains_a_member_and_keeps_the_rest(before, after):
    made = json_editor.set_json_entry(before, ("s",), "b", 1)  # type: ignore[arg-type]
    assert made == after
    assert parse_json_nodes(made).value["s"]["b"] == 1


def test_a_line_of_slashes_is_passed_over_at_once():
    made = json_editor.set_json_entry('{"s": {"x": 2\n' + "/" * 10_000 + "\n}}", ("s",), "b", {})
    assert parse_json_nodes(made).value == {"s": {"x": 2, "b": {}}}


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
            json_editor.set_json_entry(text, ("mcpServers",), "brain", ENTRY)
        return
    made = json_editor.set_json_entry(text, ("mcpServers",), "brain", ENTRY)
    wanted = {**settings, "mcpServers": {**settings.get("mcpServers", {}), "brain": ENTRY}}
    assert json.loads(made) == parse_json_nodes(made).value == wanted
    assert json_editor.set_json_entry(made, ("mcpServers",), "brain", ENTRY) == made


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "7",
        '{"s": []}',
        '{"a": 1, "a": 2}',
        '{"a": 1} x',
        "{a: 1}",
        "{'a': 1}",
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        '{"a": }',
        "[" * 5000,
        '{"a": NaN}',
        '{"a": "\n"}',
    ],
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError):
        json_editor.set_json_entry(text, ("s",), "b", {})


@pytest.mark.parametrize(("before", "after"), CASES["test_toml_gains_a_table_and_keeps_the_rest"])
def test_toml_gains_a_table_and_keeps_the_rest(before, after):
    assert toml_yaml_editor.set_toml_entry(before, ("s",), "b", {"command": "c"}) == after


@pytest.mark.parametrize("text", CASES["test_toml_in_another_form_is_refused"])
def test_toml_in_another_form_is_refused(text):
    with pytest.raises(ValueError):
        toml_yaml_editor.set_toml_entry(text, ("s",), "b", {"command": "c"})


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_command_is_read_back_from_toml_and_yaml(command, arguments):
    entry = {"command": command, "args": arguments}
    assert tomllib.loads(toml_yaml_editor.set_toml_entry("", ("s",), "b", entry))["s"]["b"] == entry
    try:
        text = toml_yaml_editor.set_yaml_entry("", ("s",), "b", entry)
    except ValueError:
        return  # characters that YAML does not hold
    assert yaml.safe_load(text)["s"]["b"] == entry


@pytest.mark.parametrize(("before", "after"), CASES["test_yaml_gains_an_entry_and_keeps_the_rest"])
def test_yaml_gains_an_entry_and_keeps_the_rest(before, after):
    assert toml_yaml_editor.set_yaml_entry(before, ("s",), "b", {"command": "c"}) == after


@pytest.mark.parametrize("text", ["s: [1]", "s: 1", "- 1", "a: &x 1\ns: *x", "s: {x: {a: 1}}", "{"])
def test_yaml_in_another_form_is_refused(text):
    with pytest.raises(ValueError):
        toml_yaml_editor.set_yaml_entry(text, ("s",), "b", {"command": "c"})


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


def test_another_entry_is_never_left_to_the_command_of_a_client(agent, cli, installed):
    home(".claude.json").write_text('{"mcpServers": {"brain": {"command": "mine"}}}')
    assert cli("mcp", "install", "claude").status == 12
    assert cli("mcp", "install", "claude", "--force").status == 0
    assert not installed.exists() and server_of(home(".claude.json"), "claude")["type"] == "stdio"
