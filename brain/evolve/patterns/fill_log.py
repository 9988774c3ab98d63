"""Fill an empty log with very many messages at once, with numpy.

The messages of a chat come one after another, so that each is preceded by the steps that it
continues without a copy of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .message_log import NO_STEP, MessageLog, NumberedNames

if TYPE_CHECKING:
    from ...experience.experience_protocol import SequenceBatch

_TAILS_AT_ONCE = 10_000


def fill_log(log: MessageLog, batches: Sequence[SequenceBatch]) -> None:
    """Add all messages of one reading to a log without any."""
    chat_numbers = NumberedNames()
    chats = _look_up([(batch.chats, batch.chat_names) for batch in batches], chat_numbers)
    skills = _look_up([(batch.skills, batch.skill_names) for batch in batches], log.numbers)
    times = np.concatenate([np.frombuffer(batch.at, np.int64) for batch in batches])
    ends = [np.frombuffer(batch.ends, np.uint32).astype(np.int64) for batch in batches]
    counts = np.concatenate([np.diff(part, prepend=0) for part in ends])
    sources = np.cumsum(counts) - counts
    order = _order_by(chats)
    sources, times, chats, counts = sources[order], times[order], chats[order], counts[order]
    is_last = np.append(chats[1:] != chats[:-1], True)
    is_alone = np.ones(len(times), np.bool_)
    is_alone[1:] = is_last[:-1] | (np.abs(np.diff(times)) > log.rules.gap_ms)
    before = np.cumsum(counts) - counts
    starts = before + np.cumsum(is_alone)
    at = np.repeat(sources - before, counts)
    at += np.arange(len(at))
    is_step = np.ones(len(at) + np.count_nonzero(is_alone), np.bool_)
    is_step[starts[is_alone] - 1] = False
    steps = np.full(len(is_step), NO_STEP, np.int32)
    steps[is_step] = skills[at]
    tails = _list_tails(steps, (starts + counts)[is_last], log.rules.max_steps)
    names = [chat_numbers.names[chat] for chat in chats[is_last].tolist()]
    last_times = times[is_last].tolist()
    columns = steps, starts, counts.astype(np.int32), times
    log.fill(
        [column.data.cast("B") for column in columns],
        dict(zip(names, zip(last_times, tails, strict=True), strict=True)),
    )


def _look_up(
    columns: Sequence[tuple[array[int], list[str]]], numbers: NumberedNames
) -> NDArray[np.int32]:
    """Return the numbers of the names that columns of indices refer to."""
    parts = []
    for indices, names in columns:
        table = np.array([numbers[name] for name in names], np.int32)
        parts.append(table[np.frombuffer(indices, np.uint32)])
    return np.concatenate(parts)


def _order_by(chats: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the stable order; one sort of packed numbers is faster than `argsort`."""
    bits = len(chats).bit_length()
    packed = chats.astype(np.int64)
    packed <<= bits
    packed |= np.arange(len(chats))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def _list_tails(
    steps: NDArray[np.int32], ends: NDArray[np.int64], most: int
) -> Iterator[list[int]]:
    """Yield the steps before each end, since the last NO_STEP, the last `most` of them."""
    distances = np.arange(most, 0, -1)
    for part in np.array_split(ends, len(ends) // _TAILS_AT_ONCE + 1):
        tails = steps[np.maximum(part[:, None] - distances, 0)]
        lengths = np.where(tails == NO_STEP, distances - 1, most).min(axis=1, initial=most)
        for tail, length in zip(tails.tolist(), lengths.tolist(), strict=True):
            yield tail[most - length :]
