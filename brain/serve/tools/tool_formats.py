"""Export the tool definitions in the formats of model APIs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .tool import Tool
from .tool_definitions import TOOLS

ToolDefinition = dict[str, Any]


def openai(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` of OpenAI's chat completions and of compatible interfaces."""
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

    `strict` is turned off: it is on by default and makes a model fill in every parameter.
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
    """Return the `tools` of Anthropic's Messages."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in tools
    ]


def mcp(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` that an MCP server lists, with their annotations, as the wire has them."""
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


EXPORT_FORMATS: dict[str, Callable[[Iterable[Tool]], list[ToolDefinition]]] = {
    "openai": openai,
    "responses": responses,
    "anthropic": anthropic,
    "mcp": mcp,
}
"""By the name that `brain tools list --for` takes."""
