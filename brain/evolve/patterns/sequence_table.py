"""A table of sequences of steps: how often each is counted, and where it ends, with numpy.

A row is a sequence that ended somewhere, frequent or not. The rows of frequent ones are nodes of a
tree; the parent of a node is the sequence without the first step. The key of a row is the parent
with that step, so that a longer sequence needs no more room than a short one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROOT = 0
"""The node of the sequence without steps."""
NO_NODE = -1
STEP_BITS = 32
STEP_MASK = (1 << STEP_BITS) - 1

_NO_ROW = -1
_NO_PLACE = -1
_SPARE = 8
"""A column that is full gets room for one in so many more."""
_LATER_SHARE = 8
"""Later keys join the first ones when they are one in so many."""


class GrowingColumn:
    """A column of numbers that grows at its end, without a copy of all for each addition."""

    def __init__(self, dtype: type[np.integer[Any]]) -> None:
        self._room = np.zeros(0, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[np.integer[Any]]:
        """The numbers; what is assigned to them is stored, until the column grows."""
        return self._room[: self._size]

    def extend(self, more: NDArray[np.integer[Any]]) -> None:
        """Add numbers."""
        size = self._size + len(more)
        if size > len(self._room):
            room = np.empty(size + size // _SPARE, self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : size] = more
        self._size = size


class _SortedKeys:
    """Keys in ascending order with their rows."""

    def __init__(self) -> None:
        self.keys = np.zeros(0, np.int64)
        self.rows = np.zeros(0, np.int32)

    def find(self, keys: Numbers) -> Numbers:
        """Return the row of each key, _NO_ROW for one that is not there."""
        if not len(self.keys):
            return np.full(len(keys), _NO_ROW, np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.rows[at], _NO_ROW)

    def insert(self, keys: Numbers, rows: NDArray[np.integer[Any]]) -> None:
        """Add keys, in ascending order, that are not there."""
        if len(self.keys) and len(keys) and keys[0] < self.keys[-1]:
            at = np.searchsorted(self.keys, keys)
            self.keys = np.insert(self.keys, at, keys)
            self.rows = np.insert(self.rows, at, rows)
        else:
            self.keys = np.concatenate((self.keys, keys))
            self.rows = np.concatenate((self.rows, rows.astype(np.int32)))


class SequenceTable:
    """Rows by their keys. Columns of rows: `counts`, in messages, and `nodes`.

    Places are remembered for rows that are not nodes, to go on there once a row is frequent.
    """

    def __init__(self) -> None:
        self.counts = GrowingColumn(np.int32)
        self.nodes = GrowingColumn(np.int32)
        self._first_keys = _SortedKeys()
        self._later_keys = _SortedKeys()
        self._new_keys: list[Numbers] = []  # of the last rows
        self._last_places = GrowingColumn(np.int32)  # of each row, into the two columns below
        self._places = GrowingColumn(np.int32)
        self._places_before = GrowingColumn(np.int32)

    def find_nodes(self, keys: Numbers) -> Numbers:
        """Return the nodes of keys, NO_NODE without one."""
        rows = self._find(keys)
        nodes = np.full(len(keys), NO_NODE, np.int64)
        is_there = rows != _NO_ROW
        nodes[is_there] = self.nodes.values[rows[is_there]]
        return nodes

    def find_or_add(self, keys: Numbers) -> Numbers:
        """Return the rows of keys in ascending order; new rows count nothing.

        They are found again after `index_keys`.
        """
        rows = self._find(keys)
        new = np.flatnonzero(rows == _NO_ROW)
        rows[new] = np.arange(len(self.counts), len(self.counts) + len(new))
        self._new_keys.append(keys[new])
        self.counts.extend(np.zeros(len(new), np.int32))
        self.nodes.extend(np.full(len(new), NO_NODE, np.int32))
        self._last_places.extend(np.full(len(new), _NO_PLACE, np.int32))
        return rows

    def _find(self, keys: Numbers) -> Numbers:
        rows = self._first_keys.find(keys)
        missing = np.flatnonzero(rows == _NO_ROW)
        rows[missing] = self._later_keys.find(keys[missing])
        return rows

    def add_places(self, rows: Numbers, places: Numbers) -> None:
        """Remember a place for each of the rows; equal rows come one after another."""
        if not len(rows):
            return
        first = len(self._places)
        is_first = np.append(True, rows[1:] != rows[:-1])
        before = np.arange(first - 1, first + len(rows) - 1)
        before[is_first] = self._last_places.values[rows[is_first]]
        self._places.extend(places)
        self._places_before.extend(before)
        lasts = np.append(np.flatnonzero(is_first)[1:] - 1, len(rows) - 1)
        self._last_places.values[rows[lasts]] = first + lasts

    def list_places(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """Return the remembered places of rows, and for each which of the rows it is of."""
        owners = np.arange(len(rows))
        at = self._last_places.values[rows]
        found_owners, found = [owners[:0]], [owners[:0]]
        while len(at):
            is_there = at != _NO_PLACE
            owners, at = owners[is_there], at[is_there]
            found_owners.append(owners)
            found.append(self._places.values[at].astype(np.int64))
            at = self._places_before.values[at]
        return np.concatenate(found), np.concatenate(found_owners)

    def index_keys(self) -> None:
        """Sort the keys of new rows into the later ones, and these into the first ones if many."""
        keys = np.concatenate((*self._new_keys, np.zeros(0, np.int64)))
        order = np.argsort(keys, kind="stable")
        self._later_keys.insert(keys[order], len(self.counts) - len(keys) + order)
        self._new_keys = []
        if len(self._later_keys.keys) * _LATER_SHARE > len(self._first_keys.keys):
            self._first_keys.insert(self._later_keys.keys, self._later_keys.rows)
            self._later_keys = _SortedKeys()
