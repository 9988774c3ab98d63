"""Commands and options that the README and docs/ show exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from brain_cli.lazy_group import LazyGroup
from brain_cli.root_command import PROGRAM_NAME, root_group

PROJECT = Path(__file__).parents[2]
PAGES = ("docs/*.md", "docs/chain/*.md", "docs/evolution/*.md")
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
