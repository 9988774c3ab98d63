"""Connections to PostgreSQL that give up when the server stops answering."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg

from .experience_limits import CONNECT_TIMEOUT_SECONDS, SERVER_TIMEOUT_SECONDS

T = TypeVar("T")

_ANSWER_TIMEOUT_SECONDS = SERVER_TIMEOUT_SECONDS + 1.0
"""A server that is well ends a statement itself before that."""

_SERVER_SETTINGS = " ".join(
    f"-c {name}={SERVER_TIMEOUT_SECONDS * 1000}"
    for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
)


class _LimitedConnection(psycopg.Connection[Any]):
    """A connection that is closed if one answer takes longer than the limit.

    The limits that the server itself keeps do not help if it hangs or its machine is gone.
    """

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait for an answer. Raises `psycopg.OperationalError` if it takes too long."""
        return super().wait(self._limit(gen), *args, **kwargs)

    def _limit(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        deadline = time.monotonic() + _ANSWER_TIMEOUT_SECONDS
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > deadline:
                    self.pgconn.finish()
                    raise psycopg.OperationalError("the server did not answer in time")
                wanted = gen.send(ready)
        except StopIteration as end:
            value: T = end.value
            return value


def connect_to_postgres(*args: Any, **kwargs: Any) -> psycopg.Connection[Any]:
    """Return a new connection with limits on time."""
    options = f"{kwargs.pop('options', '')} {_SERVER_SETTINGS}".strip()
    limits = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "tcp_user_timeout": SERVER_TIMEOUT_SECONDS * 1000,
        "application_name": "brain",
    }
    return _LimitedConnection.connect(*args, **{**limits, **kwargs, "options": options})
