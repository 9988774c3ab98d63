"""The command `brain tag`: names of snapshots that never move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import OVERWRITE_EXITS, argument, brain_command, flag
from ..context import App
from ..options import revision_argument
from ..output import emit
from ..params import TagType
from ..render.human_format import align_columns, first_line, local_time, pluralize, short_id
from ..terminal import escape

if TYPE_CHECKING:
    from brain.results import Tag


@brain_command(
    "tag",
    examples=("brain tag audit-2026", "brain tag audit-2026 @~3", "brain tag --delete audit-2026"),
    exits=OVERWRITE_EXITS,
)
@argument("name", required=False, type=TagType())
@revision_argument
@flag("--list", "list_", help="List the tags (default without NAME).")
@flag("--delete", help="Delete the tag NAME; its snapshot stays.")
def tag_command(app: App, name: str | None, rev: str | None, list_: bool, delete: bool) -> None:
    """Name a snapshot for good.

    Without NAME, lists the tags.     A tag never moves and keeps its snapshot from 'brain gc'.
    It is a revision wherever one is taken. REV is the snapshot to name (default: @, the head).
    Where new snapshots are signed, so is the one that a tag names. 'brain undo' reverses it.
    """
    if name is not None and list_:
        raise click.UsageError("--list takes no NAME.")
    if name is None:
        if delete:
            raise click.UsageError("Missing argument 'NAME': the tag to delete.")
        found = app.brain.tags.list()
        emit(app, {"tags": found}, _tag_lines(found))
    elif delete:
        if rev is not None:
            raise click.UsageError("--delete takes no REV.")
        tag = app.brain.tags.delete(name)
        emit(app, tag, [f"Deleted {escape(tag.name)}, which was at {short_id(tag.snapshot)}"])
    else:
        tag = app.brain.tags.create(name, rev or "@")
        emit(app, tag, [f"{escape(tag.name)} is {short_id(tag.snapshot)}{_signed_text(tag)}"])


def _tag_lines(found: list[Tag]) -> Iterator[str]:
    yield from align_columns(
        (
            short_id(tag.snapshot),
            local_time(tag.time),
            tag.name,
            first_line(tag.message) + _signed_text(tag),
        )
        for tag in found
    )


def _signed_text(tag: Tag) -> str:
    return f" (signed by {pluralize(len(tag.signed_by), 'key')})" if tag.signed_by else ""
