"""What docs/guides/agents.md says is so."""

import json
import re

import pytest
from brain_cli.commands.mcp import MCP_CLIENTS, mcp_serve_command
from brain_cli.settings.client_settings import entry_snippet, fill_entry, server_command

from brain.clients.client_table import load_clients
from brain.serve.mcp import http, mcp_server, stdio
from brain.serve.tools import TOOLS


@pytest.fixture
def text(project):
    return (project / "docs/guides/agents.md").read_text("utf-8")


def test_every_tool_option_and_client_is_named(text):
    options = [
        word
        for option in mcp_serve_command().params
        for word in option.opts
        if word.startswith("--") and not getattr(option, "hidden", False)
    ]
    for name in (*(tool.name for tool in TOOLS), *options, *MCP_CLIENTS):
        assert f"`{name}" in text or f" {name}" in text, name


def test_the_entry_of_a_project_is_the_one_that_is_shown(text, tmp_path):
    found = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert found
    client = load_clients()["claude"].mcp
    assert client
    entry = fill_entry(client.entry, "brain", server_command(client, tmp_path, tmp_path, []))
    assert entry_snippet(client, "brain", entry) == found[1]
    assert json.loads(found[1])["mcpServers"]["brain"] == entry


def test_the_limits_are_those_of_the_code(text):
    for words in (
        f"{stdio.MAX_MESSAGE_BYTES >> 20} MB a message",
        f"{http.MAX_HEAD_BYTES >> 10} kB a head",
        f"{http.MAX_CONNECTIONS} connections",
        f"{mcp_server.MAX_LISTENERS} listeners",
    ):
        assert words in text, words
    assert re.search(rf"{http.MAX_SESSIONS}\s+sessions", text)
