"""`brain show`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit, to_json
from ..params import FilledType
from ..terminal import escape, escape_lines
from ..text import columns, count, short, size, when
from ..words import operation

if TYPE_CHECKING:
    from brain.results import Shown


@brain_command("show", examples=("brain show", "brain show @~3", "brain show 5d1e2f3a --json"))
@click.argument("rev", metavar="[REV]", required=False, type=FilledType())
def command(app: App, rev: str | None) -> None:
    """Show one snapshot.

    REV is an id or a unique part of its beginning, a branch, @ (the head, the
    default) or @~N. The counts are against its first parent.
    """
    shown = app.brain.show(rev or "@")
    document = {**to_json(shown.info), **shown._asdict()}
    del document["info"]
    emit(app, document, _lines(shown))


def _lines(shown: Shown) -> Iterator[str]:
    info = shown.info
    fields = [
        ("snapshot", info.snapshot),
        ("bundle", info.bundle),
        *(("parent", parent) for parent in info.parents),
        ("author", info.author),
        ("time", when(info.time)),
        ("did", operation(info.operation)),
    ]
    if info.receipt:
        fields.append(("receipt", info.receipt))
    fields.extend(("signed by", row.key) for row in shown.signatures)
    yield from columns(fields)
    if info.message:
        yield ""
        yield "\n".join(f"  {line}" for line in escape_lines(info.message.strip()).split("\n"))
    yield ""
    yield _counts(shown.counts)
    yield from columns(
        (escape(name), short(part.root), count(part.files, "file"), size(part.bytes))
        for name, part in shown.sections.items()
    )


def _counts(counts: dict[str, int]) -> str:
    changes = ", ".join(f"{counts[what]} {what}" for what in ("added", "modified", "removed"))
    return f"{changes}; {count(counts['files'], 'file')}, {size(counts['bytes'])} in all"
