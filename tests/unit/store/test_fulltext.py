"""The index of words in memory."""

from __future__ import annotations

import pytest

from brain.store.fulltext import FullText


@pytest.fixture
def index() -> FullText:
    made = FullText([2.0, 1.0])
    made.change((), [(1, "parsing", "of dates"), (2, "walking", "parsers, dates"), (3, "x", "y")])
    return made


def test_rows_are_found_by_the_stems_of_their_words(index: FullText) -> None:
    assert index.stems("Parsing the élan") == ["pars", "the", "elan"]
    assert [number for number, _ in index.best(["parse"], 5)] == [1]
    assert (index.count("date"), index.count("nothing")) == (2, 0)
    assert sorted(index.known(["date", "walk", "nothing"])) == [("date", 2), ("walk", 1)]


def test_a_column_counts_by_its_weight() -> None:
    made = FullText([1.0, 5.0])
    made.change((), [(1, "dates", "nothing"), (2, "nothing", "dates")])
    assert [number for number, _ in made.best(["dates"], 5)] == [2, 1]


def test_what_is_taken_out_is_gone_and_its_number_is_free(index: FullText) -> None:
    index.change([1, 2], [(1, "whales", "")])
    assert index.best(["dates"], 5) == []
    assert [number for number, _ in index.best(["whales"], 5)] == [1]


def test_no_words_find_nothing_and_a_negative_limit_takes_all(index: FullText) -> None:
    assert index.best([], 5) == []
    assert len(index.best(["dates", "y"], -1)) == 3
    assert len(index.best(["dates", "y"], 2)) == 2
    index.close()
