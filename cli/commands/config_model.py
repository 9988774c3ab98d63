"""`brain config model`."""

from __future__ import annotations

from typing import Any

import click

from ..command import command as brain_command
from ..context import App
from ..errors import USAGE, Failure
from ..keyfiles import note_fault
from ..models import described, lines, merged, place
from ..output import emit
from ..params import CountType, Once, TextType

_TEXT = TextType("bad_model")


@brain_command(
    "model",
    examples=(
        "brain config model anthropic:claude-haiku-4-5 --key-file ~/keys/anthropic",
        "brain config model openai:qwen3 --base-url http://localhost:11434/v1",
        "brain config model",
        "brain config model --off",
    ),
    exits=(0, 1, 2, 130),
)
@click.argument("model", metavar="[PROVIDER:NAME]", required=False, type=_TEXT)
@click.option(
    "--base-url",
    cls=Once,
    type=_TEXT,
    metavar="URL",
    help="Another endpoint that speaks the provider's protocol.",
)
@click.option("--key-file", cls=Once, type=_TEXT, metavar="FILE", help="A file that holds the key.")
@click.option("--max-tokens", cls=Once, type=CountType(), help="The longest answer.  [8000]")
@click.option("--timeout", cls=Once, type=CountType(), help="Seconds for one request.  [120]")
@click.option("--retries", cls=Once, type=CountType(), help="Further attempts.  [2]")
@click.option("--off", is_flag=True, help="Forget the model: nothing is learned by itself.")
def command(app: App, off: bool, **given: Any) -> None:
    """Say which model learns from runs.

    PROVIDER is anthropic, openai or bedrock; with --base-url any endpoint that speaks the
    protocol of one, such as one of this machine. What is not given stays as it was, but
    with another provider all begins anew. The key is never stored: it is read from
    --key-file, else from BRAIN_MODEL_KEY, else, without --base-url, from
    ANTHROPIC_API_KEY, OPENAI_API_KEY or the credentials of AWS.
    """
    from brain.evolve import settings

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
