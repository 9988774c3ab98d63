"""Near-duplicates in a brain."""

from __future__ import annotations

import pytest

from brain import Brain
from brain.errors import InvalidInput, NotFound
from brain.repo.skills.similar import find_similar_to_text

BODY = "Open the workbook with the library.\nWrite one row per record.\nSave it under a new name.\n"


@pytest.fixture
def library(brain: Brain) -> Brain:
    brain.upsert_skill("csv-to-excel", BODY, description="Convert CSV files into Excel workbooks")
    brain.upsert_skill("pdf-forms", "Fill.", description="Fill the fields of PDF forms")
    brain.upsert_skill("date-parsing", "Read.", description="Read dates in any notation")
    return brain


def test_what_a_new_skill_would_duplicate_is_named(library: Brain) -> None:
    (one,) = library.similar_skills("excel-from-csv", "Turn CSV data into an Excel workbook")
    assert (one.slug, one.path) == ("csv-to-excel", "skills/csv-to-excel/SKILL.md")
    assert 0.5 <= one.score <= 1


def test_a_new_skill_like_no_other_has_no_duplicates(library: Brain) -> None:
    assert library.similar_skills("bread", "Bake a loaf of sourdough") == []
    assert library.similar_skills("bread") == []


def test_the_description_is_taken_from_the_text_where_nobody_gives_one(library: Brain) -> None:
    text = "---\nname: x\ndescription: Filling fields in PDF forms\n---\nDo.\n"
    assert [one.slug for one in library.similar_skills("x", body=text)] == ["pdf-forms"]
    assert [one.slug for one in library.similar_skills("x", "Fill PDF forms")] == ["pdf-forms"]


def test_the_same_lines_under_other_words_are_found(library: Brain) -> None:
    found = library.similar_skills("spreadsheets", "Excel, the easy way", BODY)
    assert [(one.slug, one.score) for one in found] == [("csv-to-excel", 1.0)]


def test_writing_to_a_skill_that_is_there_duplicates_nothing(library: Brain) -> None:
    assert library.similar_skills("CSV to Excel", "Convert CSV files into Excel workbooks") == []


def test_a_skill_that_another_writer_makes_meanwhile_is_not_its_own_duplicate(
    library: Brain,
) -> None:
    told = "Convert CSV files into Excel workbooks"
    assert find_similar_to_text(library._session, "CSV to Excel", told, None) == []


def test_a_skill_is_not_its_own_duplicate(library: Brain) -> None:
    assert library.similar_to("csv-to-excel") == []
    library.upsert_skill("excel-csv", BODY, description="Excel workbooks of CSV files")
    assert [one.slug for one in library.similar_to("csv-to-excel")] == ["excel-csv"]
    assert [one.slug for one in library.similar_to("excel-csv")] == ["csv-to-excel"]


def test_what_cannot_be_named_or_found_is_said(library: Brain) -> None:
    with pytest.raises(InvalidInput):
        library.similar_skills("!!!", "x")
    with pytest.raises(NotFound) as error:
        library.similar_to("excel")
    assert error.value.code == "no_skill"
    assert error.value.hint == "did you mean csv-to-excel?"  # none is much like it; one holds it


def test_text_that_is_no_skill_is_compared_as_it_is(library: Brain) -> None:
    assert library.similar_skills("pdf-form", body=b"\xff---\nFill the fields\n") != []
    assert library.similar_skills("zebra", body=b"---\nunclosed: [\n") == []
