"""What commands print, and where."""

import datetime
import json
import math
import os
import re
import resource
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from brain_cli.command import LazyGroup
from brain_cli.commands.look import GraphLanes
from brain_cli.invocation import PROGRAM_NAME, root_group
from brain_cli.output import to_json
from brain_cli.render.human_format import local_time
from hypothesis import given
from hypothesis import strategies as st

from brain.util.utc_time import utc_time
from tests.cli.conftest import validate


class Pair(NamedTuple):
    from_: str | None
    time: datetime.datetime


def test_a_named_tuple_becomes_an_object_with_its_field_names():
    assert to_json(Pair(None, utc_time(0))) == {"from": None, "time": "1970-01-01T00:00:00.000Z"}


def test_a_time_is_iso_8601_in_utc_with_milliseconds():
    assert to_json(utc_time(1_795_216_540_123)) == "2026-11-20T23:15:40.123Z"
    assert to_json(utc_time(253_402_300_799_999)) == "9999-12-31T23:59:59.999Z"


def test_a_time_at_the_end_of_the_year_9999_is_printed_in_every_zone(monkeypatch):
    monkeypatch.setenv("TZ", "Etc/GMT-14")
    time.tzset()
    try:
        assert local_time(utc_time(253_402_300_799_999)) == "9999-12-31 23:59"
        assert local_time(utc_time(0)) == "1970-01-01 14:00"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_mapping_keeps_its_own_keys_and_times():
    assert to_json({"time": 5, "from_": 1}) == {"time": 5, "from_": 1}


def test_what_yaml_knows_and_json_does_not_becomes_text():
    odd = {
        "nan": math.nan,
        "inf": -math.inf,
        "day": datetime.date(2026, 11, 20),
        "bytes": b"\xff",
        "set": {1},
        3: "key",
        "huge": 1 << 80,
    }
    assert to_json(odd) == {
        "nan": "nan",
        "inf": "-inf",
        "day": "2026-11-20",
        "bytes": "b'\\xff'",
        "set": [1],
        "3": "key",
        "huge": hex(1 << 80),
    }


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(st.characters(exclude_categories=())) | st.integers(), inner)
        | st.builds(Pair, inner, st.integers(0, 253_402_300_799_999))
    ),
)


@given(VALUES)
def test_any_value_becomes_json_that_every_reader_takes(value):
    text = json.dumps(to_json(value), allow_nan=False)
    text.encode("ascii")
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")


COMMAND = [sys.executable, "-B", "-m", "brain_cli", "-C", "agent", "prove"]
COMMAND += ["skills/reentrancy/SKILL.md", "-o"]
"""-B: bytecode would be cut off, too."""


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def write(name: str, folder: Path, *, limited: bool = False) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit_files if limited else None,
    )


def test_a_file_that_cannot_be_written_whole_keeps_its_content(agent, tmp_path):
    file = tmp_path / "input.json"
    file.write_text("what was there")
    done = write("input.json", tmp_path, limited=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ") and "Traceback" not in done.stderr
    assert file.read_text() == "what was there"
    assert not [name for name in os.listdir(tmp_path) if "input" in name and name != "input.json"]


def test_a_file_keeps_its_mode_and_a_link_leads_to_it(agent, tmp_path):
    file = tmp_path / "input.json"
    file.write_text("what was there")
    file.chmod(0o640)
    (tmp_path / "link").symlink_to("input.json")
    assert write("link", tmp_path).returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert file.read_text().startswith("{")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_standard_output_and_pipes_are_written_to(agent, tmp_path):
    done = write("/dev/stdout", tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("{") and "brain v1 proof" in done.stdout
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        assert write("pipe", tmp_path).returncode == 0
        assert reader.stdout is not None
        assert reader.stdout.read().startswith("{")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_brain_alone_shows_the_status_and_three_hints(agent, cli):
    shown = cli()
    assert shown.status == 0
    assert shown.out == cli("status").out
    assert [line.split("  ")[1] for line in shown.err.splitlines()] == [
        "brain skill list",
        "brain log",
        "brain --help",
    ]
    Path("memory/more.md").write_text("more\n")
    shown = cli()
    assert shown.out.endswith("A memory/more.md\n") and "  brain snapshot  record" in shown.err


def test_brain_alone_outside_of_a_brain_says_how_to_begin(folder, cli):
    shown = cli()
    assert (shown.status, shown.out) == (0, "")
    assert shown.err.startswith("There is no brain here.\n  brain init")
    assert len(shown.err.splitlines()) == 4


def test_brain_alone_with_json_is_the_status(agent, cli, folder):
    shown = cli("--json")
    validate("status", shown.document)
    assert shown.err == ""


def test_brain_alone_with_json_outside_of_a_brain_is_an_error(folder, cli):
    assert (cli("--json").status, cli("--json").error["code"]) == (10, "no_brain")
    assert cli("-C", ".").status == 10


def test_brain_alone_during_a_merge_says_how_to_end_it(agent, cli):
    cli("branch", "idea")
    for name in ("main", "idea"):
        cli("switch", name)
        Path("memory/notes.md").write_text(f"{name}\n")
        cli("snapshot")
    cli("switch", "main")
    assert cli("merge", "idea").status == 12
    assert "brain merge --continue" in cli().err


Graph = list[tuple[str, list[str]]]


def draw(graph: Graph) -> str:
    lanes = GraphLanes()
    rows = []
    for name, parents in graph:
        row, below = lanes.add_snapshot(name, parents)
        rows += [f"{row} {name}", *below]
    return "\n".join(rows)


def test_a_line_is_a_column_of_stars():
    assert draw([("c", ["b"]), ("b", ["a"]), ("a", [])]) == "* c\n* b\n* a"


def test_a_merge_opens_a_lane_and_the_common_ancestor_closes_it():
    graph = [("m", ["b", "c"]), ("c", ["a"]), ("b", ["a"]), ("a", [])]
    assert draw(graph) == "* m\n|\\\n| * c\n* | b\n|/\n* a"


def test_two_heads_without_a_merge_meet_at_their_ancestor():
    assert draw([("x", ["a"]), ("y", ["a"]), ("a", [])]) == "* x\n| * y\n|/\n* a"


def test_a_lane_that_ends_lets_the_others_move_left():
    graph = [("m", ["b", "c"]), ("b", []), ("c", [])]
    assert draw(graph) == "* m\n|\\\n* | b\n /\n* c"


def test_three_parents_open_two_lanes():
    graph: Graph = [("m", ["a", "b", "c"]), ("a", []), ("b", []), ("c", [])]
    assert draw(graph).split("\n")[:4] == ["* m", "|\\", "| |\\", "* | | a"]


def test_lines_that_cross_are_drawn_as_a_cross():
    graph: Graph = [("e", ["c", "d"]), ("d", ["a"]), ("c", ["a", "b"]), ("b", ["a"]), ("a", [])]
    assert draw(graph) == "* e\n|\\\n| * d\n* | c\n|X\n| * b\n|/\n* a"


@st.composite
def graphs(pick: st.DrawFn) -> Graph:
    """Draw graphs whose nodes name later nodes as parents."""
    size = pick(st.integers(1, 12))
    return [
        (str(at), sorted(pick(st.sets(st.sampled_from(later), max_size=3))) if later else [])
        for at, later in ((at, [str(n) for n in range(at + 1, size)]) for at in range(size))
    ]


@given(graphs())
def test_every_snapshot_has_exactly_one_star(graph):
    drawing = draw(graph).split("\n")
    stars = [row for row in drawing if "*" in row]
    assert [row.split()[-1] for row in stars] == [name for name, _ in graph]
    assert all(row.count("*") == 1 for row in stars)


PROJECT = Path(__file__).parents[2]
PAGES = ("docs/*.md", "docs/[!f]*/*.md")  # not the formats
DOCUMENTS = [PROJECT / "README.md", *sorted(page for one in PAGES for page in PROJECT.glob(one))]
PLACEHOLDER = re.compile(r"[…\[\]<>]")
INLINE_COMMAND = re.compile(r"`brain ([^`]*)`")


def fenced_commands(text: str) -> Iterator[str]:
    """Yield the command lines of all code blocks, without prompts, comments and pipes."""
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        prompt = r"\$ " if "$ brain" in block else ""
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(
                rf"{prompt}(brain [-a-z]\S*(?: \S.*)?)$", re.split(r"\s[#|>]\s?", line)[0]
            )
            if found:
                yield found[1].strip()


def parse_command(line: str) -> None:
    """Parse a command line as `brain` does, without running it."""
    arguments = shlex.split(line)[1:]
    context = root_group.make_context(PROGRAM_NAME, arguments)
    command: click.Command = root_group
    while isinstance(command, LazyGroup):
        arguments = [*context._protected_args, *context.args]
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        command, context = found, found.make_context(name, arguments, parent=context)


COMMANDS = sorted(
    (path.name, line)
    for path in DOCUMENTS
    for line in set(fenced_commands(path.read_text("utf-8")))
    if not PLACEHOLDER.search(line)
)


def test_the_documents_have_command_lines():
    assert len([name for name, _ in COMMANDS if name == "README.md"]) >= 10
    assert len(COMMANDS) > 90


@pytest.mark.parametrize(("document", "line"), COMMANDS, ids=[line for _, line in COMMANDS])
def test_a_command_line_of_a_document_parses(document, line):
    parse_command(line)


def find_unknown_word(words: list[str]) -> str:
    """Return the first word that is neither a command nor an option of that command, or ""."""
    command: click.Command = root_group
    options: set[str] = set()
    for word in ["", *words]:
        if word == "--":
            break
        if word.startswith("--") and word != "--help":
            if word.partition("=")[0].rstrip(",.;:") not in options:
                return word
            continue
        if word and isinstance(command, LazyGroup) and re.fullmatch(r"[a-z][a-z-]*", word):
            child = command.get_command(click.Context(command), word)
            if child is None:
                return word
            command = child
        options.update(name for param in command.params for name in param.opts)
    return ""


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path.name != "FORMAT.md"], ids=lambda path: path.name
)
def test_a_command_within_a_sentence_exists_with_its_options(path):
    lines = [
        re.sub(r"^mcp(?= --)", "mcp serve", line)  # the command that `brain mcp` runs
        for line in INLINE_COMMAND.findall(path.read_text("utf-8"))
    ]
    assert [line for line in lines if find_unknown_word(re.split(r"[\s\[\]|]+", line))] == []


@pytest.mark.parametrize(
    "line", ["index --limit 3", "accuse", "key accuse X", "skill upsert --no-such X", "lineage"]
)
def test_a_command_or_option_that_is_gone_is_found(line):
    assert find_unknown_word(line.split())


ODD, SHOWN = "a\x1b[2J\nb", "a\\x1b[2J\\nb"


@pytest.mark.parametrize(
    "words",
    [
        ("skill", "view", ODD),
        ("show", ODD),
        ("branch", "idea", ODD),
        ("branch", ODD),
        ("restore", "@", ODD),
        ("tag", "--delete", ODD),
        ("snapshot", "--strict", ODD),
        ("proposal", "show", ODD),
        ("show", "--run", ODD),
    ],
)
def test_foreign_text_in_an_error_is_escaped_once(cli, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    cli("init")
    (tmp_path / ODD).write_text("x")
    told, text = cli(*words, "--json"), cli(*words).err
    assert told.status != 0 and SHOWN in told.error["message"]
    assert told.error["message"].isprintable() and SHOWN in text and "\x1b" not in text
    assert "\\\\" not in told.error["message"] + text
