"""Each console session of the pages runs as it is shown.

A page is one session in an empty home: its console blocks run in order. What a reader does
besides stands in comments of the page: `<!-- sh` has commands, `<!-- agent NAME OPTIONS` has
calls of tools, which an agent of that name makes over MCP.

Of the output, ids stand for themselves all through a page, dates and `…` for anything, and a
line `…` for any lines. A command ends with status 0, or with the one its comment names.
"""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import Implementation

PROJECT = Path(__file__).parents[2]
PIECES = re.compile(r"^<!-- (sh|agent[^\n]*)\n(.*?)^-->$|^```(console)\n(.*?)^```$", re.M | re.S)
SANDBOXED = ("docs/guides/learning.md", "docs/guides/programs.md")
PAGES = [
    path.relative_to(PROJECT).as_posix()
    for folder in ("start", "guides", "concepts")
    for path in sorted(PROJECT.glob(f"docs/{folder}/*.md"))
    if "```console\n" in path.read_text("utf-8")
]
TOKEN = re.compile(r"\b[0-9a-f]{6,64}\b|\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\dZ)?)?\b|…")


class Session:
    """A home, a folder where the reader stands, and the ids that the page shows."""

    def __init__(self, home: Path) -> None:
        (home / "bin").mkdir(parents=True)
        command = home / "bin/brain"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m brain_cli "$@"\n')
        command.chmod(0o755)
        self.home, self.folder, self.ids = home, str(home), dict[str, str]()
        self.environment = {
            **{name: os.environ[name] for name in ("TMPDIR", "LANG") if name in os.environ},
            "HOME": str(home),
            "PATH": f"{home}/bin:/usr/bin:/bin",
            "COLUMNS": "100",
            "BRAIN_AUTHOR": "ada",
            "PYTHONWARNINGS": "error",
        }

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        command = TOKEN.sub(lambda found: self.ids.get(found[0], found[0]), command)
        where = self.home / "bin/.where"
        done = subprocess.run(
            ["/bin/sh", "-c", f"{command}\nstatus=$?; pwd > '{where}'; exit $status"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.folder = where.read_text().strip()
        return done

    def show(self, block: str) -> None:
        """Run the commands of a block, and compare what they print."""
        for call in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = call.replace("\\\n", " ").partition("\n")
            done = self.run(command)
            status = re.search(r"#.*\bstatus (\d+)", command)
            assert done.returncode == (int(status[1]) if status else 0), (command, done.stderr)
            printed = [
                text.replace(str(self.home), "/home/ada") for text in (done.stdout, done.stderr)
            ]
            told = [[line.rstrip() for line in text.splitlines()] for text in printed]
            if not self.match(shown.splitlines(), *told):
                pytest.fail(
                    "\n".join(["$ " + command, *told[0], "-- on standard error:", *told[1]])
                )

    def match(self, shown: list[str], out: list[str], errors: list[str]) -> bool:
        """Tell whether the lines are those of both streams, each in its order."""
        if not shown:
            return not out and not errors
        head, *rest = shown
        if head == "…":
            return (
                self.match(rest, out, errors)
                or bool(out and self.match(shown, out[1:], errors))
                or bool(errors and self.match(shown, out, errors[1:]))
            )
        for stream, left in ((out, (out[1:], errors)), (errors, (out, errors[1:]))):
            before = dict(self.ids)
            if stream and self.is_line(head, stream[0]) and self.match(rest, *left):
                return True
            self.ids = before
        return False

    def is_line(self, shown: str, printed: str) -> bool:
        tokens = TOKEN.findall(shown)
        parts = [re.escape(part) for part in TOKEN.split(shown)]
        pattern = parts[0]
        for token, part in zip(tokens, parts[1:], strict=True):
            one = ".*" if token == "…" else TOKEN.pattern.rpartition("|")[0]
            pattern += f"({one}){part}"
        found = re.fullmatch(pattern, printed)
        for token, value in zip(tokens, found.groups() if found else (), strict=False):
            if "-" not in token and token != "…":
                known = self.ids.setdefault(token, value)
                if not (known.startswith(value) or value.startswith(known)):
                    return False
        return found is not None

    def call(self, agent: str, calls: str) -> None:
        """Have an agent call tools over MCP, each with a line `TOOL JSON`."""
        name, *options = shlex.split(agent)
        server = StdioServerParameters(
            command=sys.executable,
            args=["-P", "-m", "brain_cli", "-C", self.folder, "mcp", *options],
            env=self.environment,
        )

        async def talk() -> None:
            async with Client(server, client_info=Implementation(name=name, version="1")) as client:
                for line in calls.splitlines():
                    tool, _, given = line.partition(" ")
                    told = await client.call_tool(tool, json.loads(given))
                    assert not told.is_error, told

        asyncio.run(talk())


def test_sessions_stand_only_in_pages_that_are_run():
    assert {"docs/start/claude-code.md"} <= set(PAGES)
    shown = [
        path.relative_to(PROJECT).as_posix()
        for path in PROJECT.glob("docs/**/*.md")
        if re.search(r"^```console\n|^\$ ", path.read_text("utf-8"), re.M)
    ]
    assert sorted(shown) == sorted(PAGES)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.sandbox] if name in SANDBOXED else [])
        for name in PAGES
    ],
)
def test_a_page_prints_what_it_shows(name, tmp_path):
    session = Session(tmp_path / "home")
    for kind, hidden, console, block in PIECES.findall((PROJECT / name).read_text("utf-8")):
        if console:
            session.show(block)
        elif kind == "sh":
            done = session.run(hidden)
            assert done.returncode == 0, (hidden, done.stderr)
        else:
            session.call(kind.removeprefix("agent "), hidden)


@pytest.mark.parametrize(
    "block",
    [
        "$ echo one\ntwo\n",
        "$ echo one\n",
        "$ echo one\none\none\n",
        "$ false\n",
        "$ true  # status 1\n",
        "$ echo 111111; echo 222222\n111111\n333333\n$ echo 222222\n111111\n",
    ],
)
def test_a_session_that_prints_something_else_is_found(block, tmp_path):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        Session(tmp_path / "home").show(block)


def test_ids_of_a_session_stand_for_themselves_and_dates_for_any(tmp_path):
    printed = "echo abcdef1234 2026-11-22 22:09; echo bcdef12345 and more"
    shown = "abcdef9999 2020-01-01 00:00\nbcdef99999 …\n$ test abcdef9999 = abcdef1234\n"
    Session(tmp_path / "home").show(f"$ {printed}\n{shown}")
