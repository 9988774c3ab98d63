"""`docs/cli.md` from the command tree: `python -m brain_cli.reference docs/cli.md`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from .command import EXIT_MEANINGS, BrainCommand
from .lazy_group import LazyGroup
from .root_command import PROGRAM_NAME, root_group

_INTRODUCTION = """\
# The command line

Made from the commands themselves by `make docs`; do not edit.

`brain [-C DIR] [--json] [--no-color] [--author NAME] COMMAND …`

Data goes to standard output; progress, notes and errors go to standard error. With
`--json`, before or after the command, a command prints one JSON document (schemas:
`schemas/`), and an error is `{"error": {"code", "message", "hint"}}` on standard error.

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


def render_reference() -> str:
    """Return the whole document."""
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


def main() -> None:
    """Write the document to the file named on the command line, else to stdout."""
    text = render_reference()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, "utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
