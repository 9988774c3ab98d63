"""Notify clients when the brain changed, by any process.

Clients of the revision of 2026 hold a stream open for the notifications they asked for.
Older clients get them on their session; for single resources they subscribe.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio
from mcp import types as wire
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    ResourcesListChanged,
    ResourceUpdated,
    SubscriptionBus,
    ToolsListChanged,
)

from . import resources
from .brain_pool import NO_SESSION, SkillChanges

RequestContext = ServerRequestContext[Any, Any]

POLL_SECONDS = 1.0
"""Seconds between two reads of the heads; one read takes some 0.1 ms."""
DEBOUNCE_SECONDS = 0.2
"""Seconds to wait for further changes, to notify of them together."""
MAX_SUBSCRIPTIONS = 1000
"""URIs one session may subscribe to."""
_SEND_SECONDS = 2.0

logger = logging.getLogger(__name__)


class Subscriber(NamedTuple):
    """A session of an older revision, and the URIs it subscribed to."""

    session: ServerSession
    uris: set[str]


class ChangeNotifier:
    """Notifies all listeners. `poll_changes` returns what changed since its last call."""

    def __init__(
        self,
        bus: SubscriptionBus,
        poll_changes: Callable[[], Awaitable[SkillChanges | None]],
        max_subscribers: int,
    ) -> None:
        self._bus = bus
        self._poll_changes = poll_changes
        self._max_subscribers = max_subscribers
        self._subscribers: OrderedDict[str, Subscriber] = OrderedDict()
        self._poll_due = anyio.Event()

    def poll_soon(self) -> None:
        """Poll soon: a call has just changed the brain."""
        self._poll_due.set()

    async def run(self) -> None:
        """Poll and notify until cancelled."""
        while True:
            try:
                changed = await self._poll_changes()
            except Exception:  # of the store: the next request reports it to its client
                logger.exception("the heads cannot be read")
                changed = None
            if changed is not None:
                await self._notify(changed)
            with anyio.move_on_after(POLL_SECONDS):
                await self._poll_due.wait()
                await anyio.sleep(DEBOUNCE_SECONDS)
            self._poll_due = anyio.Event()

    async def _notify(self, changed: SkillChanges) -> None:
        uris = resources.changed_uris(changed.addresses)
        if changed.tools_changed:
            await self._bus.publish(ToolsListChanged())
        if changed.list_changed:
            await self._bus.publish(ResourcesListChanged())
        for uri in uris:
            await self._bus.publish(ResourceUpdated(uri=uri))
        async with anyio.create_task_group() as group:
            for subscriber in list(self._subscribers.values()):
                group.start_soon(_notify_subscriber, subscriber, changed, uris)

    async def add_session(self, ctx: RequestContext, _params: wire.NotificationParams) -> None:
        """Add a session of an older revision; above the limit the oldest is dropped."""
        self._subscribers[session_id(ctx)] = Subscriber(ctx.session, set())
        while len(self._subscribers) > self._max_subscribers:
            self._subscribers.popitem(last=False)

    async def subscribe(
        self, ctx: RequestContext, params: wire.SubscribeRequestParams
    ) -> wire.EmptyResult:
        """Subscribe a session to a resource."""
        _, uris = self._subscribers.get(session_id(ctx), (None, set()))
        if len(uris) < MAX_SUBSCRIPTIONS:
            uris.add(str(params.uri))
        return wire.EmptyResult()

    async def unsubscribe(
        self, ctx: RequestContext, params: wire.UnsubscribeRequestParams
    ) -> wire.EmptyResult:
        """Unsubscribe a session from a resource."""
        _, uris = self._subscribers.get(session_id(ctx), (None, set()))
        uris.discard(str(params.uri))
        return wire.EmptyResult()


async def _notify_subscriber(
    subscriber: Subscriber, changed: SkillChanges, uris: list[str]
) -> None:
    with anyio.move_on_after(_SEND_SECONDS):  # a client that does not read must not block others
        if changed.tools_changed:
            await subscriber.session.send_tool_list_changed()
        if changed.list_changed:
            await subscriber.session.send_resource_list_changed()
        for uri in uris:
            if uri in subscriber.uris:
                await subscriber.session.send_resource_updated(uri)


def session_id(ctx: RequestContext) -> str:
    """Return the id of an HTTP session; "" by stdio, which has a single session."""
    if ctx.request is None:
        return ""
    found: str = ctx.request.headers.get("mcp-session-id", NO_SESSION)
    return found
