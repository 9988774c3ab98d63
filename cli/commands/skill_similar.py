"""`brain skill similar`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import SlugType
from ..terminal import escape
from ..text import columns

if TYPE_CHECKING:
    from brain.results import Similar


@brain_command("similar", examples=("brain skill similar oracle-manipulation",))
@click.argument("slug", type=SlugType())
def command(app: App, slug: str) -> None:
    """List the skills that one nearly duplicates.

    Names, descriptions and lines of the bodies are compared; 1.00 is the same.
    'brain skill merge A B' makes one of two.
    """
    similar = app.brain.similar_to(slug)
    emit(app, {"slug": slug, "similar": similar}, _lines(slug, similar))


def _lines(slug: str, similar: list[Similar]) -> Iterator[str]:
    if not similar:
        yield escape(f"No skill is much like {slug}.")
    yield from columns((f"{one.score:.2f}", one.slug, one.description) for one in similar)
