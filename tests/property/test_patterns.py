"""Patterns as the miner finds them, against a miner that tries every sequence."""

import random
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.evolve.patterns import count_bulk, miner, sequence_table
from brain.evolve.patterns.count_plain import find_maximal
from brain.evolve.patterns.message_log import LATE_MS, MessageLog, PatternRules
from brain.evolve.patterns.miner import FrequentPattern, PatternMiner, find_patterns, list_patterns
from brain.experience.experience_protocol import SkillSequence
from brain.experience.sqlite_experience import SqliteExperience

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


@pytest.fixture(params=["plain", "bulk", "wide"], autouse=True)
def counted_by(request, monkeypatch):
    """Count without numpy, with it, and with it as if there were very many sequences."""
    monkeypatch.setattr(miner, "BULK_MESSAGES", 1 << 60 if request.param == "plain" else 0)
    if request.param == "wide":
        monkeypatch.setattr(count_bulk, "_SORT_BITS", 0)
        monkeypatch.setattr(sequence_table, "_LATER_SHARE", 0)


@given(messages=st.one_of(_messages, _steady))
def test_the_patterns_are_those_of_a_miner_that_tries_every_sequence(messages):
    found = find_patterns(messages, NOW, RULES)

    assert found.patterns == _find_by_trying(messages, NOW)


@given(
    messages=st.one_of(_messages, _steady),
    cuts=st.lists(st.integers(0, 25), max_size=3).map(sorted),
    passed=st.lists(st.integers(-300, 900), min_size=4, max_size=4),
)
def test_messages_that_come_bit_by_bit_give_the_patterns_of_all_together(messages, cuts, passed):
    miner = PatternMiner(RULES)
    now, begin = NOW - 1_500, 0
    for end, ms in zip([*cuts, len(messages)], passed, strict=False):
        miner.add(messages[begin:end])
        begin, now = end, now + ms
        found = miner.find_patterns(now)

        assert found.patterns == _find_by_trying(messages[:end], now)


@given(messages=st.one_of(_messages, _steady), most=st.integers(1, 4))
def test_the_patterns_beyond_the_limit_are_the_last_in_order(messages, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(miner, "MAX_PATTERNS", most)
        found = find_patterns(messages, NOW, RULES)

    assert found.patterns == _find_by_trying(messages, NOW)[:most]


@pytest.mark.parametrize("counted_by", ["bulk", "wide"], indirect=True)
@given(seed=st.integers(0, 1 << 32))
def test_a_long_history_gives_the_same_patterns_as_the_plain_counter_at_each_time(seed):
    draw = random.Random(seed)
    miner, now = PatternMiner(RULES), NOW
    plain = MessageLog(RULES)
    for _ in range(15):
        now += draw.choice((50, 900, 900, 2_000, -200))
        messages = [
            (draw.choice("xyz"), now - draw.choice((0, 80, 400, -LATE_MS)), _draw_skills(draw))
            for _ in range(draw.choice((0, 1, 8)))
        ]
        miner.add(messages)
        plain.extend(messages)
        found = miner.find_patterns(now)
        expected = list_patterns(find_maximal(plain, now), plain)

        assert found == expected


def _draw_skills(draw):
    return draw.choices("abcdefgh", weights=(8, 7, 6, 5, 4, 3, 2, 1), k=draw.randint(1, 5))


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


@given(messages=st.one_of(_messages, _steady), cut=st.integers(0, 25))
def test_messages_from_a_store_give_the_same_patterns_as_messages_one_by_one(messages, cut):
    messages = [row for row in messages if row[2]]
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteExperience(folder)
        miner, last = PatternMiner(RULES), 0
        for part in (messages[:cut], messages[cut:]):
            store.record_sequences(
                [SkillSequence(chat=chat, at=at, skills=skills) for chat, at, skills in part]
            )
            batches = list(store.read_batches(after=last))
            last = batches[-1].numbers[-1] if batches else last
            miner.add_batches(batches)
        store.close()

    assert miner.find_patterns(NOW).patterns == _find_by_trying(messages, NOW)
