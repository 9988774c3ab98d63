"""The brain as a server of the protocol: tools, resources, one prompt, and notifications."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
from mcp import MCPError
from mcp import types as wire
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from pydantic import ValidationError

from ..._version import __version__
from ...errors import BrainError, ToolFailure
from . import resources
from .desk import Desk
from .watching import Watchers, session_of

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")

NAME = "brain"
PROMPT = "system"
LISTENERS = 64
"""Clients that may listen for changes at a time, and as many that subscribed the older way."""

_GREETINGS = ("initialize", "server/discover")
"""What is answered with instructions, which are those of the moment and of the client."""

log = logging.getLogger(__name__)


class BrainServer:
    """What connects the SDK with a desk; `server` is to be run on a transport.

    Calls of the brain run one after the other in a thread, in the order they came.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._one = anyio.CapacityLimiter(1)
        bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(bus, max_subscriptions=LISTENERS)
        self._watchers = Watchers(bus, lambda: self._in_turn(desk.moved), LISTENERS)
        self.server = _Lowlevel(
            NAME,
            version=__version__,
            title="Skills and memory under version control",
            lifespan=self._life,
            get_tool_input_schema={tool.name: tool.parameters for tool in desk.tools}.get,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._watchers.subscribe,
            on_unsubscribe_resource=self._watchers.unsubscribe,
            on_subscriptions_listen=self._listening,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        self.server.add_notification_handler(
            "notifications/initialized", wire.NotificationParams, self._watchers.joined
        )
        self.server.middleware.append(self._guarded)

    def end_streams(self) -> None:
        """Tell those who listen that there is nothing more to come."""
        self._listening.close()

    async def ended(self, session: str) -> None:
        """Note that a session over HTTP is over."""
        await self._in_turn(self._desk.ended, session)

    @asynccontextmanager
    async def _life(self, _server: Server[Any]) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(self._watchers.watch)
            yield
            group.cancel_scope.cancel()

    async def _guarded(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Let no error of the brain, nor of this program, say more than it should."""
        try:
            result = await call_next(ctx)
            if ctx.method in _GREETINGS and isinstance(result, dict):
                told = await self._in_turn(self._desk.instructions, _client(ctx))
                result = {**result, "instructions": told}
            return result
        except (MCPError, ValidationError):
            raise
        except BrainError as error:
            raise MCPError(wire.INTERNAL_ERROR, resources.told(error, self._desk)) from error
        except Exception as error:
            log.exception("%s failed", ctx.method)
            raise MCPError(
                wire.INTERNAL_ERROR, "this did not work; see the server's log"
            ) from error

    async def _in_turn(self, act: Callable[..., T], *args: Any) -> T:
        return await anyio.to_thread.run_sync(act, *args, limiter=self._one)

    async def _list_tools(
        self, _ctx: Context, _params: wire.PaginatedRequestParams | None
    ) -> wire.ListToolsResult:
        hints = wire.ToolAnnotations
        return wire.ListToolsResult(
            tools=[
                wire.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.parameters,
                    annotations=hints(
                        read_only_hint=tool.reads,
                        destructive_hint=tool.destructive,
                        idempotent_hint=tool.idempotent,
                        open_world_hint=False,
                    ),
                )
                for tool in self._desk.tools
            ]
        )

    async def _call_tool(
        self, ctx: Context, params: wire.CallToolRequestParams
    ) -> wire.CallToolResult:
        given = params.arguments or {}
        try:
            by = _client(ctx), params.name, given, session_of(ctx)
            done = await self._in_turn(self._desk.call, *by)
        except ToolFailure as failure:
            return _told(failure.text, is_error=True)
        except Exception:
            log.exception("%s failed", params.name)
            return _told("This did not work, and not because of what was asked.", is_error=True)
        if done.changed:
            self._watchers.look()
        return _told(done.text, is_error=False)

    async def _list_resources(
        self, ctx: Context, params: wire.PaginatedRequestParams | None
    ) -> wire.ListResourcesResult:
        skills = await self._in_turn(self._desk.skills, _client(ctx))
        return resources.page(skills, (params.cursor if params else None) or "")

    async def _list_templates(
        self, _ctx: Context, _params: wire.PaginatedRequestParams | None
    ) -> wire.ListResourceTemplatesResult:
        return resources.templates()

    async def _read_resource(
        self, ctx: Context, params: wire.ReadResourceRequestParams
    ) -> wire.ReadResourceResult:
        read = resources.reader(self._desk, str(params.uri))
        try:
            found = await self._in_turn(read, _client(ctx))
        except BrainError as error:
            raise resources.not_found(str(params.uri), resources.told(error, self._desk)) from error
        return resources.contents(str(params.uri), found)

    async def _list_prompts(
        self, _ctx: Context, _params: wire.PaginatedRequestParams | None
    ) -> wire.ListPromptsResult:
        return wire.ListPromptsResult(prompts=[wire.Prompt(name=PROMPT, description=_PROMPT)])

    async def _get_prompt(
        self, ctx: Context, params: wire.GetPromptRequestParams
    ) -> wire.GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(wire.INVALID_PARAMS, f"there is one prompt, {PROMPT}")
        text = await self._in_turn(self._desk.prompt, _client(ctx))
        told = wire.PromptMessage(role="user", content=wire.TextContent(type="text", text=text))
        return wire.GetPromptResult(description=_PROMPT, messages=[told])


_PROMPT = "The system prompt of this brain: its own words, the skills it has, its memory."


class _Lowlevel(Server[Any]):
    """The server of the SDK, which by itself never says that its resources may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what the handshake of older revisions tells."""
        changing = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(
            changing, experimental_capabilities, extensions
        )


def _client(ctx: Context) -> str:
    """Return what a client calls itself, "" if it does not say."""
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""


def _told(text: str, *, is_error: bool) -> wire.CallToolResult:
    return wire.CallToolResult(
        content=[wire.TextContent(type="text", text=text)], is_error=is_error
    )
