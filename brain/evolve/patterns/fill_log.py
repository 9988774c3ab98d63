"""Fill an empty log with very many messages at once, with numpy.

The messages of a chat come one after another, so that each is preceded by the steps that it
continues without a copy of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .message_log import NO_STEP, ChatEnd, MessageLog

if TYPE_CHECKING:
    from ...experience.experience_protocol import SequenceBatch


def fill_log(log: MessageLog, batches: Sequence[SequenceBatch]) -> None:
    """Add all messages of one reading to a log without any."""
    rules = log.rules
    times = np.concatenate([np.array(batch.at, np.int64) for batch in batches])
    chats = np.concatenate([np.array(batch.chats, np.int64) for batch in batches])
    counts = np.concatenate(
        [np.diff(np.array(batch.ends, np.int64), prepend=0) for batch in batches]
    )
    skills = np.concatenate([np.array(batch.skills, np.int32) for batch in batches])
    order = np.argsort(chats, kind="stable")
    sources = (np.cumsum(counts) - counts)[order]
    times, chats, counts = times[order], chats[order], counts[order]
    is_first = np.ones(len(times), np.bool_)
    is_first[1:] = (chats[1:] != chats[:-1]) | (np.abs(np.diff(times)) > rules.gap_ms)
    before = np.cumsum(counts) - counts
    starts = before + np.cumsum(is_first)
    offsets = np.arange(len(skills), dtype=np.int64) - np.repeat(before, counts)
    steps = np.full(len(skills) + np.count_nonzero(is_first), NO_STEP, np.int32)
    steps[np.repeat(starts, counts) + offsets] = skills[np.repeat(sources, counts) + offsets] + 1
    lasts = np.flatnonzero(np.append(chats[1:] != chats[:-1], True))
    names, chat_names = batches[-1].skill_names, batches[-1].chat_names
    ends: dict[str, ChatEnd] = {}
    for at, chat, end in zip(
        times[lasts].tolist(),
        chats[lasts].tolist(),
        (starts + counts)[lasts].tolist(),
        strict=True,
    ):
        tail = steps[max(end - rules.max_steps, 0) : end].tolist()
        first = len(tail) - tail[::-1].index(NO_STEP) if NO_STEP in tail else 0
        ends[chat_names[chat]] = at, tail[first:]
    columns = (steps, starts, counts.astype(np.int32), times)
    log.fill(
        names, [array(code, c.tobytes()) for code, c in zip("iqiq", columns, strict=True)], ends
    )
