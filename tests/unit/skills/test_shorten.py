"""Descriptions are cut after words, and keep what says what they are for."""

import pytest

from brain.skills.index_budget import min_useful_size, shorten_text, utf8_size


@pytest.mark.parametrize(
    ("text", "most", "short"),
    [
        ("short", 5, "short"),
        ("two words", 9, "two words"),
        ("two words", 8, "two…"),
        ("two words", 6, "two…"),
        ("two words", 5, "…"),
        ("two words", 3, "…"),
        ("two words", 2, ""),
        ("first, then", 10, "first…"),
        ("a (b c) d", 8, "a (b…"),
        ("unbreakable" * 9, 40, "…"),
        ("naïve café au lait", 10, "naïve…"),
        ("naïve café au lait", 16, "naïve café…"),
        ("漢字かな交じり文", 12, "漢字か…"),
        ("see 漢字かな文", 16, "see 漢字か…"),
        ("", 0, ""),
    ],
)
def test_a_text_is_cut_after_a_word_within_so_many_bytes(text, most, short):
    assert shorten_text(text, most) == short
    assert utf8_size(short) <= most


def test_a_text_is_cut_by_characters_too():
    assert shorten_text("naïve café au lait", 11, len) == "naïve café…"
    assert shorten_text("word word word", 10, len) == "word word…"


def test_the_first_clause_is_the_least_that_stays():
    text = "Fills in PDF forms, also scanned ones. Use it for tax returns and for contracts."
    assert shorten_text(text, min_useful_size(text)) == "Fills in PDF forms…"
    text = "A tool of tools which does whatever one may want of it without so much as a comma"
    assert (
        shorten_text(text, min_useful_size(text)) == "A tool of tools which does whatever one may…"
    )
    assert min_useful_size("Short one.") == len("Short one.")
    assert min_useful_size("x" * 500) == utf8_size("…")
