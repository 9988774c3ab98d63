"""Whether blobs have the sizes that entries of trees say.

Blobs are read while trees are checked. So what the entries say is noted first, and
crossed out as the blobs turn out to be so. Only where something is left, which a
healthy brain never sees, are the trees checked once more, now that it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress

from ..errors import BrainError


class Sizes:
    """What entries say of blobs, and in `true` the sizes of those of which they say wrong."""

    def __init__(self) -> None:
        self._unproven: set[tuple[bytes, int]] = set()
        self.true: dict[bytes, int] = {}
        self._said: dict[bytes, int] | None = None

    def note(self, said: Iterable[tuple[bytes, int]]) -> None:
        """Note what entries say of some blobs."""
        self._unproven.update(said)

    def confirm(self, sizes: Iterable[tuple[bytes, int]]) -> None:
        """Cross out what is true of some blobs."""
        self._unproven.difference_update(sizes)

    def expected(self, blob: bytes, size: int) -> int:
        """Return the size that a large blob has to have which claims to have `size` bytes.

        If no entry says that, it is what one says; a blob that no entry names has what it claims.
        """
        if (blob, size) in self._unproven:
            return size
        if self._said is None:
            self._said = dict(self._unproven)
        return self._said.get(blob, size)

    def settle(self, size_of: Callable[[bytes], int], damaged: Collection[bytes]) -> None:
        """Find the true sizes of blobs of which something else is said, where they have one."""
        for blob in {blob for blob, _ in self._unproven}.difference(damaged):
            with suppress(BrainError):
                self.true[blob] = size_of(blob)
