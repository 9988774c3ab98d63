"""Pipes that close, disks that are full, encodings that hold little (cli-03, cli-06)."""

import json
import subprocess

import pytest

from tests.cli.conftest import COMMAND, environment
from tests.support.cases import read_cases
from tests.support.processes import TIMEOUT_SECONDS

CASES = read_cases(__file__)

NAME = "Überprüfung der Orakel 價格"


@pytest.fixture
def foreign(agent, cli):
    """A brain with a skill whose name and description are far from ASCII."""
    assert cli("skill", "upsert", NAME, "-d", "→ ▸ 🔮 価格").status == 0
    return agent


@pytest.mark.parametrize("settings", CASES["test_any_text_prints_in_any_encoding"], ids=str)
@pytest.mark.parametrize(
    "call", [["index"], ["skill", "list"], ["log"], ["prompt"], ["diff", "@~1", "@"]]
)
def test_any_text_prints_in_any_encoding(foreign, process, settings, call):
    told = process(*call, cwd=foreign, env=environment(**settings))
    assert (told.status, told.err) == (0, "")
    assert told.out


def test_ornaments_become_ascii_where_nothing_else_fits(foreign, process):
    told = process("index", cwd=foreign, env=environment(PYTHONIOENCODING="ascii"))
    assert "> oracle-manipulation: About oracle-manipulation" in told.out
    assert "-> > \\U0001f52e" in told.out


def test_json_is_ascii_in_any_encoding(foreign, process):
    ascii_only = environment(PYTHONIOENCODING="ascii")
    told = process("skill", "list", "--json", cwd=foreign, env=ascii_only)
    descriptions = [skill["description"] for skill in json.loads(told.out)["skills"]]
    assert "→ ▸ 🔮 価格" in descriptions


def test_an_error_prints_in_ascii(tmp_path, process):
    told = process("-C", "価格", "status", env=environment(PYTHONIOENCODING="ascii"))
    assert told.status == 10 and "\\u4fa1\\u683c" in told.err


@pytest.mark.parametrize("call", [["log"], ["index"], ["--help"], ["--version"], ["log", "--json"]])
def test_a_reader_that_leaves_ends_the_command_quietly(agent, call):
    process = subprocess.Popen(
        [*COMMAND, *call], cwd=agent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=TIMEOUT_SECONDS) == 141
    process.stderr.close()


@pytest.mark.parametrize("call", [["log"], ["index"], ["--help"], ["--version"], ["log", "--json"]])
def test_a_full_disk_behind_the_output_is_an_error(agent, call):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *call], cwd=agent, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr and b"Traceback" not in done.stderr


def test_a_closed_output_is_an_error(agent):
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "log"],
        cwd=agent,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "Error: standard output is closed\n")


def test_a_snapshot_with_all_streams_closed_stays_whole(agent, cli):
    (agent / "memory/more.md").write_text("more\n")
    closed = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *COMMAND, "snapshot"]
    assert subprocess.run(closed, cwd=agent, check=False).returncode == 1
    assert cli("verify", "--deep").status == 0
    assert cli("status", "--json").document["clean"]


def test_colour_is_for_terminals_only(agent, cli):
    for call in (["log"], ["diff", "@~1", "@"], ["status"], ["nonsense"]):
        told = cli(*call)
        assert "\x1b" not in told.out + told.err
