"""`brain redact`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once, TextType
from ..terminal import escape
from ..text import count, short

if TYPE_CHECKING:
    from brain.results import Redacted


@brain_command(
    "redact",
    examples=(
        'brain redact memory/2026-11-20.md --reason "holds a password"',
        'brain redact memory/keys.md --history --reason "asked for by the customer"',
    ),
    exits=OVERWRITES,
)
@click.argument("path", type=TextType("bad_path"))
@click.option("--reason", cls=Once, required=True, type=TextType(), help="Why; this is recorded.")
@click.option("--rev", cls=Once, type=FilledType(), help="The snapshot to look in.  [default: @]")
@click.option("--history", is_flag=True, help="All that PATH held in any snapshot.")
def command(app: App, path: str, reason: str, rev: str | None, history: bool) -> None:
    """Destroy the content of a file for good.

    Its id stays in the lineage, which still verifies and says who redacted it,
    when and why. Files of the head with this content are removed. It cannot be
    undone, and the same content is refused from then on.
    """
    if history and rev is not None:
        raise click.UsageError("--history and --rev exclude each other.")
    done = app.brain.redact(path, reason=reason, rev=rev or "@", history=history)
    emit(app, done, _lines(done))


def _lines(done: Redacted) -> Iterator[str]:
    contents = count(len(done.blobs), "content")
    yield f"Redacted {escape(done.path)}: {contents} destroyed, snapshot {short(done.snapshot)}"
    for path in done.removed:
        yield f"  removed {escape(path)}"
    for branch in done.branches:
        yield f"  branch {escape(branch)} still lists it, without its content"
    if not done.scrubbed:
        yield "  old pages of the store are still in use; 'brain gc' clears them later"
