"""What a store promises to who looks at all that is structured in it, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import StoreError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol

    from .protocol import Reader
else:  # see `protocol`
    Protocol = object

Part = tuple[int, int]
"""The first and the last place of a part."""

Stored = tuple[int, bytes, bytes | StoreError]
"""Kind, id, and the data or why they cannot be had."""


class PartReader(Protocol):
    """The part of `Reader` by which several processes share the objects of one store."""

    def parts(self, size: int, most: int) -> list[Part]:
        """Cut the structured objects that are here now into at most `most` parts, in order.

        A part has about `size` objects, or more where there would be too many parts.
        """

    def part(self, part: Part) -> Iterator[Stored]:
        """Stream the objects of a part in the order of insertion."""

    def aside(self) -> AbstractContextManager[Reader]:
        """Open the store once more, for a forked child, which must not use what it inherits."""


def cut(first: int, last: int, size: int, most: int) -> list[Part]:
    """Return the parts of the places from `first` to `last`; none if there are none."""
    step = max(size, -(-(last - first + 1) // most))
    return [(start, min(start + step - 1, last)) for start in range(first, last + 1, step)]
