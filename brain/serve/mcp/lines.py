"""Lines read from a descriptor, of bounded length, in a thread of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator

_PIECE = 1 << 16


def lines(handle: int, limit: int) -> Iterator[bytes | None]:
    """Yield each line without its end; None for one of more than `limit` bytes, passed over.

    Memory stays within about twice the limit, however long a line is. Blocks. A last line
    without an end counts. Raises `OSError`.
    """
    parts: list[bytes] = []
    size = 0
    over = False
    while piece := os.read(handle, _PIECE):
        *ends, rest = piece.split(b"\n")
        for end in ends:
            if over or size + len(end) > limit:
                yield None
            else:
                yield b"".join((*parts, end)).removesuffix(b"\r")
            parts, size, over = [], 0, False
        size += len(rest)
        if size > limit:
            parts, over = [], True
        elif rest:
            parts.append(rest)
    if over:
        yield None
    elif parts:
        yield b"".join(parts)
