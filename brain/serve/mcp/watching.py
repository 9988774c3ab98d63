"""Telling clients that the brain moved on, whoever moved it.

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
from .desk import Changed

Context = ServerRequestContext[Any, Any]

EVERY = 1.0
"""Seconds between two looks at the heads, which cost some 0.1 ms."""
SETTLING = 0.2
"""Seconds after a change that others may follow in, so that they are told together."""
MAX_ADDRESSES = 1000
"""Addresses one session may subscribe to."""
_PATIENCE = 2.0

log = logging.getLogger(__name__)


class Watcher:
    """A session of an older revision, and the addresses it subscribed to."""

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self.addresses: set[str] = set()


class Watchers:
    """Everybody who hears of changes. `moved` tells what changed since the last look."""

    def __init__(
        self, bus: SubscriptionBus, moved: Callable[[], Awaitable[Changed | None]], most: int
    ) -> None:
        self._bus = bus
        self._moved = moved
        self._most = most
        self._known: OrderedDict[str, Watcher] = OrderedDict()
        self._due = anyio.Event()

    def look(self) -> None:
        """Look soon, for somebody just changed something."""
        self._due.set()

    async def watch(self) -> None:
        """Tell of changes until cancelled."""
        while True:
            try:
                changed = await self._moved()
            except Exception:  # of the store: whoever asks for something is told
                log.exception("the heads cannot be read")
                changed = None
            if changed is not None:
                await self._tell(changed)
            with anyio.move_on_after(EVERY):
                await self._due.wait()
                await anyio.sleep(SETTLING)
            self._due = anyio.Event()

    async def _tell(self, changed: Changed) -> None:
        addresses = resources.changed(changed.slugs)
        if changed.listed:
            await self._bus.publish(ResourcesListChanged())
        for address in addresses:
            await self._bus.publish(ResourceUpdated(uri=address))
        async with anyio.create_task_group() as group:
            for watcher in list(self._known.values()):
                group.start_soon(_tell_one, watcher, changed.listed, addresses)

    async def joined(self, ctx: Context, _params: wire.NotificationParams) -> None:
        """Take in a session of an older revision; the one that came first gives way."""
        self._known[session_of(ctx)] = Watcher(ctx.session)
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    async def subscribe(
        self, ctx: Context, params: wire.SubscribeRequestParams
    ) -> wire.EmptyResult:
        """Let a session hear of one resource."""
        watcher = self._known.get(session_of(ctx))
        if watcher is not None and len(watcher.addresses) < MAX_ADDRESSES:
            watcher.addresses.add(str(params.uri))
        return wire.EmptyResult()

    async def unsubscribe(
        self, ctx: Context, params: wire.UnsubscribeRequestParams
    ) -> wire.EmptyResult:
        """Let a session hear of one resource no more."""
        watcher = self._known.get(session_of(ctx))
        if watcher is not None:
            watcher.addresses.discard(str(params.uri))
        return wire.EmptyResult()


async def _tell_one(watcher: Watcher, listed: bool, addresses: list[str]) -> None:
    with anyio.move_on_after(_PATIENCE):  # one that does not read keeps nobody waiting
        if listed:
            await watcher.session.send_resource_list_changed()
        for address in addresses:
            if address in watcher.addresses:
                await watcher.session.send_resource_updated(address)


def session_of(ctx: Context) -> str:
    """Return what tells sessions apart: their id over HTTP, "" by stdio, where there is one."""
    return ctx.request.headers.get("mcp-session-id", "") if ctx.request is not None else ""
