"""Calls that run programs: in threads of their own, with progress, ended with their request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
from mcp.server.session import ServerSession

T = TypeVar("T")

_SEND_SECONDS = 2.0
"""Seconds that a client may take to read a notification of progress, which else is dropped."""


async def run_with_cancel(call: Callable[[threading.Event], T]) -> T:
    """Run `call(cancel)` in a thread; cancelling this task sets `cancel` and waits for its end."""
    cancel = threading.Event()

    async def set_when_cancelled() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancel.set()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(set_when_cancelled)
            with anyio.CancelScope(shield=True):
                limiter = anyio.CapacityLimiter(1)  # apart from the threads of other work
                result = await anyio.to_thread.run_sync(call, cancel, limiter=limiter)
            group.cancel_scope.cancel()
    except ExceptionGroup as failures:  # the group wraps what `call` raises
        raise failures.exceptions[0] from None
    return result


def progress_reporter(session: ServerSession) -> Callable[[float, str], None]:
    """Return a function for other threads that notifies the client of a request of its progress.

    It takes the share that is done, from 0 to 1, and a message. Nothing is sent to a client
    that did not ask.
    """

    async def send(share: float, message: str) -> None:
        with anyio.move_on_after(_SEND_SECONDS):
            await session.report_progress(share, 1.0, message or None)

    def report(share: float, message: str) -> None:
        anyio.from_thread.run(send, share, message)

    return report
