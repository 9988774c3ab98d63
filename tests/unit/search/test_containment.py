"""A skill whose text is a part of another's."""

from brain.search.similarity import SimilarityFeatures, similarity_score

WORDS: frozenset[str] = frozenset()


def test_a_body_that_another_holds_whole_is_alike_however_much_more_there_is():
    lines = [f"A line of some length, number {number}." for number in range(10)]
    short, long = (SimilarityFeatures(WORDS, WORDS, frozenset(some)) for some in (lines[:2], lines))
    assert similarity_score(short, long, lambda stem: 1.0) == 1.0
    assert similarity_score(long, short, lambda stem: 1.0) == 1.0
