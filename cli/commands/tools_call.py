"""`brain tools call`."""

from __future__ import annotations

import click

from brain import limits

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import TextType
from ..reading import read
from ..terminal import escape_lines


@brain_command(
    "call",
    examples=(
        "brain tools call skills_list",
        'brain tools call skill_view \'{"name": "oracle-manipulation"}\'',
        "generate | brain tools call skill_manage -",
    ),
    exits=OVERWRITES,
)
@click.argument("name", type=TextType())
@click.argument("arguments", metavar="[JSON]", default="{}", type=TextType())
def command(app: App, name: str, arguments: str) -> None:
    """Call a tool as a model does, with the same answers.

    JSON is an object with the arguments; - reads it from standard input.
    """
    from brain.serve.tools import Toolbox

    given: str | bytes = (
        arguments
        if arguments != "-"
        else read("-", limits.MAX_CALL_BYTES, "the arguments, as JSON,")
    )
    answer = Toolbox(app.brain).call(name, given)
    emit(app, answer, [escape_lines(answer.text.rstrip("\n"))])
