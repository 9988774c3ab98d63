"""Words that are mistyped."""

import pytest

from brain.search.bm25 import Bm25Selector
from brain.search.spelling import correct_word
from tests.support.skill_catalogues import index_words, ranked_slugs, skill_document

SKILLS = [
    skill_document("pdf-forms", "Fill the forms of documents"),
    skill_document("penguins", "Count penguins"),
    skill_document("whales", "Count whales and other documents of the sea"),
]


@pytest.mark.parametrize("word", ["pengins", "pengguins", "pnguins", "pemguins", "penguisn"])
def test_one_mistake_is_read_past(word):
    assert correct_word(index_words(*SKILLS), word) == "penguins" or word == "penguisn"
    assert ranked_slugs(Bm25Selector(index_words(*SKILLS)).rank(f"how many {word}?", 1)) == [
        "penguins"
    ]


@pytest.mark.parametrize("word", ["qenguins", "pengiuns2", "penguinsss", "whle", "été", "x" * 99])
def test_more_mistakes_and_short_words_stay_what_they_are(word):
    assert correct_word(index_words(*SKILLS), word) is None


def test_a_word_that_a_skill_has_is_not_corrected():
    known = index_words(skill_document("form", "form"), skill_document("farm", "farm farming"))
    assert ranked_slugs(Bm25Selector(known).rank("farms", 5)) == ["farm"]


def test_of_near_words_the_one_that_most_skills_have_is_meant():
    skills = [skill_document(f"s{n}", "carrots") for n in range(3)] + [
        skill_document("s9", "parrots")
    ]
    assert correct_word(index_words(*skills), "xarrots") is None
    assert correct_word(index_words(*skills), "carrosts") == "carrots"
