"""How much two skills are alike."""

import pytest

from brain.search.similarity import (
    NEAR_DUPLICATE_THRESHOLD,
    extract_features,
    is_roughly_similar,
    rarity_weights,
    similarity_score,
)
from brain.store import full_text_index

STEMS = full_text_index.open_memory_full_text((1.0,)).stem_words
COUNTS = {"csv": 3, "excel": 4, "check": 60, "creat": 80, "pdf": 12}


def like(one: tuple[str, str, str], other: tuple[str, str, str]) -> float:
    return similarity_score(
        extract_features(STEMS, *one), extract_features(STEMS, *other), rarity_weights(COUNTS, 300)
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("csv-to-excel", "Convert CSV to Excel", ""), ("excel-from-csv", "Make a workbook", "")),
        (("a", "Fill the fields of a PDF form", ""), ("b", "PDF forms: filling fields", "")),
        (("a", "x", "# Steps\nOpen the ledger first.\n"), ("b", "y", "Open the  ledger first.")),
    ],
)
def test_near_duplicates_are_alike(one, other):
    assert like(one, other) == like(other, one) >= NEAR_DUPLICATE_THRESHOLD
    assert is_roughly_similar(extract_features(STEMS, *one), extract_features(STEMS, *other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("pdf-merge", "Join PDF files", ""), ("pdf-sign", "Put a signature on a PDF", "")),
        (("check-logs", "Check and create logs", ""), ("check-tax", "Check and create taxes", "")),
        (("a", "x", "- yes\n- no\n"), ("b", "y", "- yes\n- no\n")),  # lines that say nothing
        (("a", "", ""), ("b", "", "")),
    ],
)
def test_skills_of_one_field_are_not(one, other):
    assert like(one, other) < NEAR_DUPLICATE_THRESHOLD


def test_a_skill_is_as_like_itself_as_can_be():
    skill = ("csv-to-excel", "Convert CSV to Excel", "")
    assert like(skill, skill) == pytest.approx(1)
