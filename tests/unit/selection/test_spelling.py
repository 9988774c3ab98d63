"""Words that are mistyped."""

from __future__ import annotations

import pytest

from brain.selection.bm25 import Bm25
from brain.selection.spelling import corrected

from .shelves import document, slugs, words

SKILLS = [
    document("pdf-forms", "Fill the forms of documents"),
    document("penguins", "Count penguins"),
    document("whales", "Count whales and other documents of the sea"),
]


@pytest.mark.parametrize("word", ["pengins", "pengguins", "pnguins", "pemguins", "penguisn"])
def test_one_mistake_is_read_past(word: str) -> None:
    assert corrected(words(*SKILLS), word) == "penguins" or word == "penguisn"
    assert slugs(Bm25(words(*SKILLS)).rank(f"how many {word}?", 1)) == ["penguins"]


@pytest.mark.parametrize("word", ["qenguins", "pengiuns2", "penguinsss", "whle", "été", "x" * 99])
def test_more_mistakes_and_short_words_stay_what_they_are(word: str) -> None:
    assert corrected(words(*SKILLS), word) is None


def test_a_word_that_a_skill_has_is_not_corrected() -> None:
    known = words(document("form", "form"), document("farm", "farm farming"))
    assert slugs(Bm25(known).rank("farms", 5)) == ["farm"]


def test_of_near_words_the_one_that_most_skills_have_is_meant() -> None:
    skills = [document(f"s{n}", "carrots") for n in range(3)] + [document("s9", "parrots")]
    assert corrected(words(*skills), "xarrots") is None
    assert corrected(words(*skills), "carrosts") == "carrots"
