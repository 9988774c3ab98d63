"""Folding: what Unicode 14 says of equal names, by a table that no later version changes."""

import random
import sys
import unicodedata

from brain.objects import folding
from brain.objects.folding import fold_name
from tests.vectors import make_folding

SKIPPED = {chr(code) for code in (*make_folding.DROPPED, *make_folding.DROPPED_TOO)}
STARTS = [*folding._load_table().fold, *folding._load_table().classes, *"abkKsSßſijIJ가각힣中🧠"]


def by_unicode(text: str) -> str:
    """Canonical caseless matching (The Unicode Standard, D145), without what is passed over."""
    seen = "".join(char for char in text if char not in SKIPPED)
    decomposed = unicodedata.normalize("NFD", seen)
    return unicodedata.normalize("NFD", decomposed.casefold())


def test_every_code_point_folds_as_unicode_14_says():
    """Under a Python with a later Unicode, those that the table speaks of, which never change."""
    known = folding._load_table()
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    if unicodedata.unidata_version != "14.0.0":
        every = [*known.fold, *known.classes]
    assert [ascii(char) for char in every if fold_name(char) != by_unicode(char)] == []


def test_drawn_texts_fold_as_unicode_says():
    chance = random.Random(14)
    for _ in range(20_000):
        text = "".join(chance.choices(STARTS, k=chance.randint(1, 8)))
        assert fold_name(text) == by_unicode(text), ascii(text)


def test_the_table_is_the_one_its_script_writes():
    if unicodedata.unidata_version == "14.0.0":
        assert make_folding.text() == make_folding.PLACE.read_text("ascii")


def test_a_code_point_without_a_row_stands_for_itself():
    for char in ("\u0378", "\U0001fadd", "\ue000", "中"):
        assert fold_name(f"A{char}") == f"a{char}"


def test_folding_twice_changes_nothing_more():
    for char in STARTS:
        assert fold_name(fold_name(char)) == fold_name(char)


def test_joiners_and_variation_selectors_are_passed_over():
    assert fold_name("❤\ufe0f") == fold_name("❤") and fold_name("a\u200d\u200cb") == "ab"
    assert fold_name("葛\U000e0100") == "葛"


def test_marks_are_compared_in_the_order_of_their_classes():
    assert fold_name("a\u0301\u0323") == fold_name("a\u0323\u0301") == fold_name("\u1ea1\u0301")
    assert fold_name("α\u0345\u0301") == fold_name("ά\u0345") == fold_name("\u1fb4")
    assert fold_name("a\u0301\u0300") != fold_name("a\u0300\u0301")


def test_ascii_loads_no_table():
    folding._load_table.cache_clear()
    assert fold_name("README.md") == "readme.md"
    assert folding._load_table.cache_info().currsize == 0
