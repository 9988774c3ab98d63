"""What docs/tools.md shows is what happens."""

import os
import re
import subprocess
import sys
from typing import Any

import pytest

from brain.serve.tools import TOOLS


@pytest.fixture
def document(project):
    return (project / "docs/tools.md").read_text("utf-8")


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)


def test_the_examples_run_one_after_the_other(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks(document, "python"):
        exec(compile(block, "docs/tools.md", "exec"), names)
    names["brain"].close()
    (console,) = blocks(document, "console")
    program = f"{sys.executable} -m brain_cli"
    for call, expected in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", console, re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", call.replace("brain tools", f"{program} tools")],
            cwd=tmp_path / "agent",
            capture_output=True,
            check=True,
            env=os.environ,
        )
        assert done.stdout.decode() == expected and done.stderr == b""
    assert (tmp_path / "agent/tools.json").read_text("utf-8").startswith("[")


def test_the_table_has_every_tool_with_its_parameters(document):
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", document, re.MULTILINE)
    assert {name: set(re.findall(r"`(\w+)`", shown)) for name, shown in rows} == {
        tool.name: set(tool.parameters["properties"]) for tool in TOOLS
    }
