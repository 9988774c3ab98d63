"""Near-duplicates in a brain."""

import pytest

from brain.errors import InvalidInput, NotFound
from brain.ops.similar import MAX_COMPARED_SKILLS, find_duplicates
from tests.support.refusals import raises_code

BODY = "Open the workbook with the library.\nWrite one row per record.\nSave it under a new name.\n"


@pytest.fixture
def library(brain):
    brain.skills.upsert("csv-to-excel", BODY, description="Convert CSV files into Excel workbooks")
    brain.skills.upsert("pdf-forms", "Fill.", description="Fill the fields of PDF forms")
    brain.skills.upsert("date-parsing", "Read.", description="Read dates in any notation")
    return brain


def test_what_a_new_skill_would_duplicate_is_named(library):
    (one,) = library.skills.find_duplicates(
        "excel-from-csv", "Turn CSV data into an Excel workbook"
    )
    assert (one.slug, one.path) == ("csv-to-excel", "skills/csv-to-excel/SKILL.md")
    assert 0.5 <= one.score <= 1


def test_a_new_skill_like_no_other_has_no_duplicates(library):
    assert library.skills.find_duplicates("bread", "Bake a loaf of sourdough") == []
    assert library.skills.find_duplicates("bread") == []


def test_the_description_is_taken_from_the_text_where_nobody_gives_one(library):
    text = "---\nname: x\ndescription: Filling fields in PDF forms\n---\nDo.\n"
    assert [one.slug for one in library.skills.find_duplicates("x", body=text)] == ["pdf-forms"]
    assert [one.slug for one in library.skills.find_duplicates("x", "Fill PDF forms")] == [
        "pdf-forms"
    ]


def test_the_same_lines_under_other_words_are_found(library):
    found = library.skills.find_duplicates("spreadsheets", "Excel, the easy way", BODY)
    assert [(one.slug, one.score) for one in found] == [("csv-to-excel", 1.0)]


def test_writing_to_a_skill_that_is_there_duplicates_nothing(library):
    assert (
        library.skills.find_duplicates("CSV to Excel", "Convert CSV files into Excel workbooks")
        == []
    )


def test_a_skill_that_another_writer_makes_meanwhile_is_not_its_own_duplicate(library):
    told = "Convert CSV files into Excel workbooks"
    assert find_duplicates(library._session, "CSV to Excel", told, None) == []


def test_a_skill_is_not_its_own_duplicate(library):
    assert library.skills.similar("csv-to-excel") == []
    library.skills.upsert("excel-csv", BODY, description="Excel workbooks of CSV files")
    assert [one.slug for one in library.skills.similar("csv-to-excel")] == ["excel-csv"]
    assert [one.slug for one in library.skills.similar("excel-csv")] == ["csv-to-excel"]


def test_what_cannot_be_named_or_found_is_said(library):
    with pytest.raises(InvalidInput):
        library.skills.find_duplicates("!!!", "x")
    with raises_code("no_skill", NotFound) as error:
        library.skills.similar("excel")
    assert error.value.hint == "did you mean csv-to-excel?"  # none is much like it; one holds it


def test_text_that_is_no_skill_is_compared_as_it_is(library):
    assert library.skills.find_duplicates("pdf-form", body=b"\xff---\nFill the fields\n") != []
    assert library.skills.find_duplicates("zebra", body=b"---\nunclosed: [\n") == []


def test_a_skill_takes_no_place_of_the_eight_that_it_is_compared_with(brain):
    for number in range(MAX_COMPARED_SKILLS + 2):
        brain.skills.upsert(f"csv-{number}", BODY, description="Convert CSV files into Excel")
    for slug in ("csv-0", "csv-9"):
        found = [one.slug for one in brain.skills.similar(slug, limit=20)]
        assert len(set(found)) == MAX_COMPARED_SKILLS and slug not in found
