"""The interface of a model that calls tools: one reply at a time, text or calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeGuard

from .model import Model


class ToolSpec(NamedTuple):
    """A tool that a model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ToolCall(NamedTuple):
    """A call by a model; `arguments` is JSON as the model wrote it, so it may be malformed."""

    id: str
    name: str
    arguments: str


class CallResult(NamedTuple):
    """What a call gave: a text for the model."""

    id: str
    name: str
    text: str


class ToolMessage(NamedTuple):
    """One message of a conversation with tools.

    `role` is user or assistant. Calls are of an assistant, results are of a user.
    """

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[CallResult, ...] = ()


class ToolRequest(NamedTuple):
    """A conversation, and the tools that the next reply may call.

    `system` is the system prompt. `max_tokens` limits the reply.
    """

    system: str
    messages: tuple[ToolMessage, ...]
    tools: tuple[ToolSpec, ...]
    max_tokens: int


class ToolReply(NamedTuple):
    """The reply of a model: a text, or calls of tools, or both; and what it cost."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    requests: int = 1


class ToolModel(Model, Protocol):
    """A language model that also calls tools. Its replies are untrusted."""

    @property
    def tool_rounds(self) -> int:
        """How many replies one conversation may take."""

    def respond(self, request: ToolRequest) -> ToolReply:
        """Return the reply, in bounded time and size. Raises `ModelError`."""


def has_tools(model: Model) -> TypeGuard[ToolModel]:
    """Tell whether a model calls tools, rather than only giving one answer."""
    return hasattr(model, "respond")
