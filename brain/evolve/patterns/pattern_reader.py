"""Mine the sequences in the store of experience, reading only those that are new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .message_log import DEFAULT_PATTERN_RULES, PatternRules
from .miner import MinedPatterns, PatternMiner, find_patterns
from .settings import read_threshold

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore, SequenceBatch

_SPARE_MESSAGES = 100_000
"""So many messages that no longer count may stay in memory."""


class PatternReader:
    """Finds the patterns of one brain; the second time it reads only what was recorded since."""

    def __init__(self) -> None:
        self._miner = PatternMiner()
        self._last_number = 0

    def find(self, store: ExperienceStore, now: int) -> MinedPatterns:
        """Return the patterns of all chats. Raises `StoreError`, `InvalidInput` (`bad_setting`)."""
        rules = read_rules()
        if rules != self._miner.rules:
            self._miner, self._last_number = PatternMiner(rules), 0
        since = find_first_time(now, rules)
        batches = store.read_batches(after=self._last_number, since=since)
        self._miner.add_batches(self._note_numbers(batches))
        mined = self._miner.find_patterns(now)
        if len(self._miner) > 2 * mined.messages + _SPARE_MESSAGES:
            self._miner, self._last_number = PatternMiner(rules), 0
        return mined

    def _note_numbers(self, batches: Iterable[SequenceBatch]) -> Iterator[SequenceBatch]:
        for batch in batches:
            yield batch
            self._last_number = batch.numbers[-1]


def find_in_chat(store: ExperienceStore, chat: str, now: int) -> MinedPatterns:
    """Return the patterns of one chat alone. Raises as `PatternReader.find`."""
    rules = read_rules()
    stored = store.read_sequences(since=find_first_time(now, rules))
    sequences = (one.sequence for one in stored if one.sequence.chat == chat)
    return find_patterns(((chat, one.at, one.skills) for one in sequences), now, rules)


def read_rules() -> PatternRules:
    """Return the rules, with the threshold that the user set."""
    return replace(DEFAULT_PATTERN_RULES, min_count=read_threshold())


def find_first_time(now: int, rules: PatternRules) -> int:
    """Return the time before which no message matters."""
    return max(now - rules.window_ms - rules.reach_ms, 0)
