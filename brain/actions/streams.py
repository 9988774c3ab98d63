"""A stored blob, or what follows one, as a source that a store can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator


class Pieces:
    """A `Source` over pieces; `start` begins to stream them from the first one."""

    def __init__(self, start: Callable[[], Iterator[bytes]]) -> None:
        self._start = start
        self.seek(0)

    def seek(self, offset: int) -> int:
        """Go back to the start, the one place that is asked for."""
        if offset:
            raise ValueError(offset)
        self._pieces = self._start()
        self._left = memoryview(b"")
        return 0

    def readinto(self, buffer: memoryview) -> int:
        """Fill `buffer` as far as the next piece goes."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count
