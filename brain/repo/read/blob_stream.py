"""A restartable stream over the pieces of a blob, as a source for the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator


class RestartableStream:
    """A `Source` over pieces; `start` begins to stream them from the first one."""

    def __init__(self, start: Callable[[], Iterator[bytes]]) -> None:
        self._open_pieces = start
        self.seek(0)

    def seek(self, offset: int) -> int:
        """Go back to the start; the store seeks nowhere else."""
        if offset:
            raise ValueError(offset)
        self._pieces = self._open_pieces()
        self._remaining = memoryview(b"")
        return 0

    def readinto(self, buffer: memoryview) -> int:
        """Fill `buffer` as far as the next piece goes."""
        while not self._remaining:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._remaining = memoryview(piece)
        count = min(len(buffer), len(self._remaining))
        buffer[:count] = self._remaining[:count]
        self._remaining = self._remaining[count:]
        return count
