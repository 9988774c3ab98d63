"""The protocol's own inspector, another implementation of it, finds everything it looks for."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brain.serve.tools.programs import list_built_in_tools
from tests.support.mcp_peers import BRAIN_COMMAND, HttpServer
from tests.support.processes import TIMEOUT_SECONDS

PROGRAM = Path(sys.prefix) / "node" / "node_modules" / ".bin" / "mcp-inspector"
"""Where `make test` installs it."""

CONNECT_MS = str(int(1000 * TIMEOUT_SECONDS))
"""A server that starts on a busy machine takes longer than the 15 s of the program."""


def inspect(*words: str) -> Any:
    """Run the inspector; return what it prints."""
    if not PROGRAM.exists() or shutil.which("node") is None:
        pytest.skip("the inspector is not installed; `make test` installs it")
    done = subprocess.run(
        [str(PROGRAM), "--cli", "--quiet", "--connect-timeout", CONNECT_MS, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_over_pipes_it_lists_the_tools_and_finds_their_schemas_portable(folder):
    target = (*BRAIN_COMMAND, "-C", str(folder), "mcp")
    found = inspect(*("--protocol-era", "modern", "--method", "tools/list", "--strict"), *target)
    assert [tool["name"] for tool in found["tools"]] == [
        tool.name for tool in list_built_in_tools()
    ]


def test_over_pipes_it_calls_a_tool_and_reads_what_came_of_it(folder):
    target = (*BRAIN_COMMAND, "-C", str(folder), "mcp")
    given = {"action": "create", "name": "Fuzz", "content": "F.", "description": "Fuzz it"}
    call = ("--method", "tools/call", "--tool-name", "skill_manage")
    found = inspect(*target, *call, "--tool-args-json", json.dumps(given))
    assert found["isError"] is False
    assert (folder / "skills/fuzz/SKILL.md").is_file()


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_over_http_it_reads_resources_and_the_prompt(folder, era):
    with HttpServer(folder) as served:
        target = (
            *("--server-url", served.url, "--transport", "http", "--protocol-era", era),
            *("--header", f"Authorization: Bearer {served.token}"),
        )
        found = inspect(*target, "--method", "resources/list")
        assert [row["uri"] for row in found["resources"]] == [
            "brain://index",
            "brain://skills/oracle",
        ]
        uri = "brain://skills/oracle/versions/1"
        (content,) = inspect(*target, "--method", "resources/read", "--uri", uri)["contents"]
        assert "One." in content["text"]
        found = inspect(*target, "--method", "prompts/get", "--prompt-name", "system")
        assert "You are an auditor." in found["messages"][0]["content"]["text"]
