import sys
import unicodedata

import pytest

from brain.skills.visible_text import (
    clean_text,
    find_hidden,
    fold_all_to_lines,
    fold_to_line,
    hidden_pattern,
)
from tests.support.cases import read_cases

CASES = read_cases(__file__)

EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))
IGNORABLE = {*range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000), 0x034F, 0x115F, 0x3164, 0xFFA0}
FILLERS = {0x115F, 0x1160, 0x3164, 0xFFA0}


def test_every_control_format_private_and_surrogate_code_point_is_hidden():
    left = hidden_pattern().sub("", EVERYTHING)
    categories = {unicodedata.category(char) for char in left if char not in "\t\n"}
    assert categories.isdisjoint({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
    assert not [char for char in left if ord(char) in IGNORABLE or ord(char) & 0xFFFE == 0xFFFE]


def test_no_letter_digit_or_punctuation_is_hidden_but_the_fillers():
    seen = {
        char
        for char in hidden_pattern().findall(EVERYTHING)
        if unicodedata.category(char)[0] in "LNP"
    }
    assert {ord(char) for char in seen} == FILLERS


def test_folding_leaves_no_hidden_code_point_whatever_python_calls_printable():
    for char in hidden_pattern().findall(EVERYTHING):
        if unicodedata.category(char) not in ("Co", "Cs"):
            assert fold_to_line(f"a{char}b") in ("ab", "a b"), hex(ord(char))
    assert fold_to_line("a\ue000\U000f0000\ud800b") == "ab"


@pytest.mark.parametrize(
    ("text", "folded"), CASES["test_folded_text_is_one_line_without_hidden_code_points"]
)
def test_folded_text_is_one_line_without_hidden_code_points(text, folded):
    assert fold_to_line(text) == folded
    assert fold_all_to_lines([text, "other", "é"]) == [folded, "other", "é"]


def test_folding_many_texts_is_folding_each():
    texts = ["a", "b  c", "é\u200b", "", " d", "e\nf", "g"]
    assert fold_all_to_lines(texts) == [fold_to_line(text) for text in texts]
    for text in texts:
        assert fold_all_to_lines([text]) == [fold_to_line(text)]
    assert fold_all_to_lines([]) == []


@pytest.mark.parametrize(("text", "cleaned"), CASES["test_cleaned_text_keeps_its_lines_and_tabs"])
def test_cleaned_text_keeps_its_lines_and_tabs(text, cleaned):
    assert clean_text(text) == cleaned


@pytest.mark.parametrize(
    "text", ["⚠️ Caution", "1️⃣ first", "👩‍🔬", "❤️‍🔥 and 🏳️‍🌈", "🐦‍⬛", "👨‍👩‍👧", "✔️✔️"]
)
def test_what_chooses_the_picture_of_an_emoji_is_not_hidden(text):
    assert find_hidden(text) is None
    assert clean_text(text) == fold_to_line(text) == text


@pytest.mark.parametrize(
    ("text", "cleaned"), CASES["test_selectors_and_joiners_elsewhere_are_hidden"]
)
def test_selectors_and_joiners_elsewhere_are_hidden(text, cleaned):
    assert find_hidden(text) is not None
    assert clean_text(text) == fold_to_line(text) == cleaned
    assert find_hidden(cleaned) is None


@pytest.mark.parametrize("text", ["", "a\n\tb — é 🧠", "a\u200bb\u00ad", "\r", "ab\U000e0041"])
def test_the_first_hidden_character_is_the_one_the_pattern_finds(text):
    found, expected = find_hidden(text), hidden_pattern().search(text)
    assert (found and found.span()) == (expected and expected.span())


def test_letters_that_this_python_may_not_know_yet_are_kept_by_all_and_controls_by_none():
    assert fold_to_line("a\U00013441b") == clean_text("a\U00013441b") == "a\U00013441b"
    assert fold_to_line("a\U0001343fb") == clean_text("a\U0001343fb") == "ab"
