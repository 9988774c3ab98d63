"""The MCP server: the SDK's request handlers over a brain pool."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import anyio
from mcp import MCPError
from mcp import types as wire
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from pydantic import ValidationError

from ..._version import __version__
from ...errors import BrainError, InvalidInput, NotFound, ToolFailure
from ..tools import TOOLS, Toolbox, ToolResult, definitions
from ..tools.definitions import MANAGE_SKILLS, PROGRAM_TOOLS
from . import resources
from .brain_pool import BrainPool
from .notifications import ChangeNotifier, session_id

T = TypeVar("T")

_SEND_SECONDS = 2.0
"""Seconds that a client may take to read a notification of progress, which else is dropped."""


RequestContext = ServerRequestContext[Any, Any]

SERVER_NAME = "brain"
PROMPT_NAME = "system"
MAX_PROGRAM_RUNS = 4
"""Programs of skills that run at a time; further ones wait."""
QUICK_TOOLS = frozenset(tool.name for tool in TOOLS) | {MANAGE_SKILLS.name}
"""Tools that run no program."""
MAX_LISTENERS = 64
"""Clients that may listen for changes; the same number again in the older revisions."""
_SCHEMAS = {tool.name: tool.parameters for tool in (*TOOLS, *PROGRAM_TOOLS)}
_CHANGING_LISTS = ("tools", "resources")
_HANDSHAKE_METHODS = ("initialize", "server/discover")
"""Methods whose result holds instructions, made for the client at that moment."""

logger = logging.getLogger(__name__)


class BrainServer:
    """The handlers for one pool; `server` is the SDK's server, to run on a transport.

    Calls to the brain run one at a time in a thread, in the order they arrive. Programs of
    skills run in threads of their own, so that a slow one keeps nobody waiting.
    """

    def __init__(self, pool: BrainPool) -> None:
        self._pool = pool
        self._limiter = anyio.CapacityLimiter(1)
        self._program_limiter = anyio.CapacityLimiter(MAX_PROGRAM_RUNS)
        bus = InMemorySubscriptionBus()
        self._listen_handler = ListenHandler(bus, max_subscriptions=MAX_LISTENERS)
        self._notifier = ChangeNotifier(
            bus, lambda: self._run_serialized(pool.poll_changes), MAX_LISTENERS
        )
        self.server = Server[Any](
            SERVER_NAME,
            version=__version__,
            title="Skills and memory under version control",
            lifespan=self._lifespan,
            get_tool_input_schema=_SCHEMAS.get,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._notifier.subscribe,
            on_unsubscribe_resource=self._notifier.unsubscribe,
            on_subscriptions_listen=self._listen_handler,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        self.server.add_notification_handler(
            "notifications/initialized", wire.NotificationParams, self._notifier.add_session
        )
        self.server.add_request_handler(
            "skills/list", wire.PaginatedRequestParams, self._list_skills
        )
        self.server.add_request_handler("skills/get", _GetSkillParams, self._get_skill)
        self.server.middleware.append(self._guard_errors)

    def end_streams(self) -> None:
        """Close the event streams of all listeners."""
        self._listen_handler.close()

    async def end_session(self, session: str) -> None:
        """Close the record of an HTTP session."""
        await self._run_serialized(self._pool.end_session, session)

    @asynccontextmanager
    async def _lifespan(self, _server: Server[Any]) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(self._notifier.run)
            yield
            group.cancel_scope.cancel()

    async def _guard_errors(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        """Add the instructions to a handshake; answer errors without internal details."""
        try:
            result = await call_next(ctx)
            if ctx.method in _HANDSHAKE_METHODS and isinstance(result, dict):
                text = await self._run_serialized(self._pool.instructions, *_caller(ctx))
                known = result["capabilities"]
                lists = {name: {**known[name], "listChanged": True} for name in _CHANGING_LISTS}
                capabilities = {**known, **lists, "extensions": {resources.EXTENSION: {}}}
                result = {**result, "capabilities": capabilities, "instructions": text}
            return result
        except (MCPError, ValidationError):
            raise
        except BrainError as error:
            is_asked = isinstance(error, NotFound | InvalidInput | ToolFailure)
            code = wire.INVALID_PARAMS if is_asked else wire.INTERNAL_ERROR
            raise MCPError(code, resources.error_text(error, self._pool)) from error
        except Exception as error:
            logger.exception("%s failed", ctx.method)
            raise MCPError(wire.INTERNAL_ERROR, "internal error; see the server's log") from error

    async def _run_serialized(self, act: Callable[..., T], *args: Any) -> T:
        return await anyio.to_thread.run_sync(act, *args, limiter=self._limiter)

    async def _list_tools(
        self, ctx: RequestContext, _params: wire.PaginatedRequestParams | None
    ) -> wire.ListToolsResult:
        tools = await self._run_serialized(self._pool.list_tools, *_caller(ctx))
        return wire.ListToolsResult(tools=[*map(wire.Tool.model_validate, definitions.mcp(tools))])

    async def _call_tool(
        self, ctx: RequestContext, params: wire.CallToolRequestParams
    ) -> wire.CallToolResult:
        arguments = params.arguments or {}
        try:
            if params.name in QUICK_TOOLS:
                client, session = _caller(ctx)
                call = client, params.name, arguments, session
                result = await self._run_serialized(self._pool.call, *call)
            else:
                result = await self._call_program(ctx, params.name, arguments)
        except ToolFailure as failure:
            return _tool_result(failure.text, is_error=True)
        except Exception:
            logger.exception("%s failed", params.name)
            return _tool_result("Internal error: try again, or tell the user.", is_error=True)
        if result.changed:
            self._notifier.poll_soon()
        return _tool_result(result.text, is_error=False)

    async def _call_program(
        self, ctx: RequestContext, name: str, arguments: dict[str, Any]
    ) -> ToolResult:
        """Call a tool that runs programs, in a thread; cancelling the request ends them."""
        cancel = threading.Event()

        async def set_when_cancelled() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                cancel.set()

        async def send_progress(share: float, message: str) -> None:
            with anyio.move_on_after(_SEND_SECONDS):
                await ctx.session.report_progress(share, 1.0, message or None)

        def report(share: float, message: str) -> None:
            anyio.from_thread.run(send_progress, share, message)

        def call(tools: Toolbox) -> ToolResult:
            return tools.call(name, arguments, cancel=cancel, on_progress=report)

        async with self._program_limiter:
            tools, close = await self._run_serialized(self._pool.open_toolbox, *_caller(ctx))
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(set_when_cancelled)
                    with anyio.CancelScope(shield=True):
                        limiter = anyio.CapacityLimiter(1)  # apart from the threads of other work
                        result = await anyio.to_thread.run_sync(call, tools, limiter=limiter)
                    group.cancel_scope.cancel()
            except ExceptionGroup as failures:  # the group wraps what the tool raises
                raise failures.exceptions[0] from None
            finally:
                with anyio.CancelScope(shield=True):
                    await self._run_serialized(close)
        return result

    async def _list_resources(
        self, ctx: RequestContext, params: wire.PaginatedRequestParams | None
    ) -> wire.ListResourcesResult:
        skills = await self._run_serialized(self._pool.list_skills, *_caller(ctx))
        return resources.list_page(skills, (params.cursor if params else None) or "")

    async def _list_skills(
        self, ctx: RequestContext, params: wire.PaginatedRequestParams
    ) -> dict[str, Any]:
        read = partial(resources.list_entries, self._pool, cursor=params.cursor or "")
        return {**await self._run_serialized(read, *_caller(ctx)), **_SKILLS_RESULT}

    async def _get_skill(self, ctx: RequestContext, params: _GetSkillParams) -> dict[str, Any]:
        read = partial(resources.get_entry, self._pool, uri=params.uri)
        return {**await self._run_serialized(read, *_caller(ctx)), **_SKILLS_RESULT}

    async def _list_templates(
        self, _ctx: RequestContext, _params: wire.PaginatedRequestParams | None
    ) -> wire.ListResourceTemplatesResult:
        return resources.list_templates()

    async def _read_resource(
        self, ctx: RequestContext, params: wire.ReadResourceRequestParams
    ) -> wire.ReadResourceResult:
        uri = str(params.uri)
        read = resources.resource_reader(self._pool, uri)
        try:
            return resources.read_result(uri, await self._run_serialized(read, *_caller(ctx)))
        except BrainError as error:
            reason = resources.error_text(error, self._pool)
            raise resources.not_found_error(uri, reason) from error

    async def _list_prompts(
        self, _ctx: RequestContext, _params: wire.PaginatedRequestParams | None
    ) -> wire.ListPromptsResult:
        return wire.ListPromptsResult(
            prompts=[
                wire.Prompt(
                    name=PROMPT_NAME,
                    description=_PROMPT_DESCRIPTION,
                    arguments=[
                        wire.PromptArgument(
                            name="page", description="The page, from 1 (default)", required=False
                        )
                    ],
                )
            ]
        )

    async def _get_prompt(
        self, ctx: RequestContext, params: wire.GetPromptRequestParams
    ) -> wire.GetPromptResult:
        if params.name != PROMPT_NAME:
            raise MCPError(wire.INVALID_PARAMS, f"the only prompt is {PROMPT_NAME}")
        page = (params.arguments or {}).get("page", "1")
        if not (page.isascii() and page.isdigit() and len(page) <= 6):
            raise MCPError(wire.INVALID_PARAMS, "page is a whole number from 1")
        read = partial(self._pool.read_prompt, page=int(page))
        text = await self._run_serialized(read, *_caller(ctx))
        message = wire.PromptMessage(role="user", content=wire.TextContent(type="text", text=text))
        return wire.GetPromptResult(description=_PROMPT_DESCRIPTION, messages=[message])


_PROMPT_DESCRIPTION = (
    "The system prompt of this brain: its own words, the skills it has, its memory."
)


class _GetSkillParams(wire.RequestParams):
    """The parameters of `skills/get`."""

    uri: str


_SKILLS_RESULT = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def _caller(ctx: RequestContext) -> tuple[str, str]:
    """Return the name that a client gives, "" if none, and the id of its session."""
    params, name = ctx.session.client_params, ""
    if params is not None:
        name = params.client_info.name
    elif ctx.method == "initialize":  # the session has its parameters once this is answered
        name = wire.InitializeRequestParams.model_validate(ctx.params).client_info.name
    return name, session_id(ctx)


def _tool_result(text: str, *, is_error: bool) -> wire.CallToolResult:
    return wire.CallToolResult(
        content=[wire.TextContent(type="text", text=text)], is_error=is_error
    )
