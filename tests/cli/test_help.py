"""Help, words, errors and completion."""

import ast
import errno
import inspect
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from brain_cli import error_report
from brain_cli.command import EXIT_MEANINGS, BrainCommand, LazyGroup
from brain_cli.error_report import NOT_ADMITTED, describe_error, print_error
from brain_cli.invocation import root_group
from brain_cli.render import changes, human_format
from brain_cli.terminal import Terminated

from brain import errors as library
from brain.errors import error_from_os
from brain.results import MergedSkill, PathChange, SkillChange, Upserted
from tests import reference
from tests.cli.conftest import environment, validate


def commands(
    group: LazyGroup = root_group, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Name every command as the words one types."""
    for name in group.entries:
        child = group.get_command(click.Context(group), name)
        if isinstance(child, LazyGroup):
            yield from commands(child, (*path, name))
        yield (*path, name)


def find(path: tuple[str, ...]) -> click.Command:
    found: click.Command = root_group
    for name in path:
        assert isinstance(found, LazyGroup)
        child = found.get_command(click.Context(found), name)
        assert child is not None
        found = child
    return found


ALL = list(commands())
LEAVES = [path for path in ALL if isinstance(find(path), BrainCommand)]


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_the_summary_in_the_list_is_the_first_line_of_the_help(path):
    parent = find(path[:-1])
    assert isinstance(parent, LazyGroup)
    first = inspect.cleandoc(find(path).help or "").split("\n")[0]
    assert first == parent.entries[path[-1]][1]
    assert first.endswith(".") and len(first) <= 60


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_a_command_shows_an_example_and_its_exit_statuses(path, cli):
    told = cli(*path, "--help")
    assert told.status == 0 and told.err == ""
    examples = told.out.split("Examples:\n")[1].split("\n\n")[0]
    assert f"brain {' '.join(path)}" in re.sub(r" (-C|--json) \S+", "", examples)
    statuses = told.out.split("Exit status:\n")[1]
    listed = [int(number) for number in re.findall(r"^  (\d+) ", statuses, re.MULTILINE)]
    assert listed == sorted(listed) and {0, 1, 2, 130} <= set(listed) <= set(EXIT_MEANINGS)


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_an_example_is_a_call_that_parses(path):
    command = find(path)
    assert isinstance(command, BrainCommand)
    for example in command.examples:
        call = re.search(r"brain (?:-C \S+ )?" + " ".join(path) + r"([^|>)]*)", example)
        assert call, example
        words = shlex.split(call[1].replace('"$', "").rstrip('"') if "$(" in example else call[1])
        command.make_context(path[-1], [word for word in words if word != "--json"])


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_prints_in_every_encoding(path, cli):
    assert cli(*path, "-h").out.isascii()


@pytest.mark.parametrize("path", [(), *(path for path in ALL if path not in LEAVES)], ids=" ".join)
def test_the_help_of_a_group_is_one_screen(path, cli):
    lines = cli(*path, "--help").out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    group = find(path)
    assert isinstance(group, LazyGroup)
    for option in group.params:
        assert f"  {option.opts[0]}" in "\n".join(lines)


def raised_statuses(source: str) -> Iterator[tuple[str, int]]:
    """Yield the codes of the errors that a module raises, where they are written out."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        kind = getattr(library, node.func.id, None)
        if isinstance(kind, type) and issubclass(kind, library.BrainError):
            code = given.get("code", ast.Constant(kind.code))
            if isinstance(code, ast.Constant):
                yield str(code.value), kind.exit_status
        elif node.func.id == "Failure" and node.args:
            status = given.get("status", node.args[3] if len(node.args) > 3 else None)
            for part in ast.walk(node.args[0]):
                if isinstance(part, ast.Constant):
                    yield str(part.value), getattr(error_report, getattr(status, "id", ""), 1)


def test_the_page_of_errors_has_codes_with_the_statuses_that_they_are_raised_with(project):
    page = (project / "docs/errors.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)
    files = [*project.glob("brain/**/*.py"), *project.glob("cli/**/*.py")]
    sources = [file.read_text("utf-8") for file in files]
    raised = {row for source in sources for row in raised_statuses(source)}
    seen = {code for code, _ in raised}
    for code, status in rows:
        assert any(f'"{code}"' in source for source in sources), code
        # Commands give 13 to codes of the library; tables give some codes to errors of the system.
        assert (code, int(status)) in raised or int(status) == NOT_ADMITTED or code not in seen
    others = set(re.findall(r"`((?:no|ambiguous|bad|nothing)_[a-z_]+)`", page))
    assert others - {"no_space"} <= seen
    listed = re.findall(r"^\| (\d+)(?:,| \|)", page, re.MULTILINE)
    assert set(map(int, listed)) == set(EXIT_MEANINGS)
    assert len(rows) == len(dict(rows)) <= 60


def test_the_reference_has_every_command_and_every_type_that_it_names(tmp_path):
    reference.main([str(tmp_path / "docs")])
    headings = set(re.findall(r"^## (.+)$", (tmp_path / "docs/cli.md").read_text(), re.MULTILINE))
    listed = {" ".join(path) for path in ALL}
    assert headings == {"brain", *(f"brain {path}" for path in listed)}
    page = (tmp_path / "docs/json.md").read_text()
    types = {name.lower() for name in re.findall(r"^## (\w+)$", page, re.MULTILINE)}
    assert len(types) > 50 and types >= set(re.findall(r"\(#(\w+)\)", page))


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        ("skill revert csv --to 1", "brain restore SKILL@VERSION"),
        ("skill history csv", "brain log SKILL"),
        ("skill similar csv", "check"),
        ("op log", "log --ops"),
        ("receipt show", "show --run"),
        ("ancestry @~1", "prove --ancestor"),
        ("check-proof proof.json", "verify FILE"),
    ],
)
def test_a_word_of_an_earlier_command_names_the_one_of_today(call, meant, cli):
    told = cli(*call.split())
    assert told.status == 2 and meant in told.err.split("Did you mean")[1]


@pytest.mark.parametrize(
    "call", ["log --skill csv", "grep x --rev @", "blame csv --rev @", "fork d --rev @"]
)
def test_an_option_that_is_an_argument_now_is_said_to_be_one(call, agent, cli):
    told = cli(*call.split())
    assert told.status == 2 and "is now an argument: brain" in told.err


def test_a_group_without_a_command_and_a_list_shows_its_commands(cli):
    told = cli("evolve", "task")
    assert told.status == 2 and "check" in told.err


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (SkillChange("a-b", "upgraded", 1, 2, "A b"), "a-b upgraded 1 → 2"),
        (SkillChange("a", "upgraded", "1.9", "1.10", "A"), "a upgraded 1.9 → 1.10"),
        (SkillChange("a", "added", None, 1, "A"), "a added at version 1"),
        (SkillChange("a", "removed", 3, None, "A"), "a removed at version 3"),
        (SkillChange("a", "changed", 3, 3, "A"), "a changed, still at version 3"),
    ],
)
def test_a_changed_skill_is_told_in_words(change, expected):
    assert changes.skill_change_line(change) == expected


def test_a_merged_skill_is_told_with_the_side_that_had_removed_it():
    assert changes.merged_skill_line(MergedSkill("a", 2, 3, 4)) == "a merged 2 + 3 → 4"
    assert changes.merged_skill_line(MergedSkill("a", 2, "", 5)) == "a merged 2 + removed → 5"


@pytest.mark.parametrize(
    ("previous", "version", "changed", "expected"),
    [
        (None, 1, True, "a added at version 1"),
        (1, 2, True, "a upgraded 1 → 2"),
        (2, 2, False, "a unchanged at version 2"),
    ],
)
def test_an_upsert_is_told_in_words(previous, version, changed, expected):
    done = Upserted("a", "A", version, previous, "p", "s", "b", changed, None)
    assert changes.upsert_line(done) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"kind": "genesis", "nonce": "00", "origin": ""}, "brain created"),
        ({"kind": "genesis", "nonce": "00", "origin": "ab" * 32}, "brain forked from abababababab"),
        ({"kind": "snapshot"}, "folder recorded"),
        (
            {
                "kind": "retire",
                "slug": "a",
                "from_version": "1",
                "to_version": "",
                "verdict": "ab" * 32,
            },
            "a retired, by verdict abababababab",
        ),
        (
            {"kind": "unbind", "key": "ab" * 32, "account": "x", "statement": "00" * 32},
            "key abababababab no longer bound to x",
        ),
        (
            {"kind": "upsert", "slug": "a", "from_version": "", "to_version": "1"},
            "a added at version 1",
        ),
        (
            {"kind": "upsert", "slug": "a", "from_version": "1", "to_version": "2"},
            "a upgraded 1 → 2",
        ),
        ({"kind": "delete", "slug": "a", "version": "2"}, "a removed at version 2"),
        ({"kind": "restore", "source": "cd" * 32}, "restored from cdcdcdcdcdcd"),
        ({"kind": "dream\x1b", "fields": []}, "dream\\x1b"),
    ],
)
def test_an_operation_is_told_in_words(fields, expected):
    assert changes.operation_text(fields) == expected


def test_a_renamed_path_shows_both_names_escaped():
    change = PathChange("new\n", "memory", "renamed", "a", "a", "old")
    assert changes.path_change_line(change) == "R old → new\\n"


def test_columns_are_aligned_and_the_last_is_cut_at_the_width():
    rows = [("a", "1", "short"), ("longer", "12", "a description\nthat goes on")]
    assert human_format.align_columns(rows, 24) == ["a       1   short", "longer  12  a descripti…"]


def test_columns_of_nothing_are_no_lines():
    assert human_format.align_columns([]) == []


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_999, "1.0 MB"), (64 << 20, "67.1 MB")],
)
def test_a_size_has_a_unit(number, expected):
    assert human_format.format_size(number) == expected


def test_counts_agree_in_number():
    assert (human_format.pluralize(1, "file"), human_format.pluralize(2, "file")) == (
        "1 file",
        "2 files",
    )


class Odd(Exception):
    """An exception nobody foresaw."""


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        (library.BrainError("x"), 1, "failure"),
        (library.InvalidInput("x", code="bad_name"), 1, "bad_name"),
        (library.VerificationFailed("x"), 3, "verification_failed"),
        (library.NoBrain("x"), 10, "no_brain"),
        (library.Locked("x"), 11, "locked"),
        (library.Conflict("x"), 12, "conflict"),
        (click.UsageError("x"), 2, "usage"),
        (click.BadParameter("x"), 2, "usage"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (Terminated(signal.SIGTERM), 143, "terminated"),
        (Terminated(signal.SIGHUP), 129, "terminated"),
        (BrokenPipeError(errno.EPIPE, "x"), 141, "broken_pipe"),
        (MemoryError(), 1, "out_of_memory"),
        (RecursionError("x"), 1, "too_deep"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "no_space"),
        (OSError(errno.EMFILE, "Too many open files"), 1, "too_many_open_files"),
        (PermissionError(errno.EACCES, "Permission denied"), 1, "no_access"),
        (OSError(errno.EIO, "Input/output error"), 1, "io_error"),
        (Odd("x"), 1, "internal"),
    ],
)
def test_an_exception_has_a_status_and_a_code(problem, status, code):
    failure = describe_error(problem)
    assert (failure.status, failure.code) == (status, code)


def test_an_error_is_a_line_and_its_hint_another(capsys):
    print_error(
        describe_error(library.NoBrain("no brain here", hint="run 'brain init'")), as_json=False
    )
    out, err = capsys.readouterr()
    assert (out, err) == ("", "Error: no brain here\nHint: run 'brain init'\n")


def test_an_error_in_json_has_code_message_and_hint(capsys):
    import json

    print_error(describe_error(library.Locked("busy \udcff")), as_json=True)
    document = json.loads(capsys.readouterr().err)
    validate("error", document)
    assert document == {"error": {"code": "locked", "message": "busy \\udcff", "hint": None}}


def test_a_file_that_cannot_be_opened_is_named():
    failure = describe_error(PermissionError(errno.EACCES, "Permission denied", "a\x1bb"))
    assert failure.message == "access to a\\x1bb is denied"
    assert failure.hint == "check who may read and write it, and the folder it is in"
    found = error_from_os(PermissionError(errno.EACCES, "Permission denied", "keys"))
    assert found.hint == failure.hint, "it may be no folder of a brain at all"


def test_a_message_cannot_steer_the_terminal(capsys):
    print_error(describe_error(library.BrainError("a\x1b[2J\rb\u202e")), as_json=False)
    assert capsys.readouterr().err == "Error: a\\x1b[2J\\rb\\u202e\n"


def test_a_broken_pipe_says_nothing(capsys):
    print_error(describe_error(BrokenPipeError()), as_json=False)
    assert capsys.readouterr().err == ""


def test_an_internal_error_is_one_line_without_a_traceback(capsys):
    problem = Odd("boom\n\x07")
    print_error(describe_error(problem), as_json=False, problem=problem)
    assert capsys.readouterr().err == (
        "Error: internal error: Odd: boom\\n\\x07\n"
        "Hint: BRAIN_DEBUG=1 prints a traceback; please report it\n"
    )


def test_a_traceback_is_shown_on_request(capsys, monkeypatch):
    monkeypatch.setenv("BRAIN_DEBUG", "1")
    try:
        raise Odd("boom")
    except Odd as problem:
        print_error(describe_error(problem), as_json=False, problem=problem)
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err and "Error: internal error" in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_asks_the_command_through_its_variable(cli, shell):
    told = cli("completion", shell)
    assert told.status == 0 and told.err == ""
    assert "_BRAIN_COMPLETE" in told.out and f"{shell}_complete" in told.out


def test_a_script_is_json_on_request(cli):
    document = cli("completion", "fish", "--json").document
    assert document["script"].rstrip("\n") == cli("completion", "fish").out.rstrip("\n")


def test_the_script_for_bash_is_bash(cli):
    script = cli("completion", "bash").out
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_an_unknown_shell_is_a_usage_error(cli):
    assert cli("completion", "tcsh").status == 2


def test_bash_is_answered_with_the_commands_that_begin_so(process):
    asked = environment(_BRAIN_COMPLETE="bash_complete", COMP_WORDS="brain s", COMP_CWORD="1")
    told = process(env=asked)
    words = "status snapshot show skill switch sign secrets".split()
    assert told.out.split() == [f"plain,{word}" for word in words]


def test_commands_are_completed_behind_help(process):
    asked = environment(_BRAIN_COMPLETE="bash_complete", COMP_WORDS="brain help sk", COMP_CWORD="2")
    assert process(env=asked).out == "plain,skill\n"


def test_slugs_of_the_brain_are_completed(agent, process):
    asked = environment(
        _BRAIN_COMPLETE="bash_complete", COMP_WORDS="brain skill view or", COMP_CWORD="3"
    )
    assert process(cwd=agent, env=asked).out == "plain,oracle-manipulation\n"


def test_without_a_brain_nothing_is_completed_and_nothing_said(process):
    asked = environment(
        _BRAIN_COMPLETE="bash_complete", COMP_WORDS="brain skill view or", COMP_CWORD="3"
    )
    told = process(env=asked)
    assert (told.out.strip(), told.err) == ("", "")


PROJECT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", (PROJECT / "README.md").read_text("utf-8"), re.M | re.S)
SKILL = "---\nname: fuzzing\ndescription: Write a fuzz test first\n---\n\nStart with a corpus.\n"


@pytest.fixture
def shell(tmp_path):
    """Return the environment of a new user who has an empty home, and `brain`."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    command = programs / "brain"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m brain_cli "$@"\n')
    command.chmod(0o755)
    (tmp_path / "empty").mkdir()
    own = {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", "COLUMNS": "100"}
    return {**{name: os.environ[name] for name in ("TMPDIR", "LANG") if name in os.environ}, **own}


@pytest.fixture
def claude_home(tmp_path):
    """Make what the second block needs: a home of Claude Code with a skill."""
    home = tmp_path / "home/.claude"
    (home / "skills/fuzzing").mkdir(parents=True)
    (home / "skills/fuzzing/SKILL.md").write_text(SKILL)
    (home / "projects").mkdir()
    return home


def paste(blocks: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run blocks in one shell, which stops at the first command that fails."""
    done = subprocess.run(
        ["/bin/sh", "-euxc", "".join(blocks)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_five_commands_run_in_an_empty_folder_of_an_empty_home(tmp_path, shell):
    output = paste(BLOCKS[:1], tmp_path / "empty", shell)
    assert "reentrancy added at version 1" in output
    assert "1 modified" in output and "Read-only reentrancy" in output
    assert "Verified 3 snapshots" in output
    text = (tmp_path / "empty/skills/reentrancy/SKILL.md").read_text()
    assert text.endswith(
        "Look for external calls before writes.\nRead-only reentrancy counts too.\n"
    )


def test_all_that_needs_no_other_program_runs_in_one_shell(tmp_path, shell):
    output = paste([BLOCKS[0], BLOCKS[2]], tmp_path / "empty", shell)
    assert "Verified 3 snapshots" in output
    assert "brain" in (tmp_path / "home/.claude.json").read_text()


def test_the_other_commands_run_one_after_the_other(tmp_path, shell, claude_home):
    output = paste(BLOCKS[1:], tmp_path / "empty", shell)
    assert "▸ fuzzing: Write a fuzz test first" in output
    assert (claude_home / "skills/fuzzing/SKILL.md").read_text() == SKILL
    assert "brain" in (tmp_path / "home/.claude.json").read_text()


def test_the_block_that_needs_a_home_says_so():
    readme = (PROJECT / "README.md").read_text("utf-8")
    before, _, _ = readme.partition("```sh\nbrain adopt ~/.claude")
    assert "With a home of Claude Code" in before.rpartition("## ")[2]
    assert "~/.claude" not in BLOCKS[0] + BLOCKS[2]


def test_the_readme_is_short():
    assert len((PROJECT / "README.md").read_text("utf-8").splitlines()) <= 100
