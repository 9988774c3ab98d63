"""Times of results: milliseconds since 1970 as `datetime`, and as ISO 8601 text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_SECOND = 253_402_300_799
"""The last second of the year 9999, the last one of `datetime`."""


def utc_time(milliseconds: int) -> datetime:
    """Return a time in UTC, up to the year 9999. Raises `OverflowError` after that."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def epoch_ms(time: datetime) -> int:
    """Return the milliseconds since 1970 of a time."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def iso_time(time: datetime) -> str:
    """Return a time as ISO 8601 in UTC, such as 2026-11-20T23:15:40.123Z."""
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def iso_second(seconds: int) -> str:
    """Return a time in seconds since 1970 as ISO 8601 in UTC, such as 2026-11-20T23:15:40Z."""
    if seconds > LAST_SECOND:
        return "the end of the year 9999"
    return utc_time(seconds * 1000).strftime("%Y-%m-%dT%H:%M:%SZ")
