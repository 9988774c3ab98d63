"""Count the sequences of steps in which very many messages end, with numpy.

The counts stay. Messages that came since the last time, or are no longer counted, are added to them
and taken away, sequence by sequence, so that the work is that of the difference. A sequence that
was frequent once stays a node of the tree, so that all longer ones are counted, too.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .count_plain import MaximalSequences, Steps
from .message_log import LATE_MS, NO_STEP, MessageLog
from .sequence_table import (
    NO_NODE,
    ROOT,
    STEP_BITS,
    STEP_MASK,
    Flags,
    GrowingColumn,
    Numbers,
    SequenceTable,
)

_SORT_BITS = 63
"""Bits of a number that is sorted with the place in its low bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groups:
    """Places that are preceded by the same steps; group `i` is `ends[offsets[i]:offsets[i + 1]]`.

    A place is the position after a step of a message. `counts` are the messages that came less
    those that went.
    """

    keys: Numbers
    counts: Numbers
    offsets: Numbers
    ends: Numbers

    def repeat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the value of the group of each place."""
        return np.repeat(values, np.diff(self.offsets))


class _Tree:
    """Columns of the nodes: their row, first step, length, and parent.

    `prefixes` are the nodes of the sequences without their last step, NO_NODE for one that was
    not frequent yet.
    """

    def __init__(self) -> None:
        self.rows = GrowingColumn(np.int32)
        self.steps = GrowingColumn(np.int32)
        self.lengths = GrowingColumn(np.int32)
        self.parents = GrowingColumn(np.int32)
        self.prefixes = GrowingColumn(np.int32)
        self._sequences: dict[int, Steps] = {}
        self._without_prefix: defaultdict[int, list[Numbers]] = defaultdict(list)
        for column in (self.rows, self.steps, self.lengths, self.parents, self.prefixes):
            column.extend(np.array([ROOT]))

    def add(self, rows: Numbers, keys: Numbers, length: int) -> Numbers:
        """Add nodes of one length; return their numbers."""
        nodes = np.arange(len(self.rows), len(self.rows) + len(rows))
        self.rows.extend(rows)
        self.steps.extend(keys & STEP_MASK)
        self.lengths.extend(np.full(len(rows), length))
        self.parents.extend(keys >> STEP_BITS)
        self.prefixes.extend(np.full(len(rows), NO_NODE))
        self._without_prefix[length].append(nodes)
        return nodes

    def find_prefixes(self, table: SequenceTable) -> None:
        """Find the prefixes that became nodes, those of short sequences first."""
        for length, parts in sorted(self._without_prefix.items()):
            nodes = np.concatenate(parts)
            before = self.prefixes.values[self.parents.values[nodes]].astype(np.int64)
            keys = before << STEP_BITS | self.steps.values[nodes]
            found = table.find_nodes(keys) if length > 1 else np.full(len(nodes), ROOT)
            found[before == NO_NODE] = NO_NODE
            self.prefixes.values[nodes] = found
            self._without_prefix[length] = [nodes[found == NO_NODE]]

    def read(self, node: int) -> Steps:
        """Return the sequence of a node."""
        known = self._sequences.get(node)
        if known is None:
            steps, parents = self.steps.values, self.parents.values
            found, at = [], node
            while at != ROOT:
                found.append(int(steps[at]))
                at = int(parents[at])
            known = self._sequences[node] = tuple(found)
        return known


class BulkCounter:
    """Counts the messages of a log, again and again as it grows."""

    def __init__(self, log: MessageLog) -> None:
        self._log = log
        self._messages = GrowingColumn(np.int32)  # for each position in the steps of the log
        self._forget()

    def _forget(self) -> None:
        self._table = SequenceTable()
        self._tree = _Tree()
        self._counted = np.zeros(0, np.bool_)
        self._was_counted = np.zeros(0, np.bool_)

    def find_maximal(self, now: int, limit: int) -> MaximalSequences:
        """Return the maximal sequences at a time in ms, at least the `limit` first ones.

        The first ones are the most frequent, and of equally frequent ones the longest.
        """
        self._index_messages()
        times = np.frombuffer(self._log.times, np.int64)
        counted = (now - self._log.rules.window_ms <= times) & (times <= now + LATE_MS)
        changed = self._find_changed(counted)
        if np.any(self._was_counted[changed] & counted[changed]):
            self._forget()  # the clock went back, and places are remembered once only
            changed = self._find_changed(counted)
        self._count_changes(counted, changed)
        self._counted = counted
        self._was_counted[changed] = True
        return self._select_maximal(limit, int(np.count_nonzero(counted)))

    def _find_changed(self, counted: Flags) -> Numbers:
        """Return the messages that came or went; make room for the flags of new ones."""
        new = np.zeros(len(counted) - len(self._counted), np.bool_)
        self._was_counted = np.append(self._was_counted, new)
        return np.flatnonzero(counted != np.append(self._counted, new))

    def _count_changes(self, counted: Flags, changed: Numbers) -> None:
        """Add the changed messages that are counted now, and take away those that are not."""
        rules, table, tree = self._log.rules, self._table, self._tree
        has_gone = not counted[changed].all()
        ends = self._list_ends(changed)
        nodes = np.full(len(ends), ROOT, np.int64)
        for length in range(1, rules.max_steps + 2):
            groups = self._group_by_step(ends, nodes, length, counted, has_gone)
            if not len(groups.keys):
                break
            rows = table.find_or_add(groups.keys)
            table.counts.values[rows] += groups.counts
            is_node = table.nodes.values[rows] != NO_NODE
            is_new = ~is_node & (table.counts.values[rows] >= rules.min_count)
            table.nodes.values[rows[is_new]] = tree.add(rows[is_new], groups.keys[is_new], length)
            if length <= rules.max_steps:
                ends, nodes = self._go_on(groups, rows, is_new, counted, has_gone)
        table.index_keys()
        tree.find_prefixes(table)

    def _go_on(
        self, groups: _Groups, rows: Numbers, is_new: Flags, counted: Flags, has_gone: bool
    ) -> tuple[Numbers, Numbers]:
        """Return the places to go on from, with their nodes; remember those without a node.

        From a new node all places go on that are counted, also those that were before.
        """
        table = self._table
        new_rows = rows[is_new]
        old_ends, owners = table.list_places(new_rows)
        old_nodes = table.nodes.values[new_rows].astype(np.int64)[owners]
        is_counted = counted[self._find_messages(old_ends)]
        nodes = groups.repeat(table.nodes.values[rows].astype(np.int64))
        goes_on = nodes != NO_NODE
        waits = ~goes_on
        if has_gone:
            is_gone = ~counted[self._find_messages(groups.ends)]
            goes_on &= ~(is_gone & groups.repeat(is_new))
            waits &= ~is_gone
        table.add_places(groups.repeat(rows)[waits], groups.ends[waits])
        return (
            np.concatenate((groups.ends[goes_on], old_ends[is_counted])),
            np.concatenate((nodes[goes_on], old_nodes[is_counted])),
        )

    def _list_ends(self, messages: Numbers) -> Numbers:
        """Return the place after each step of the messages."""
        counts = np.frombuffer(self._log.counts, np.int32)[messages].astype(np.int64)
        starts = np.frombuffer(self._log.starts, np.int64)[messages]
        ends = np.arange(1, counts.sum() + 1)
        ends += np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return ends

    def _index_messages(self) -> None:
        """Note which message is at each new position of the log."""
        known = len(self._messages)
        starts = np.frombuffer(self._log.starts, np.int64)
        first = np.searchsorted(starts, known)
        ends = starts[first:] + np.frombuffer(self._log.counts, np.int32)[first:]
        self._messages.extend(
            np.repeat(np.arange(first, len(starts)), np.diff(ends, prepend=known))
        )

    def _find_messages(self, ends: Numbers) -> NDArray[np.integer[Any]]:
        return self._messages.values[ends - 1]

    def _group_by_step(
        self, ends: Numbers, nodes: Numbers, length: int, counted: Flags, has_gone: bool
    ) -> _Groups:
        """Group places by their node and the step before it; those without one are left out."""
        steps = np.frombuffer(self._log.steps, np.int32)[ends - length]
        has_step = steps != NO_STEP
        if not has_step.all():
            ends, nodes, steps = ends[has_step], nodes[has_step], steps[has_step]
        keys, ends = _sort_places(nodes, steps, ends, len(self._log.steps))
        is_first = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
        firsts = np.flatnonzero(is_first)
        offsets = np.append(firsts, len(keys))
        counts = np.diff(offsets)
        repeats = self._find_repeats(ends, is_first)
        _subtract(counts, firsts, repeats, 1)
        if has_gone:
            is_gone = ~counted[self._find_messages(ends)]
            is_gone[repeats] = False
            _subtract(counts, firsts, np.flatnonzero(is_gone), 2)
        return _Groups(keys=keys[firsts], counts=counts, offsets=offsets, ends=ends)

    def _find_repeats(self, ends: Numbers, is_first: Flags) -> Numbers:
        """Return which places are in the same group and message as the one before them."""
        longest = np.frombuffer(self._log.counts, np.int32).max(initial=0)
        is_near = ~is_first[1:] & (np.diff(ends) < longest)
        near = np.flatnonzero(is_near) + 1
        starts = np.frombuffer(self._log.starts, np.int64)[self._find_messages(ends[near])]
        repeats: Numbers = near[ends[near - 1] > starts]
        return repeats

    def _select_maximal(self, limit: int, messages: int) -> MaximalSequences:
        tree, rules = self._tree, self._log.rules
        counts = self._table.counts.values[tree.rows.values[1:]] if len(tree.rows) > 1 else ()
        counts = np.concatenate(([0], counts))
        lengths = tree.lengths.values
        frequent = np.flatnonzero((counts >= rules.min_count) & (lengths > 1))
        covering = np.zeros(len(counts), counts.dtype)
        np.maximum.at(covering, tree.parents.values[frequent], counts[frequent])
        has_prefix = frequent[tree.prefixes.values[frequent] != NO_NODE]
        np.maximum.at(covering, tree.prefixes.values[has_prefix], counts[has_prefix])
        is_short = lengths[frequent] <= rules.max_steps
        maximal = frequent[is_short & (covering < counts)[frequent]]
        if len(maximal) > limit:  # those that are equal to the last one are taken, too
            ranks = counts[maximal] * (rules.max_steps + 1) + lengths[maximal]
            maximal = maximal[ranks >= np.partition(ranks, -limit)[-limit]]
        return MaximalSequences(
            messages=messages,
            counts=[
                (tree.read(node), count)
                for node, count in zip(maximal.tolist(), counts[maximal].tolist(), strict=True)
            ],
            too_long=map(tree.read, frequent[~is_short].tolist()),
            count_of=self._count_of,
        )

    def _count_of(self, steps: Steps) -> int:
        node = ROOT
        for step in reversed(steps):
            node = int(self._table.find_nodes(np.array([node << STEP_BITS | step]))[0])
            if node == NO_NODE:
                return 0
        count = int(self._table.counts.values[self._tree.rows.values[node]])
        return count if count >= self._log.rules.min_count else 0


def _sort_places(
    nodes: Numbers, steps: NDArray[np.int32], ends: Numbers, most: int
) -> tuple[Numbers, Numbers]:
    """Return the keys of places, up to `most`, and the places, ordered by both."""
    if not len(ends):
        return nodes, ends
    first = int(nodes.min())
    step_bits, place_bits = int(steps.max()).bit_length(), most.bit_length()
    node_bits = (int(nodes.max()) - first).bit_length()
    if node_bits + step_bits + place_bits > _SORT_BITS:
        keys = nodes << STEP_BITS | steps
        order = np.lexsort((ends, keys))
        return keys[order], ends[order]
    packed = nodes - first  # one number each, for these are sorted many times as fast
    packed <<= step_bits
    packed |= steps
    packed <<= place_bits
    packed |= ends
    packed.sort()
    ends = packed & ((1 << place_bits) - 1)
    packed >>= place_bits
    keys = packed >> step_bits
    keys += first
    keys <<= STEP_BITS
    packed &= (1 << step_bits) - 1
    keys |= packed
    return keys, ends


def _subtract(counts: Numbers, firsts: Numbers, places: Numbers, weight: int) -> None:
    """Take a weight from the groups of some places, for each of them."""
    groups = np.searchsorted(firsts, places, "right") - 1
    counts -= weight * np.bincount(groups, minlength=len(counts))
