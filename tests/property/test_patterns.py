"""Patterns as the miner finds them, against a miner that tries every sequence."""

import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.experience import patterns as miner
from brain.experience.patterns import LATE_MS, FrequentPattern, PatternRules, find_patterns
from brain.experience.store import SkillSequence, Store

NOW = 1_700_000_000_000
RULES = PatternRules(min_count=2, max_steps=4, gap_ms=100, window_ms=2_000)

_times = st.one_of(
    st.integers(NOW - 2_500, NOW),
    st.integers(0, 10),
    st.integers(NOW + LATE_MS - 5, NOW + 2 * LATE_MS),
)
_skills = st.lists(st.sampled_from("abc"), max_size=6).map(tuple)
_messages = st.lists(st.tuples(st.sampled_from("xy"), _times, _skills), max_size=25)
_steady = st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 130), _skills), max_size=25).map(
    lambda rows: [
        (chat, NOW - 2_500 + sum(gap for _, gap, _ in rows[: at + 1]), skills)
        for at, (chat, _, skills) in enumerate(rows)
    ]
)


@given(messages=st.one_of(_messages, _steady))
def test_the_patterns_are_those_of_a_miner_that_tries_every_sequence(messages):
    found = find_patterns(messages, NOW, RULES)

    assert found.patterns == _find_by_trying(messages, NOW)


@given(messages=st.one_of(_messages, _steady), most=st.integers(1, 4))
def test_the_patterns_beyond_the_limit_are_the_last_in_order(messages, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(miner, "MAX_PATTERNS", most)
        found = find_patterns(messages, NOW, RULES)

    assert found.patterns == _find_by_trying(messages, NOW)[:most]


def _find_by_trying(messages, now):
    """Return the patterns, by counting each sequence in each message anew."""
    counts = {}
    before = {}
    for chat, at, skills in messages:
        if not skills:
            continue
        last_at, last = before.get(chat, (at, ()))
        steps = (*(last if abs(at - last_at) <= RULES.gap_ms else ()), *skills)
        before[chat] = at, steps
        if now - RULES.window_ms <= at <= now + LATE_MS:
            ends = range(len(steps) - len(skills) + 1, len(steps) + 1)
            seen = {
                steps[end - length : end]
                for end in ends
                for length in range(1, min(end, RULES.max_steps + 1) + 1)
            }
            for sequence in seen:
                counts[sequence] = counts.get(sequence, 0) + 1
    frequent = {steps: n for steps, n in counts.items() if n >= RULES.min_count}
    return sorted(
        (
            FrequentPattern(steps, count)
            for steps, count in frequent.items()
            if 2 <= len(steps) <= RULES.max_steps
            and not any(
                len(other) == len(steps) + 1
                and steps in (other[1:], other[:-1])
                and frequent[other] >= count
                for other in frequent
            )
            and not any(
                len(steps) > size
                and steps[:size] * (len(steps) // size) == steps
                and frequent.get(steps[:size], 0) > count
                for size in range(1, len(steps))
            )
        ),
        key=lambda one: (-one.support, -len(one.skills), one.skills),
    )


@given(messages=st.one_of(_messages, _steady))
def test_messages_from_a_store_give_the_same_patterns_of_all_chats_and_of_one(messages):
    messages = [row for row in messages if row[2]]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(miner, "read_rules", lambda: RULES)
        store = Store(folder)
        store.record(
            [SkillSequence(chat=chat, at=at, skills=skills) for chat, at, skills in messages]
        )
        for chat in ("", "x"):
            expected = _find_by_trying([row for row in messages if chat in ("", row[0])], NOW)
            assert miner.find_in_store(store, NOW, chat).patterns == expected
        store.close()
