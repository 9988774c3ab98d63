"""What docs/mcp.md says is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from brain_cli.clients.entering import entry_of, snippet
from brain_cli.clients.places import CLIENTS
from brain_cli.commands.mcp_serve import command

from brain.serve.mcp import crowds, framing, guard, messages, server
from brain.serve.tools import TOOLS


@pytest.fixture
def text(project: Path) -> str:
    return (project / "docs/mcp.md").read_text("utf-8")


def test_every_tool_option_and_client_is_named(text: str) -> None:
    options = [word for option in command.params for word in option.opts if word.startswith("--")]
    for name in (*(tool.name for tool in TOOLS), *options, *CLIENTS):
        assert f"`{name}" in text or f" {name}" in text, name


def test_the_entry_of_a_project_is_the_one_that_is_shown(text: str, tmp_path: Path) -> None:
    found = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert found
    client = CLIENTS["claude"]
    entry = entry_of(client, tmp_path, tmp_path, [])
    assert snippet(client, "brain", entry) == found[1]
    assert json.loads(found[1])["mcpServers"]["brain"] == entry


def test_the_limits_are_those_of_the_code(text: str) -> None:
    for words in (
        f"{messages.MAX_BYTES >> 20} MB a message",
        f"{framing.HEAD_BYTES >> 10} kB a head",
        f"{framing.HEAD_SECONDS:.0f} s for a head",
        f"{guard.BODY_SECONDS:.0f} s for a body",
        f"{crowds.MAX_CONNECTIONS} connections",
        f"{server.LISTENERS} listeners",
        f"{messages.MAX_DEPTH} levels deep",
    ):
        assert words in text, words
    assert re.search(rf"{crowds.MAX_SESSIONS}\s+sessions", text)
