"""Count the sequences of steps in which very many messages end, with numpy.

A tree has a node for each frequent sequence; its parent is the sequence without the first step.
The tree of most messages, the base, is built level by level and stays. Messages that came or went
since are counted against it: what they add and take away decides, with the counts of the base,
which nodes are frequent, so that the work is that of the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .count_plain import MaximalSequences, Steps
from .message_log import LATE_MS, NO_STEP, MessageLog

_Numbers = NDArray[np.int64]
_Places = NDArray[np.int32]
_Flags = NDArray[np.bool_]

_ROOT = 0
_NO_NODE = -1
_END = np.iinfo(np.int64).max
_STEP_BITS = 22
"""A key is a node and the step before it: node << _STEP_BITS | step."""
_STEP_MASK = (1 << _STEP_BITS) - 1
_REBUILD_SHARE = 32
"""The base is built anew when one in so many of its messages came or went."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """The sequences of one length in the base, frequent or not, sorted by their keys.

    Those of key `i` end at `ends[offsets[i]:offsets[i + 1]]`; the node is _NO_NODE if they are
    not frequent. The last key is _END, which nothing has.
    """

    keys: _Numbers
    counts: _Numbers
    nodes: _Numbers
    offsets: _Numbers
    ends: _Places

    def find(self, keys: _Numbers) -> tuple[_Numbers, _Flags]:
        """Return the row of each key, and whether it is there."""
        rows = np.searchsorted(self.keys, keys)
        return rows, self.keys[rows] == keys


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """For each node its count, first step, length, parent, and prefix: all but the last step.

    The root comes first. `added` are the nodes that no level has, by their keys.
    """

    counts: _Numbers
    steps: _Numbers
    lengths: _Numbers
    parents: _Numbers
    prefixes: _Numbers
    added: dict[int, int] = field(default_factory=dict)

    def read(self, node: int) -> Steps:
        """Return the sequence of a node."""
        steps = []
        while node != _ROOT:
            steps.append(int(self.steps[node]))
            node = int(self.parents[node])
        return tuple(steps)

    def extended(self, *, added: dict[int, int], **columns: _Numbers) -> _Tree:
        """Return a tree with more nodes."""
        return _Tree(
            **{
                name: np.concatenate((getattr(self, name), column))
                for name, column in columns.items()
            },
            added=added,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """Places where sequences end: after which step, of which message, at which node.

    `gone`: the message is counted no more, so that it takes away from the counts of the base.
    """

    ends: _Places
    messages: _Places
    nodes: _Numbers
    gone: _Flags

    def take(self, chosen: _Numbers | _Flags) -> _Ends:
        """Return some of them, in the order of `chosen`."""
        return _Ends(
            ends=self.ends[chosen],
            messages=self.messages[chosen],
            nodes=self.nodes[chosen],
            gone=self.gone[chosen],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groups:
    """Places grouped by key; group `i` has those from `offsets[i]` to `offsets[i + 1]`."""

    keys: _Numbers
    counts: _Numbers
    offsets: _Numbers
    places: _Ends


class BulkCounter:
    """Counts the messages of a log, again and again as it grows."""

    def __init__(self, log: MessageLog) -> None:
        self._log = log
        self._levels: list[_Level] = []
        self._tree = _bare_tree()
        self._in_base = np.zeros(0, np.bool_)

    def find_maximal(self, now: int, limit: int) -> MaximalSequences:
        """Return the maximal sequences at a time in ms, at least the `limit` most frequent."""
        times = np.frombuffer(self._log.times, np.int64)
        counted = (now - self._log.rules.window_ms <= times) & (times <= now + LATE_MS)
        changed = counted.copy()
        changed[: len(self._in_base)] ^= self._in_base
        is_much = np.count_nonzero(changed) * _REBUILD_SHARE > len(self._in_base)
        if is_much or not self._levels:
            self._build_base(counted)
            tree = self._tree
        else:
            tree = self._count_changes(counted, np.flatnonzero(changed))
        return self._select_maximal(tree, limit, int(np.count_nonzero(counted)))

    def _build_base(self, counted: _Flags) -> None:
        self._levels, self._tree, self._in_base = [], _bare_tree(), counted
        rules = self._log.rules
        places = self._list_ends(np.flatnonzero(counted), counted)
        for length in range(1, rules.max_steps + 2):
            groups = self._group_by_step(places, length)
            is_frequent = groups.counts >= rules.min_count
            first = len(self._tree.counts)
            nodes = np.where(is_frequent, first - 1 + np.cumsum(is_frequent), _NO_NODE)
            keys = groups.keys[is_frequent]
            parents, steps = keys >> _STEP_BITS, keys & _STEP_MASK
            prefixes = self._find_prefixes(parents, steps, length)
            self._levels.append(
                _Level(
                    keys=np.append(groups.keys, _END),
                    counts=np.append(groups.counts, 0),
                    nodes=np.append(nodes, _NO_NODE),
                    offsets=groups.offsets,
                    ends=groups.places.ends,
                )
            )
            self._tree = self._tree.extended(
                counts=groups.counts[is_frequent],
                steps=steps,
                lengths=np.full(len(keys), length, np.int64),
                parents=parents,
                prefixes=prefixes,
                added={},
            )
            places = _move_to(groups, nodes)

    def _find_prefixes(self, parents: _Numbers, steps: _Numbers, length: int) -> _Numbers:
        """Return the nodes of sequences without their last step; their level is built last."""
        if length == 1:
            return np.full(len(parents), _ROOT, np.int64)
        level = self._levels[length - 2]
        before = self._tree.prefixes[parents]
        rows, is_there = level.find(before << _STEP_BITS | steps)
        return np.where(is_there & (before != _NO_NODE), level.nodes[rows], _NO_NODE)

    def _count_changes(self, counted: _Flags, changed: _Numbers) -> _Tree:
        """Return the tree with the messages that came since the base, and without those gone."""
        new = _NewNodes(self._tree, self._levels)
        places = self._list_ends(changed, counted)
        for length, level in enumerate(self._levels, 1):
            groups = self._group_by_step(
                places.take(np.lexsort((places.ends, places.gone))), length
            )
            rows, is_there = level.find(groups.keys)
            totals = groups.counts + np.where(is_there, level.counts[rows], 0)
            nodes = np.where(is_there, level.nodes[rows], _NO_NODE)
            is_known = nodes != _NO_NODE
            new.counts[nodes[is_known]] = totals[is_known]
            parts = []
            for at in np.flatnonzero(~is_known & (totals >= self._log.rules.min_count)):
                nodes[at] = new.add(int(groups.keys[at]), int(totals[at]), length)
                if is_there[at]:
                    parts.append(self._promote(level, int(rows[at]), int(nodes[at])))
            places = _join([_move_to(groups, nodes), *parts])
        return new.build_tree()

    def _promote(self, level: _Level, row: int, node: int) -> _Ends:
        """Return the places in the base of a sequence that is frequent only now."""
        ends = level.ends[level.offsets[row] : level.offsets[row + 1]]
        starts = np.frombuffer(self._log.starts, np.int64)
        return _Ends(
            ends=ends,
            messages=(np.searchsorted(starts, ends - 1, "right") - 1).astype(np.int32),
            nodes=np.full(len(ends), node, np.int64),
            gone=np.zeros(len(ends), np.bool_),
        )

    def _list_ends(self, messages: _Numbers, counted: _Flags) -> _Ends:
        """Return the place after each step of the messages, at the root."""
        counts = np.frombuffer(self._log.counts, np.int32)[messages].astype(np.int64)
        starts = np.frombuffer(self._log.starts, np.int64)[messages]
        before = np.cumsum(counts) - counts
        offsets = np.arange(counts.sum(), dtype=np.int64) - np.repeat(before, counts)
        return _Ends(
            ends=(np.repeat(starts + 1, counts) + offsets).astype(np.int32),
            messages=np.repeat(messages.astype(np.int32), counts),
            nodes=np.full(len(offsets), _ROOT, np.int64),
            gone=np.repeat(~counted[messages], counts),
        )

    def _group_by_step(self, places: _Ends, length: int) -> _Groups:
        """Group places by their node and the step before it; those without one are left out.

        The places of a node are in order, but for those of messages that are gone.
        """
        steps = np.frombuffer(self._log.steps, np.int32)[places.ends - length]
        rows = np.flatnonzero(steps != NO_STEP)
        rows = rows[_order_by(steps[rows])]
        rows = rows[_order_by(places.nodes[rows])]
        chosen = places.take(rows)
        keys = chosen.nodes << _STEP_BITS | steps[rows]
        is_first = np.ones(len(keys), np.bool_)
        is_first[1:] = keys[1:] != keys[:-1]
        is_counted = is_first.copy()
        is_counted[1:] |= chosen.messages[1:] != chosen.messages[:-1]
        weights = is_counted.astype(np.int8)
        weights[chosen.gone & is_counted] = -1
        firsts = np.flatnonzero(is_first)
        return _Groups(
            keys=keys[firsts],
            counts=np.add.reduceat(weights, firsts, dtype=np.int64) if len(firsts) else firsts,
            offsets=np.append(firsts, len(keys)),
            places=chosen,
        )

    def _select_maximal(self, tree: _Tree, limit: int, messages: int) -> MaximalSequences:
        rules = self._log.rules
        frequent = np.flatnonzero((tree.counts >= rules.min_count) & (tree.lengths > 1))
        covering = np.zeros(len(tree.counts), np.int64)
        np.maximum.at(covering, tree.parents[frequent], tree.counts[frequent])
        has_prefix = frequent[tree.prefixes[frequent] != _NO_NODE]
        np.maximum.at(covering, tree.prefixes[has_prefix], tree.counts[has_prefix])
        too_long = frequent[tree.lengths[frequent] > rules.max_steps]
        is_maximal = (covering < tree.counts)[frequent] & (
            tree.lengths[frequent] <= rules.max_steps
        )
        maximal = frequent[is_maximal]
        if len(maximal) > limit:  # those that count as often as the last one are taken, too
            counts = tree.counts[maximal]
            maximal = maximal[counts >= np.partition(counts, -limit)[-limit]]
        return MaximalSequences(
            messages=messages,
            counts=[(tree.read(node), int(tree.counts[node])) for node in maximal.tolist()],
            too_long=map(tree.read, too_long.tolist()),
            count_of=lambda steps: self._count_of(tree, steps),
        )

    def _count_of(self, tree: _Tree, steps: Steps) -> int:
        node = _ROOT
        for level, step in zip(self._levels, reversed(steps), strict=False):
            node = _find_child(level, tree.added, node << _STEP_BITS | step)
            if node == _NO_NODE:
                return 0
        return int(tree.counts[node])


class _NewNodes:
    """The nodes of a tree with other counts, and nodes that are frequent only now."""

    def __init__(self, tree: _Tree, levels: list[_Level]) -> None:
        self.counts = tree.counts.copy()
        self._tree = tree
        self._levels = levels
        self._added: dict[int, int] = {}
        self._rows: list[tuple[int, int, int, int, int]] = []

    def add(self, key: int, count: int, length: int) -> int:
        """Add a node; return its number."""
        parent, step = key >> _STEP_BITS, key & _STEP_MASK
        prefix = _ROOT
        if length > 1:
            known = len(self._tree.prefixes)
            before = (
                int(self._tree.prefixes[parent])
                if parent < known
                else self._rows[parent - known][-1]
            )
            prefix = _NO_NODE
            if before != _NO_NODE:
                prefix = _find_child(
                    self._levels[length - 2], self._added, before << _STEP_BITS | step
                )
        node = self._added[key] = len(self.counts) + len(self._rows)
        self._rows.append((count, step, length, parent, prefix))
        return node

    def build_tree(self) -> _Tree:
        """Return the tree with all nodes."""
        columns = np.array(self._rows, np.int64).reshape(-1, 5).T
        tree = replace(self._tree, counts=self.counts)
        return tree.extended(
            counts=columns[0],
            steps=columns[1],
            lengths=columns[2],
            parents=columns[3],
            prefixes=columns[4],
            added=self._added,
        )


def _bare_tree() -> _Tree:
    zero = np.zeros(1, np.int64)
    return _Tree(counts=zero, steps=zero, lengths=zero, parents=zero, prefixes=zero)


def _find_child(level: _Level, added: dict[int, int], key: int) -> int:
    rows, is_there = level.find(np.array([key]))
    node = int(level.nodes[rows[0]]) if is_there[0] else _NO_NODE
    return added.get(key, _NO_NODE) if node == _NO_NODE else node


def _order_by(numbers: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Return the stable order; of numbers of 16 bits numpy finds it in linear time."""
    if not len(numbers):
        return np.zeros(0, np.intp)
    least = numbers.min()
    is_short = numbers.max() - least < 1 << 16
    shifted = (numbers - least).astype(np.uint16) if is_short else numbers
    return np.argsort(shifted, kind="stable")


def _move_to(groups: _Groups, nodes: _Numbers) -> _Ends:
    """Return the places of the groups that have a node, at it."""
    moved = replace(groups.places, nodes=np.repeat(nodes, np.diff(groups.offsets)))
    return moved.take(moved.nodes != _NO_NODE)


def _join(parts: Sequence[_Ends]) -> _Ends:
    return _Ends(
        ends=np.concatenate([part.ends for part in parts]),
        messages=np.concatenate([part.messages for part in parts]),
        nodes=np.concatenate([part.nodes for part in parts]),
        gone=np.concatenate([part.gone for part in parts]),
    )
