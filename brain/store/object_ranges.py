"""Range reads over structured objects, so that several processes can share them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import StoreError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol

    from .protocol import StoreReader
else:  # see `protocol`
    Protocol = object

ObjectRange = tuple[int, int]
"""The first and the last place of a part."""

StoredObject = tuple[int, bytes, bytes | StoreError]
"""Kind, id, and the data or why they cannot be had."""


class ObjectRangeReader(Protocol):
    """The part of `Reader` by which several processes share the objects of one store."""

    def split_objects(self, size: int, most: int) -> list[ObjectRange]:
        """Cut the structured objects that are here now into at most `most` parts, in order.

        A part has about `size` objects, or more where there would be too many parts.
        """

    def read_object_range(self, part: ObjectRange) -> Iterator[StoredObject]:
        """Stream the objects of a part in the order of insertion."""

    def reopen_for_fork(self) -> AbstractContextManager[StoreReader]:
        """Open the store once more, for a forked child, which must not use what it inherits."""


def split_range(first: int, last: int, size: int, max_ranges: int) -> list[ObjectRange]:
    """Return the parts of the places from `first` to `last`; none if there are none."""
    step = max(size, -(-(last - first + 1) // max_ranges))
    return [(start, min(start + step - 1, last)) for start in range(first, last + 1, step)]
