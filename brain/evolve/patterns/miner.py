"""Find the sequences of skills that recur: frequent, contiguous, and none inside a longer one.

A pattern is counted once for each message in which it ends; it may begin in an earlier one of
the same chat. One that a longer pattern contains is left out if that one counts as often, and so
is the mere repetition of a shorter one that counts more often. Sequences of more steps than
`PatternRules.max_steps` are left out with all that they contain as often: a skill that calls so
many others is of no use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .count_plain import MaximalSequences, Steps, find_maximal
from .message_log import DEFAULT_PATTERN_RULES, ChatMessages, MessageLog, PatternRules

if TYPE_CHECKING:
    from ...experience.experience_protocol import SequenceBatch
    from .count_bulk import BulkCounter

MAX_PATTERNS = 1_000
"""Patterns that are returned, the most frequent ones."""
BULK_MESSAGES = 4_000
"""From so many messages on they are counted with numpy, where it is installed."""


class FrequentPattern(NamedTuple):
    """A sequence of skills, and how many messages end with it."""

    skills: tuple[str, ...]
    support: int


class MinedPatterns(NamedTuple):
    """Patterns, most frequent first, then the longest, then by name.

    `messages` is how many were counted. `has_longer`: some sequences recur that have more steps
    than the rules allow.
    """

    patterns: list[FrequentPattern]
    messages: int
    has_longer: bool


def find_patterns(
    messages: ChatMessages, now: int, rules: PatternRules = DEFAULT_PATTERN_RULES
) -> MinedPatterns:
    """Return the patterns of messages at a time in ms."""
    miner = PatternMiner(rules)
    miner.add(messages)
    return miner.find_patterns(now)


class PatternMiner:
    """Finds patterns in messages as they come; what it has counted it does not count again."""

    def __init__(self, rules: PatternRules = DEFAULT_PATTERN_RULES) -> None:
        self.rules = rules
        self._log = MessageLog(rules)
        self._bulk: BulkCounter | None = None

    def __len__(self) -> int:
        return len(self._log)

    def add(self, messages: ChatMessages) -> None:
        """Add messages in the order of recording."""
        self._log.extend(messages)

    def add_batches(self, batches: Iterable[SequenceBatch]) -> None:
        """Add messages as the store of experience returns very many."""
        listed = list(batches)
        is_much = listed and sum(len(batch.at) for batch in listed) >= BULK_MESSAGES
        if len(self._log) or not is_much or not _try_to_fill(self._log, listed):
            self._log.extend_from_batches(listed)

    def find_patterns(self, now: int) -> MinedPatterns:
        """Return the patterns at a time in ms."""
        if self._bulk is None and len(self._log) >= BULK_MESSAGES:
            self._bulk = _open_bulk_counter(self._log)
        if self._bulk is None:
            return list_patterns(find_maximal(self._log, now), self._log)
        limit = MAX_PATTERNS + MAX_PATTERNS // 8
        while True:
            found = self._bulk.find_maximal(now, limit)
            mined = list_patterns(found, self._log)
            if len(mined.patterns) == MAX_PATTERNS or len(found.counts) < limit:
                return mined
            limit *= 2  # too many of them were repetitions


def _try_to_fill(log: MessageLog, batches: Sequence[SequenceBatch]) -> bool:
    """Fill an empty log; return False if numpy is not installed."""
    try:
        from .fill_log import fill_log
    except ModuleNotFoundError:
        return False
    fill_log(log, batches)
    return True


def _open_bulk_counter(log: MessageLog) -> BulkCounter | None:
    """Return a counter for very many messages, None if numpy is not installed."""
    try:
        from .count_bulk import BulkCounter
    except ModuleNotFoundError:
        return None
    return BulkCounter(log)


def list_patterns(found: MaximalSequences, log: MessageLog) -> MinedPatterns:
    """Return the patterns among the maximal sequences of a log."""
    names = log.names
    patterns = [
        FrequentPattern(tuple(names[step] for step in steps), count)
        for steps, count in found.counts
        if len(steps) >= log.rules.min_steps and not _repeats_a_pattern(steps, count, found)
    ]
    patterns.sort(key=lambda pattern: (-pattern.support, -len(pattern.skills), pattern.skills))
    return MinedPatterns(
        patterns=patterns[:MAX_PATTERNS],
        messages=found.messages,
        has_longer=any(_find_period(steps) == len(steps) for steps in found.too_long),
    )


def _repeats_a_pattern(steps: Steps, count: int, found: MaximalSequences) -> bool:
    """Tell whether a sequence is a shorter one, or one step, again and again, in more messages."""
    period = _find_period(steps)
    is_repetition = period < len(steps) and len(steps) % period == 0
    return is_repetition and found.count_of(steps[:period]) > count


def _find_period(steps: Steps) -> int:
    """Return after how many steps a sequence repeats itself, at least once; else its length."""
    for period in range(1, len(steps) // 2 + 1):
        if steps[period] == steps[0] and steps[period:] == steps[:-period]:
            return period
    return len(steps)
