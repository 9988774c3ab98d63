"""Count the sequences of steps in which messages end, without further libraries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .message_log import NO_STEP, MessageLog

Steps = tuple[int, ...]
"""The numbers of skills, in order."""


class MaximalSequences(NamedTuple):
    """Frequent sequences with their counts; `count_of` is 0 for one that is not frequent.

    `messages` were counted. `counts` has those that no frequent sequence of one step more
    contains as often; `too_long` those of one step more than the rules allow.
    """

    messages: int
    counts: list[tuple[Steps, int]]
    too_long: Sequence[Steps] | Iterator[Steps]
    count_of: Callable[[Steps], int]


def find_maximal(log: MessageLog, now: int) -> MaximalSequences:
    """Return the maximal sequences at a time in ms."""
    found = count_frequent(log, now)
    covered = {
        part
        for longer, count in found.items()
        for part in (longer[1:], longer[:-1])
        if found.get(part, 0) <= count
    }
    most = log.rules.max_steps
    return MaximalSequences(
        messages=sum(log.is_counted(at, now) for at in log.times),
        counts=[
            (steps, count)
            for steps, count in found.items()
            if 1 < len(steps) <= most and steps not in covered
        ],
        too_long=[steps for steps in found if len(steps) > most],
        count_of=lambda steps: found.get(steps, 0),
    )


def count_frequent(log: MessageLog, now: int) -> dict[Steps, int]:
    """Return the frequent sequences, up to one step more than the rules allow.

    A sequence is counted once for each message in which it ends. Those that end with the same
    steps are grouped, and only a frequent group is extended to the front.
    """
    rules, steps = log.rules, log.steps
    groups: dict[Steps, list[tuple[int, int]]] = {(): _list_ends(log, now)}
    found: dict[Steps, int] = {}
    for length in range(1, rules.max_steps + 2):
        longer: dict[Steps, list[tuple[int, int]]] = {}
        for sequence, ends in groups.items():
            by_step: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
            for end in ends:
                by_step[steps[end[0] - length]].append(end)
            by_step.pop(NO_STEP, None)
            for step, extended in by_step.items():
                if len(extended) >= rules.min_count:
                    count = len({message for _, message in extended})
                    if count >= rules.min_count:
                        longer[(step, *sequence)] = extended
                        found[(step, *sequence)] = count
        groups = longer
    return found


def _list_ends(log: MessageLog, now: int) -> list[tuple[int, int]]:
    """Return the position after each step of the messages that count, with the message."""
    rows = zip(log.starts, log.counts, log.times, strict=True)
    return [
        (end, message)
        for message, (start, count, at) in enumerate(rows)
        if log.is_counted(at, now)
        for end in range(start + 1, start + count + 1)
    ]
