"""The commands of `brain tools`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from brain import limits
from brain.errors import NoBrain

from ..command import BASIC_EXITS, OVERWRITE_EXITS, argument, brain_command, option
from ..context import App
from ..options import no_record_option
from ..output import emit
from ..render.human_format import align_columns
from ..terminal import escape_lines, terminal_width
from ..user_files import read_input

if TYPE_CHECKING:
    from brain.serve.tools import Tool

TOOL_FORMATS = ("openai", "responses", "anthropic", "mcp")


@brain_command(
    "list",
    examples=(
        "brain tools list",
        "brain tools list --for openai > tools.json",
        "brain tools list --for anthropic",
    ),
    exits=BASIC_EXITS,
)
@option(
    "--for",
    "form",
    type=click.Choice(TOOL_FORMATS),
    help="Print the definitions in the format of this interface.",
)
def tools_list_command(app: App, form: str | None) -> None:
    """Print the definitions of the tools for models.

    In a brain they include the tools that an agent acquired, most used first. With --for,
    prints a JSON list to send to the model: openai is the format of chat
    completions, responses that of the Responses API of OpenAI.
    """
    from brain.serve.tools.definitions import EXPORT_FORMATS

    tools = _list_tools(app)
    definitions = EXPORT_FORMATS[form or "mcp"](tools)
    lines: Iterable[str]
    if form:
        lines = [json.dumps(definitions, indent=2)]
    else:
        rows = [(tool.name, tool.description.splitlines()[0]) for tool in tools]
        lines = align_columns(rows, terminal_width(sys.stdout))
    emit(app, {"form": form or "mcp", "tools": definitions}, lines)


def _list_tools(app: App) -> tuple[Tool, ...]:
    """Return the tools of the brain, or those that every brain has where there is none."""
    from brain.serve.tools import Toolbox
    from brain.serve.tools.programs import list_built_in_tools

    try:
        return Toolbox(app.brain).tools()
    except NoBrain:
        return list_built_in_tools()


@brain_command(
    "call",
    examples=(
        "brain tools call skills_list",
        'brain tools call skill_view \'{"name": "oracle-manipulation"}\'',
        "generate | brain tools call skill_manage -",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("name")
@argument("arguments", metavar="[JSON]", default="{}")
@no_record_option
def tools_call_command(app: App, name: str, arguments: str) -> None:
    """Call a tool as a model does.

    JSON is an object with the arguments of the tool; - reads it from standard input. Edits of the
    folder are recorded first.
    """
    from brain.serve.tools import Toolbox

    call_arguments: str | bytes = (
        arguments
        if arguments != "-"
        else read_input("-", limits.MAX_CALL_BYTES, "the arguments, as JSON,")
    )
    app.show_folder()
    answer = Toolbox(app.brain).call(name, call_arguments)
    emit(app, answer, [escape_lines(answer.text.rstrip("\n"))])
