"""A skill whose text is a part of another's."""

from __future__ import annotations

from brain.selection.likeness import Face, likeness

WORDS: frozenset[str] = frozenset()


def test_a_body_that_another_holds_whole_is_alike_however_much_more_there_is() -> None:
    lines = [f"A line of some length, number {number}." for number in range(10)]
    short, long = (Face(WORDS, WORDS, frozenset(some)) for some in (lines[:2], lines))
    assert likeness(short, long, lambda stem: 1.0) == 1.0
    assert likeness(long, short, lambda stem: 1.0) == 1.0
