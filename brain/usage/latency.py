"""A histogram of durations in few bytes, for a median and other quantiles; pure.

Bucket 0 holds durations of up to 1 ms, and bucket n those up to 2^(n/2) ms, so that a quantile
is off by at most a factor of the square root of 2. The last bucket holds all longer ones too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from struct import Struct

BUCKETS = 48
"""Buckets of a histogram; the last begins at 2^23 ms, some 2 hours."""
BUCKET_LIMITS = tuple(2 ** (number / 2) for number in range(BUCKETS))
"""The longest duration of each bucket, in ms."""
EMPTY_HISTOGRAM = (0,) * BUCKETS
_LAYOUT = Struct(f">{BUCKETS}I")
MAX_COUNT = (1 << 32) - 1
"""The count at which a bucket stays."""


def add_duration(histogram: Sequence[int], took_ms: int) -> tuple[int, ...]:
    """Return a histogram with one more duration, in ms."""
    bucket = min(bisect_left(BUCKET_LIMITS, took_ms), BUCKETS - 1)
    counts = list(histogram)
    counts[bucket] = min(counts[bucket] + 1, MAX_COUNT)
    return tuple(counts)


def estimate_quantile(histogram: Sequence[int], share: float) -> int:
    """Return the duration in ms that a `share` (0 to 1) of all durations do not exceed.

    It is the upper limit of a bucket, rounded up, and 0 for an empty histogram.
    """
    rank = share * sum(histogram)
    seen = 0
    for count, limit in zip(histogram, BUCKET_LIMITS, strict=True):
        seen += count
        if count and seen >= rank:
            return -int(-limit // 1)
    return 0


def encode_histogram(histogram: Sequence[int]) -> bytes:
    """Return a histogram as bytes: 4 for each bucket, big-endian, without empty ones at the end."""
    return _LAYOUT.pack(*histogram).rstrip(b"\0")


def decode_histogram(data: bytes) -> tuple[int, ...]:
    """Return the histogram in `data`; longer data is cut."""
    return _LAYOUT.unpack(data[: _LAYOUT.size].ljust(_LAYOUT.size, b"\0"))
