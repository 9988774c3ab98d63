"""Notify clients when the brain changed, whoever changed it.

Clients of the revision of 2026 hold a stream open on which they hear what they asked for;
those before it hear on their session, of single resources if they subscribed to them.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp import types as wire
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, SubscriptionBus

from . import resources
from .brain_pool import SkillChanges

RequestContext = ServerRequestContext[Any, Any]

POLL_SECONDS = 1.0
"""Seconds between two looks at the heads, which cost some 0.1 ms."""
DEBOUNCE_SECONDS = 0.2
"""Seconds after a change that others may follow in, so that they are told together."""
MAX_SUBSCRIPTIONS = 1000
"""Addresses one session may subscribe to."""
_SEND_SECONDS = 2.0

logger = logging.getLogger(__name__)


class Subscriber:
    """A session of an older revision, and the addresses it subscribed to."""

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self.uris: set[str] = set()


class ChangeNotifier:
    """Everybody who hears of changes. `moved` tells what changed since the last look."""

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
        """Look soon, for somebody just changed something."""
        self._poll_due.set()

    async def run(self) -> None:
        """Tell of changes until cancelled."""
        while True:
            try:
                changed = await self._poll_changes()
            except Exception:  # of the store: whoever asks for something is told
                logger.exception("the heads cannot be read")
                changed = None
            if changed is not None:
                await self._notify(changed)
            with anyio.move_on_after(POLL_SECONDS):
                await self._poll_due.wait()
                await anyio.sleep(DEBOUNCE_SECONDS)
            self._poll_due = anyio.Event()

    async def _notify(self, changed: SkillChanges) -> None:
        uris = resources.changed_uris(changed.slugs)
        if changed.list_changed:
            await self._bus.publish(ResourcesListChanged())
        for uri in uris:
            await self._bus.publish(ResourceUpdated(uri=uri))
        async with anyio.create_task_group() as group:
            for subscriber in list(self._subscribers.values()):
                group.start_soon(_notify_subscriber, subscriber, changed.list_changed, uris)

    async def add_session(self, ctx: RequestContext, _params: wire.NotificationParams) -> None:
        """Take in a session of an older revision; the one that came first gives way."""
        self._subscribers[session_id(ctx)] = Subscriber(ctx.session)
        while len(self._subscribers) > self._max_subscribers:
            self._subscribers.popitem(last=False)

    async def subscribe(
        self, ctx: RequestContext, params: wire.SubscribeRequestParams
    ) -> wire.EmptyResult:
        """Let a session hear of one resource."""
        subscriber = self._subscribers.get(session_id(ctx))
        if subscriber is not None and len(subscriber.uris) < MAX_SUBSCRIPTIONS:
            subscriber.uris.add(str(params.uri))
        return wire.EmptyResult()

    async def unsubscribe(
        self, ctx: RequestContext, params: wire.UnsubscribeRequestParams
    ) -> wire.EmptyResult:
        """Let a session hear of one resource no more."""
        subscriber = self._subscribers.get(session_id(ctx))
        if subscriber is not None:
            subscriber.uris.discard(str(params.uri))
        return wire.EmptyResult()


async def _notify_subscriber(subscriber: Subscriber, listed: bool, uris: list[str]) -> None:
    with anyio.move_on_after(_SEND_SECONDS):  # one that does not read keeps nobody waiting
        if listed:
            await subscriber.session.send_resource_list_changed()
        for uri in uris:
            if uri in subscriber.uris:
                await subscriber.session.send_resource_updated(uri)


def session_id(ctx: RequestContext) -> str:
    """Return what tells sessions apart: their id over HTTP, "" by stdio, where there is one."""
    return ctx.request.headers.get("mcp-session-id", "") if ctx.request is not None else ""
