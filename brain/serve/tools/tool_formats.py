"""Export the tool definitions in the formats of model APIs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .tool import Tool
from .tool_definitions import TOOLS

ToolDefinition = dict[str, Any]


def openai(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` of OpenAI's chat completions, and of all who speak their protocol."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]


def responses(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` of OpenAI's Responses.

    `strict` is off, and said to be: it is on by default there, and would make a model
    fill in every parameter of a call.
    """
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in tools
    ]


def anthropic(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` of Anthropic's messages."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in tools
    ]


def mcp(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` that an MCP server lists, with their annotations."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.parameters,
            "annotations": {
                "readOnlyHint": tool.read_only,
                "destructiveHint": tool.destructive,
                "idempotentHint": tool.idempotent,
                "openWorldHint": False,
            },
        }
        for tool in tools
    ]
