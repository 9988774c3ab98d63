"""`brain config embedder`."""

from __future__ import annotations

from typing import Any

import click

from ..command import command as brain_command
from ..context import App
from ..embedders import described, lines, merged, place
from ..errors import USAGE, Failure
from ..keyfiles import note_fault
from ..output import emit
from ..params import CountType, Once, TextType

_TEXT = TextType("bad_embedder")


@brain_command(
    "embedder",
    examples=(
        "brain config embedder text-embedding-3-small --key-file ~/keys/openai",
        "brain config embedder nomic-embed-text --base-url http://localhost:11434/v1",
        "brain config embedder --folder ~/models/all-MiniLM-L6-v2",
        "brain config embedder --off",
    ),
    exits=(0, 1, 2, 130),
)
@click.argument("model", required=False, type=_TEXT)
@click.option(
    "--base-url",
    cls=Once,
    type=_TEXT,
    metavar="URL",
    help="An endpoint that speaks OpenAI's protocol.  [that of OpenAI]",
)
@click.option("--key-file", cls=Once, type=_TEXT, metavar="FILE", help="A file that holds the key.")
@click.option(
    "--folder",
    cls=Once,
    type=_TEXT,
    metavar="DIR",
    help="A folder with a BERT model of sentence-transformers, instead.",
)
@click.option("--timeout", cls=Once, type=CountType(), help="Seconds for one request.  [30]")
@click.option("--off", is_flag=True, help="Forget it: skills are selected by their words.")
def command(app: App, off: bool, **given: Any) -> None:
    """Say what tells which texts mean the same.

    With it skills are selected for a task by meaning, without it by words.
    An endpoint gets tasks, and names and descriptions of skills; a folder keeps all on
    this machine. The key is never stored: it is read from --key-file, else from
    BRAIN_EMBEDDER_KEY, else, for OpenAI's own endpoint, from OPENAI_API_KEY.
    """
    from brain.selection.embedding import settings

    wanted = {key: value for key, value in given.items() if value is not None}
    kept = settings.load(place())
    if off:
        if wanted:
            raise Failure("usage", "--off stands alone", status=USAGE)
        settings.forget(place())
        kept = None
    elif wanted:
        kept = merged(kept, wanted)
        settings.save(place(), kept)
        if kept.key_file:
            note_fault(app, settings.read_key, kept.key_file)
    told = described(kept)
    emit(app, told, lines(told))
