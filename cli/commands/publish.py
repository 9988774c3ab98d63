"""`brain publish`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once, TextType
from ..terminal import escape
from ..text import count, short
from ..words import crowds

if TYPE_CHECKING:
    from brain.results import Published

CLIENTS = ("claude", "codex", "hermes", "openclaw", "agentskills")


@brain_command(
    "publish",
    examples=(
        "brain publish --to claude ~/code/project",
        "brain publish --to hermes ~/.hermes --dry-run",
        "brain publish --to agentskills dist/skills --strict",
    ),
    exits=OVERWRITES,
)
@click.argument("directory", metavar="DIR", type=TextType("bad_path"))
@click.option(
    "--to",
    "client",
    cls=Once,
    required=True,
    type=click.Choice(CLIENTS),
    help="Whose folder DIR is, or becomes.",
)
@click.option("--rev", cls=Once, type=FilledType(), help="What to publish.  [default: @]")
@click.option(
    "--strict", is_flag=True, help="Keep to agentskills.io, also where the client reads more."
)
@click.option("--overwrite", is_flag=True, help="Replace also what somebody else wrote there.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; write nothing.")
@click.option(
    "--allow",
    multiple=True,
    type=TextType(),
    metavar="ID",
    help="Publish although something looks like a secret: the id it was told with.",
)
def command(
    app: App,
    directory: str,
    client: str,
    rev: str | None,
    strict: bool,
    overwrite: bool,
    dry_run: bool,
    allow: tuple[str, ...],
) -> None:
    """Write skills where another program reads them.

    DIR is a project or a home of that program, or a folder of skills. Memory and
    prompts go along where it has a place for them. A published copy has its version
    in the metadata, and what else the program does not know. What is published and
    gone from the brain is removed; what was changed there by hand is left alone.
    """
    from brain.adopting import Wish, publish

    if directory == "":
        raise click.BadParameter("the folder is empty text", param_hint="DIR")
    wish = Wish(rev or "@", strict, overwrite, allow, dry_run)
    done = publish(app.brain, client, Path(directory), wish)
    emit(app, done, _lines(done, dry_run))
    if done.conflicts:
        _refuse(done)


def _lines(done: Published, dry_run: bool) -> Iterator[str]:
    for row in done.conflicts:
        yield escape(f"C {row.path}: {row.message}")
    if not done.conflicts:
        verb = "Would write" if dry_run else "Wrote"
        yield (
            f"{verb} {count(len(done.written), 'file')}, {len(done.removed)} removed, "
            f"{done.unchanged} unchanged, in {escape(done.path)}"
        )
        yield f"It is snapshot {short(done.snapshot)} as {escape(done.kind)} has it"
    if done.left_out:
        yield "Not published:"
        yield from (f"  {line}" for line in crowds(done.left_out))


def _refuse(done: Published) -> None:
    from brain import Conflict

    raise Conflict(
        f"{count(len(done.conflicts), 'file')} there are not as this brain left them; "
        "nothing was written",
        code="not_ours",
        hint="take them in with `brain adopt`, or replace them with --overwrite",
    )
