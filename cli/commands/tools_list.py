"""`brain tools list`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import Once
from ..terminal import width
from ..text import columns

FORMS = ("openai", "responses", "anthropic", "mcp")


@brain_command(
    "list",
    examples=(
        "brain tools list",
        "brain tools list --for openai > tools.json",
        "brain tools list --for anthropic",
    ),
    exits=(0, 1, 2, 130),
)
@click.option(
    "--for",
    "form",
    cls=Once,
    type=click.Choice(FORMS),
    help="Print the definitions as this interface takes them.",
)
def command(app: App, form: str | None) -> None:
    """Print the tools that a model may be given.

    With --for it is a list in JSON, ready to be sent: openai stands for chat
    completions, responses for OpenAI's Responses.
    """
    from brain.serve.tools import TOOLS, exporting

    made = getattr(exporting, form or "mcp")()
    lines: Iterable[str]
    if form:
        lines = [json.dumps(made, indent=2)]
    else:
        rows = [(tool.name, tool.description.splitlines()[0]) for tool in TOOLS]
        lines = columns(rows, width(sys.stdout))
    emit(app, {"form": form or "mcp", "tools": made}, lines)
