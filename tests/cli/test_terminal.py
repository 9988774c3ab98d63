"""What a person at a terminal sees."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import environment
from tests.support.cases import read_cases

CASES = read_cases(__file__)

COMMAND_LINE = ("-m", "brain_cli")


def at_terminal(
    folder: Path,
    *call: str,
    program: tuple[str, ...] = COMMAND_LINE,
    typed: bytes = b"",
    **settings: str,
) -> str:
    """Run the command line at a pseudo-terminal and return what it showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", *program, *call],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM="xterm", COLUMNS="60", **settings),
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:
        pass  # Linux reports the end of a pseudo-terminal as EIO
    finally:
        os.close(ours)
    assert process.wait(timeout=60) in (0, 1, 2, 3)
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour(agent):
    assert "\x1b[33m" in at_terminal(agent, "log")
    assert "\x1b[31m" in at_terminal(agent, "nonsense")


@pytest.mark.parametrize("call", [["log"], ["nonsense"], ["status"]])
def test_no_color_is_obeyed_as_variable_and_as_option(agent, call):
    assert "\x1b" not in at_terminal(agent, *call, NO_COLOR="1")
    assert "\x1b" not in at_terminal(agent, "--no-color", *call)


def test_an_empty_no_color_is_as_if_it_were_not_there(agent):
    assert "\x1b[33m" in at_terminal(agent, "log", NO_COLOR="")


def test_a_long_line_is_cut_at_the_width(agent, cli):
    assert cli("skill", "upsert", "reentrancy", "-d", "word " * 60).status == 0
    lines = at_terminal(agent, "skill", "list", NO_COLOR="1").splitlines()
    assert max(map(len, lines)) == 60 and any(line.endswith("…") for line in lines)


def test_a_body_is_shown_with_its_control_characters_escaped(agent):
    (agent / "skills/reentrancy/SKILL.md").write_text(
        "---\nname: reentrancy\ndescription: x\nversion: 9\n---\nred \x1b[31mbody\n"
    )
    shown = at_terminal(agent, "--author", "ada", "snapshot") + at_terminal(
        agent, "skill", "view", "reentrancy", NO_COLOR="1"
    )
    assert "red \\x1b[31mbody" in shown and "red \x1b" not in shown


BAR = """
from brain_cli import terminal
from brain_cli.context import App
terminal.DELAY_SECONDS = {wait}
with terminal.ProgressBar(App(as_json={as_json})) as bar:
    bar("files hashed", 1, 0)
    bar("files hashed", 7, 9)
import sys
print("rich" in sys.modules)
"""


def test_long_work_shows_a_bar(tmp_path):
    shown = at_terminal(tmp_path, program=("-c", BAR.format(wait=0, as_json=False)))
    assert "files hashed" in shown and shown.endswith("True\n")


@pytest.mark.parametrize(("wait", "as_json"), [(60, False), (0, True)])
def test_short_work_and_json_show_no_bar(tmp_path, wait, as_json):
    shown = at_terminal(tmp_path, program=("-c", BAR.format(wait=wait, as_json=as_json)))
    assert shown == "False\n"


def test_json_at_a_terminal_is_indented(agent):
    assert at_terminal(agent, "index", "--json").startswith('{\n  "index"')


@pytest.mark.parametrize(
    ("call", "what"), CASES["test_what_waits_for_input_says_what_it_waits_for"]
)
def test_what_waits_for_input_says_what_it_waits_for(agent, call, what):
    shown = at_terminal(agent, *call, typed=b"x\n\x04", NO_COLOR="1")
    assert f"Reading {what} from standard input; end with Ctrl-D\n" in shown


def test_the_checker_of_evidence_and_the_server_say_it_too(agent):
    checker = ("-m", "brain.chain.check")
    assert "end with Ctrl-D\n" in at_terminal(agent, "-", program=checker, typed=b"x\n\x04")
    assert "Waiting for a client on standard input" in at_terminal(agent, "mcp", typed=b"\x04")


def test_a_pipe_is_read_without_a_word(agent, process):
    told = process("skill", "upsert", "oracle", "-f", "-", cwd=agent, input=b"Check it.\n")
    assert told.status == 0 and "Reading" not in told.err


PAGER = f'{sys.executable} -c \'import sys; print("<" + sys.stdin.read() + ">")\''


@pytest.mark.parametrize(
    "call", [["log"], ["diff"], ["show"], ["grep", "Body"], ["blame", "reentrancy"]]
)
def test_output_to_read_is_shown_in_the_pager(agent, call):
    shown = at_terminal(agent, *call, BRAIN_PAGER=PAGER)
    assert shown.startswith("<") and shown.endswith(">\n")
    assert at_terminal(agent, "status", BRAIN_PAGER=PAGER).startswith("On main")


def test_the_pager_is_chosen_by_the_user_and_can_be_turned_off(agent):
    other = PAGER.replace("<", "[")
    assert at_terminal(agent, "log", BRAIN_PAGER=PAGER, PAGER=other).startswith("<")
    plain = at_terminal(agent, "log", BRAIN_PAGER="")
    for settings in ("cat", "", "no-such-program-here", "'"):
        assert at_terminal(agent, "log", BRAIN_PAGER=settings, PAGER=other) == plain
    assert at_terminal(agent, "--no-pager", "log", BRAIN_PAGER=PAGER) == plain
    assert at_terminal(agent, "log", "--json", BRAIN_PAGER=PAGER).startswith("{")


def test_the_pager_gets_colour_and_the_width_of_the_terminal(agent):
    assert "\x1b[33m" in at_terminal(agent, "log", BRAIN_PAGER=PAGER)
    assert "\x1b" not in at_terminal(agent, "log", BRAIN_PAGER=PAGER, NO_COLOR="1")


def test_leaving_the_pager_early_is_no_error(agent):
    leave = f"{sys.executable} -c 'print(1)'"
    (agent / "memory/long.md").write_text("line\n" * 100_000)
    assert at_terminal(agent, "diff", "--patch", BRAIN_PAGER=leave) == "1\n"


def test_an_error_is_printed_after_the_pager(agent):
    shown = at_terminal(agent, "show", "no-such", BRAIN_PAGER=PAGER, NO_COLOR="1")
    assert shown.startswith("<>\nError: 'no-such' is not a revision")
