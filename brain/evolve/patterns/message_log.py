"""The skills of many messages as numbers, each message with the steps that came before it.

A message follows the one before it in its chat, in the order of recording, if at most `gap_ms`
lie between them; what an agent begins in one message it may end in the next.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...experience.experience_protocol import SequenceBatch

NO_STEP = 0
"""The number that stands where there is no step before."""
LATE_MS = 300_000
"""A message later than now by more is not counted yet: a clock was wrong."""

_CHUNK_STEPS = 100_000

ChatMessages = Iterable[tuple[str, int, Sequence[str]]]
"""Messages in the order of recording: chat, time in ms since 1970, and skills."""
_Messages = Iterable[tuple[str, int, list[int]]]
"""The same with numbers of skills."""
ChatEnd = tuple[int, list[int]]
"""The time of the last message of a chat, and the last steps that another one may continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternRules:
    """What counts as a pattern; times in ms.

    At least `min_count` messages of the last `window_ms` end with it, and it has `min_steps` to
    `max_steps` steps.
    """

    min_count: int = 5
    min_steps: int = 2
    max_steps: int = 16
    gap_ms: int = 300_000
    window_ms: int = 7 * 86_400_000

    @property
    def reach_ms(self) -> int:
        """How long before a message a pattern may begin that ends in it."""
        return self.max_steps * self.gap_ms


DEFAULT_PATTERN_RULES = PatternRules()


class NumberedNames(dict[str, int]):
    """Numbers of names, from 1 in the order in which they were first looked up."""

    def __init__(self) -> None:
        self.names = [""]

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self.names)
        self.names.append(name)
        return number


class MessageLog:
    """Messages in the order of recording.

    `steps` has for each message NO_STEP, the steps before it that it continues, and its own,
    which are `counts[i]` from `starts[i]`. `times` are in ms since 1970. `numbers` are those of
    the skills.
    """

    def __init__(self, rules: PatternRules) -> None:
        self.rules = rules
        self.steps = array("i")
        self.starts = array("q")
        self.counts = array("i")
        self.times = array("q")
        self.numbers = NumberedNames()
        self._chats: dict[str, ChatEnd] = {}

    def __len__(self) -> int:
        return len(self.times)

    @property
    def names(self) -> list[str]:
        """The skills by their numbers, which begin at 1."""
        return self.numbers.names

    def extend(self, messages: ChatMessages) -> None:
        """Add messages; those without skills are left out."""
        number_of = self.numbers.__getitem__
        self._extend((chat, at, [*map(number_of, skills)]) for chat, at, skills in messages)

    def extend_from_batches(self, batches: Iterable[SequenceBatch]) -> None:
        """Add messages as the store of experience returns very many."""
        self._extend(self._iter_batches(batches))

    def fill(self, columns: Sequence[memoryview], chats: dict[str, ChatEnd]) -> None:
        """Set all of an empty log: `columns` are steps, starts, counts and times."""
        arrays = self.steps, self.starts, self.counts, self.times
        for numbers, column in zip(arrays, columns, strict=True):
            numbers.frombytes(column)
        self._chats = chats

    def _iter_batches(self, batches: Iterable[SequenceBatch]) -> _Messages:
        for batch in batches:
            numbers = [*map(self.numbers.__getitem__, batch.skill_names)]
            steps = [*map(numbers.__getitem__, batch.skills)]
            chats = map(batch.chat_names.__getitem__, batch.chats)
            begin = 0
            for chat, at, end in zip(chats, batch.at, batch.ends, strict=True):
                yield chat, at, steps[begin:end]
                begin = end

    def _extend(self, messages: _Messages) -> None:
        chats, gap, last_steps = self._chats, self.rules.gap_ms, -self.rules.max_steps
        steps: list[int] = []  # appending to lists is faster than to arrays
        starts: list[int] = []
        counts: list[int] = []
        times: list[int] = []
        first = len(self.steps)
        for chat, at, own in messages:
            if not own:
                continue
            steps.append(NO_STEP)
            before = chats.get(chat)
            if before is not None and -gap <= at - before[0] <= gap:
                steps += before[1]
                chats[chat] = at, (before[1] + own)[last_steps:]
            else:
                chats[chat] = at, own[last_steps:]
            starts.append(first + len(steps))
            steps += own
            counts.append(len(own))
            times.append(at)
            if len(steps) >= _CHUNK_STEPS:
                self._store(steps, starts, counts, times)
                first = len(self.steps)
        self._store(steps, starts, counts, times)

    def _store(self, *columns: list[int]) -> None:
        """Move rows from lists into the arrays."""
        arrays = self.steps, self.starts, self.counts, self.times
        for numbers, rows in zip(arrays, columns, strict=True):
            numbers.extend(array(numbers.typecode, rows))
            rows.clear()

    def is_counted(self, at: int, now: int) -> bool:
        """Tell whether a message of the time `at` is counted at the time `now`."""
        return now - self.rules.window_ms <= at <= now + LATE_MS
