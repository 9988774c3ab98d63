"""Write the reference of commands and of what they print as JSON, from the code itself.

`python -m tests.reference FOLDER` writes cli.md, json.md and commands.json to the folder.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from brain_cli import schemas
from brain_cli.command import EXIT_MEANINGS, BrainCommand, LazyGroup
from brain_cli.invocation import PROGRAM_NAME, root_group

_INTRODUCTION = """\
# The command line

Made from the commands themselves by `make docs`; do not edit.

`brain [-C DIR] [--json] [--no-color] [--author NAME] COMMAND …`

Data goes to standard output; progress, notes and errors go to standard error. With
`--json`, before or after the command, a command prints one JSON document (json.md), and an
error is `{"error": {"code", "message", "hint"}}` on standard error.

A revision is an id or a unique beginning of it (6 digits or more), a branch, `@` (the
head), `@~N` (N snapshots before it), or `SLUG@VERSION` where a skill is meant.

A value option may be given once. A call takes at most 10,000 arguments.

Nothing in the current folder is run or obeyed: the installed `brain` does not search it
for modules, and no settings are read from it. If you start it as a module, write
`python -P -m brain_cli`, so that Python does not search it either.

"""

_EXIT_STATUSES = {
    **{str(number): meaning for number, meaning in EXIT_MEANINGS.items()},
    "141": "the reader of the output is gone",
    "128 + N": "ended by signal N",
}


def render_commands() -> str:
    """Return the page of the commands."""
    context = click.Context(root_group, info_name=PROGRAM_NAME)
    parts = [_INTRODUCTION, _exit_status_table(), *_command_sections(root_group, context)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _exit_status_table() -> str:
    rows = "\n".join(f"| {number} | {meaning} |" for number, meaning in _EXIT_STATUSES.items())
    return f"| exit status | meaning |\n|---|---|\n{rows}\n"


def _command_sections(command: click.Command, context: click.Context) -> Iterator[str]:
    if isinstance(command, BrainCommand):
        yield _command_section(command, context)
        return
    yield _option_list(command, context, f"## {context.command_path}\n\n{_help_text(command)}\n")
    assert isinstance(command, LazyGroup)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        assert child is not None
        yield from _command_sections(child, click.Context(child, info_name=name, parent=context))


def _command_section(command: BrainCommand, context: click.Context) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    head = (
        f"## {context.command_path}\n\n`{context.command_path} {usage}`\n\n{_help_text(command)}\n"
    )
    examples = "\n".join(command.examples)
    exits = ", ".join(map(str, command.exits))
    body = _option_list(command, context, head)
    return f"{body}\n```\n{examples}\n```\n\nExit status: {exits}.\n"


def _help_text(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "")


def _option_list(command: click.Command, context: click.Context, head: str) -> str:
    options = [param for param in command.params if isinstance(param, click.Option)]
    records = filter(None, (option.get_help_record(context) for option in options))
    rows = [f"- `{names}`: {' '.join(text.split())}" for names, text in records]
    return "\n".join([head, *rows, ""]) if rows else head


_JSON_INTRODUCTION = """\
# What commands print with `--json`

Made from the types of results by `make docs`. Times are ISO 8601 in UTC, ids 64 hex digits,
versions integers where the skill writes integers. A field with `?` may be missing. Each object
may have `warnings`. `commands.json` says the same as JSON Schemas.

"""


def render_json() -> str:
    """Return the page of what the commands print, and of the types in that."""
    parts = [_JSON_INTRODUCTION]
    for command, shape in schemas.COMMANDS.items():
        shapes = [shape] if isinstance(shape, str) else shape
        shown = (f"`{one}`" if ":" in one else f"[{one}](#{one.lower()})" for one in shapes)
        parts.append(f"- `brain {command}`: {' or '.join(shown)}\n")
    for name, text, fields in schemas.list_types():
        rows = "".join(f"- `{field}`: {kind}\n" for field, kind in fields.items())
        parts.append(f"\n## {name}\n\n{text}\n\n{rows}" if text else f"\n## {name}\n\n{rows}")
    return "".join(parts)


def main(arguments: list[str]) -> None:
    """Write the files to the folder named."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cli.md").write_text(render_commands(), "utf-8")
    (folder / "json.md").write_text(render_json(), "utf-8")
    (folder / "commands.json").write_text(schemas.render(), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
