"""Every command says what it does, shows an example, and lists its exit statuses."""

import inspect
import re
import shlex
from collections.abc import Iterator

import click
import pytest
from brain_cli.command import EXIT_MEANINGS, BrainCommand
from brain_cli.lazy_group import LazyGroup
from brain_cli.reference import render_reference
from brain_cli.root_command import root_group

from tests.error_reference import list_errors, render_table


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
        command.make_context(path[-1], words)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_prints_in_every_encoding(path, cli):
    assert cli(*path, "-h").out.isascii()


def test_the_reference_in_docs_is_what_the_commands_say(project):
    assert (project / "docs/cli.md").read_text("utf-8") == render_reference(), "run `make docs`"


def test_the_table_of_errors_is_that_of_the_code(project):
    assert (project / "docs/errors.md").read_text("utf-8") == render_table(), "run `make docs`"
    codes = {row.code for row in list_errors()}
    assert {"no_brain", "no_skill", "bad_version"} <= codes and len(codes) > 150


def test_the_reference_has_every_command():
    headings = set(re.findall(r"^## (.+)$", render_reference(), re.MULTILINE))
    assert headings == {"brain", *(f"brain {' '.join(path)}" for path in ALL)}


def test_a_group_without_a_command_shows_its_commands(cli):
    told = cli("skill")
    assert told.status == 2 and "upsert" in told.err
