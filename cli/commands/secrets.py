"""`brain secrets`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import BrainError

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once, TextType
from ..progress import Bar
from ..terminal import escape
from ..text import count, paint, short

if TYPE_CHECKING:
    from brain.results import Leak, Leaks


@brain_command(
    "secrets",
    examples=("brain secrets", "brain secrets memory --rev @~3", "brain secrets --history"),
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=TextType("bad_path"))
@click.option(
    "--rev",
    cls=Once,
    type=FilledType("bad_revision"),
    metavar="REV",
    help="A revision.  [default: @]",
)
@click.option("--history", is_flag=True, help="Look at all that was ever recorded.")
def command(app: App, paths: tuple[str, ...], rev: str | None, history: bool) -> None:
    """Look for keys, tokens and passwords in what is recorded.

    PATH is a file or folder of the brain. What is found ends with exit status 1; it is
    named by place, rule and id, never shown. `brain redact` destroys a file that holds
    a secret. What is none is accepted by its id in manifest.yaml:

    \b
        secrets:
          accepted: ["0123456789abcdef"]
    """
    with Bar(app) as bar:
        done = app.brain.secrets(paths, rev or "@", history=history, progress=bar)
    emit(app, done, _lines(done, history))
    if not done.ok:
        raise BrainError(
            f"{count(len(done.findings), 'finding')}",
            code="secrets",
            hint="destroy what is a secret with `brain redact PATH --history --reason TEXT`, "
            "and have it changed; accept the id of what is none in manifest.yaml",
        )


def _lines(done: Leaks, history: bool) -> Iterator[str]:
    for leak in done.findings:
        yield _line(leak, history)
    also = f", {done.accepted} accepted" if done.accepted else ""
    if done.ok:
        yield f"No secrets in {count(done.files, 'file')}{also}."


def _line(leak: Leak, history: bool) -> str:
    place = f"{leak.path or '(message)'}:{leak.line}:{leak.column}"
    where = f" in {short(leak.snapshot)}" if history else ""
    return f"{escape(place)}: {paint(leak.rule, 'red')} {leak.id}{where}"
