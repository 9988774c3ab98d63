"""Rates in Redis: one key a limit and period, counted by a script that Redis runs as a whole.

A key is `cee:NAME:PERIOD:KEY`, such as `cee:daily:20415:` and the id of a brain. It expires one
period after the last attempt that it counts, by the clock of Redis, so never before the period
ends. A clock that is set back by more than that finds the earlier period empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..errors import StoreError, printable_text
from . import experience_limits
from .experience_limits import CONNECT_TIMEOUT_SECONDS
from .experience_protocol import RateLimit
from .server_urls import REDIS_SCHEMES, bad_url_error, describe_url, find_server_url_fault

_TAKE = """
for i, key in ipairs(KEYS) do
  local count = tonumber(redis.call('GET', key) or '0')
  if count >= tonumber(ARGV[2 * i - 1]) then return i end
end
for i, key in ipairs(KEYS) do
  redis.call('INCR', key)
  redis.call('EXPIRE', key, ARGV[2 * i])
end
return 0
"""
"""Returns the position of the limit that is reached, 0 if the attempt was counted."""


class RedisRates:
    """Counts attempts of many agents; implements `RateStore`. Threads may share it.

    A call that Redis does not answer is never repeated: it may have been counted.
    """

    def __init__(self, url: str) -> None:
        fault = find_server_url_fault(url, REDIS_SCHEMES)
        if fault:
            raise bad_url_error(f"the URL of rates {fault}")
        self._label = describe_url(url)
        try:
            self._client: Any = redis.Redis.from_url(
                url,
                socket_timeout=CONNECT_TIMEOUT_SECONDS,
                socket_connect_timeout=CONNECT_TIMEOUT_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError:
            raise bad_url_error("the URL of rates is malformed") from None
        self._take = self._client.register_script(_TAKE)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def take(self, key: str, limits: Sequence[RateLimit], now: int) -> str:
        """Count an attempt under all limits, or return the name of the one that is reached."""
        experience_limits.check_limits(key, limits, now)
        if not limits:
            return ""
        keys = [_redis_key(key, limit, now) for limit in limits]
        args = [value for limit in limits for value in (limit.most, limit.seconds)]
        try:
            reached = int(self._take(keys=keys, args=args))
        except (redis.RedisError, OSError, ValueError) as error:
            raise self._unavailable_error(error) from error
        return limits[reached - 1].name if reached else ""

    def read(self, key: str, limits: Sequence[RateLimit], now: int) -> dict[str, int]:
        """Return how many attempts count at present, by the name of the limit."""
        experience_limits.check_limits(key, limits, now)
        if not limits:
            return {}
        try:
            counts = self._client.mget([_redis_key(key, limit, now) for limit in limits])
            return {
                limit.name: int(count or 0) for limit, count in zip(limits, counts, strict=True)
            }
        except (redis.RedisError, OSError, ValueError) as error:
            raise self._unavailable_error(error) from error

    def _unavailable_error(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self._label} does not count: {printable_text(error)}",
            code="rates_unavailable",
            hint="an attempt is counted whole or not at all: try again when the server answers, or"
            " correct the URL with `brain config experience --rates URL`",
        )


def _redis_key(key: str, limit: RateLimit, now: int) -> str:
    return f"cee:{limit.name}:{experience_limits.number_of_period(limit, now)}:{key}"
