"""Commands and options that the documents show exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from brain_cli.lazy_group import LazyGroup
from brain_cli.root_command import root_group

PROJECT = Path(__file__).parents[2]
DOCUMENTS = [
    "README.md",
    *sorted(
        path.relative_to(PROJECT).as_posix()
        for path in PROJECT.glob("docs/*.md")
        if path.name not in {"cli.md", "FORMAT.md"}  # generated; `brain v1 …` names hash domains
    ),
]
SHOWN_COMMAND = re.compile(r"^(?:\$ |    )brain +([^#\n]*)|`brain ([^`]*)`", re.MULTILINE)


def shown_commands(text: str) -> Iterator[list[str]]:
    """Yield the words after `brain` of each command in blocks and between backticks."""
    joined = text.replace("\\\n", " ")
    for block, inline in SHOWN_COMMAND.findall(joined):
        line = re.sub(r"\s[|><&;].*", "", block or inline).strip()
        line = re.sub(r"^mcp(?= --)", "mcp serve", line)  # the command that `brain mcp` runs
        yield re.split(r"[\s\[\]|]+", line)


def find_missing(words: list[str]) -> str:
    """Return the first word that is neither a command nor an option of that command, or ""."""
    command: click.Command = root_group
    options = {name for param in root_group.params for name in [*param.opts, *param.secondary_opts]}
    for word in words:
        if word == "--":
            break
        if word.startswith("--") and word != "--help":
            if word.partition("=")[0].rstrip(",.;:") not in options:
                return word
        elif isinstance(command, LazyGroup) and re.fullmatch(r"[a-z][a-z-]*", word):
            child = command.get_command(click.Context(command), word)
            if child is None:
                return word
            command = child
            options.update(
                name for param in child.params for name in [*param.opts, *param.secondary_opts]
            )
    return ""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_command_of_a_document_exists_with_its_options(name: str) -> None:
    commands = list(shown_commands((PROJECT / name).read_text("utf-8")))
    assert [words for words in commands if find_missing(words)] == []


def test_the_readme_shows_commands() -> None:
    assert len(list(shown_commands((PROJECT / "README.md").read_text("utf-8")))) > 40


@pytest.mark.parametrize(
    "line", ["index --limit 3", "accuse", "key accuse X", "skill upsert --no-such X", "lineage"]
)
def test_a_command_or_option_that_is_gone_is_found(line: str) -> None:
    assert find_missing(line.split())
