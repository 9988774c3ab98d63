"""`brain skill merge`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain import limits

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..ledgers import outcome, refuse
from ..output import emit
from ..params import Once, SlugType, TextType
from ..reading import read
from ..terminal import escape
from ..text import short

if TYPE_CHECKING:
    from brain.results import Absorbed


@brain_command(
    "merge",
    examples=(
        "brain skill merge csv-to-excel excel-from-csv",
        "brain skill merge csv-to-excel excel-from-csv -f both.md",
    ),
    exits=OVERWRITES,
)
@click.argument("slug", type=SlugType(), metavar="A")
@click.argument("other", type=SlugType(), metavar="B")
@click.option(
    "-d", "--description", cls=Once, type=TextType(), metavar="TEXT", help="When to use both."
)
@click.option(
    "-f",
    "--file",
    cls=Once,
    metavar="FILE",
    help="Take the text of both from FILE; - is standard input.",
)
@click.option(
    "-m", "--message", cls=Once, type=TextType(), metavar="TEXT", help="Say what was done and why."
)
def command(
    app: App,
    slug: str,
    other: str,
    description: str | None,
    file: str | None,
    message: str | None,
) -> None:
    """Let one skill absorb another, which is removed.

    A takes in what the text of B has and it has not: by lines if both come from one
    text, else in a section at its end. The files of B move to A. Both happens in one
    snapshot; the histories of both stay, and 'brain undo' takes it back.
    """
    done = app.brain.merge_skills(
        slug,
        other,
        description=description,
        body=None if file is None else read(file, limits.MAX_SKILL_BYTES, "the skill"),
        message=message or "",
    )
    emit(app, done, _lines(done))
    refuse(done.commitment)


def _lines(done: Absorbed) -> Iterator[str]:
    yield escape(
        f"{done.slug} upgraded {done.previous_version} → {done.version}:"
        f" it absorbed {done.absorbed}, version {done.absorbed_version}"
    )
    for path in done.files:
        yield escape(f"  {path}")
    yield f"Snapshot {short(done.snapshot)}, bundle {short(done.bundle)}"
    yield from outcome(done.commitment)
