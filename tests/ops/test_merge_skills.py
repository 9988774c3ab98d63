"""One skill absorbs another."""

import re

import pytest

from brain import Brain
from brain.errors import InvalidInput, NotFound
from brain.ops.similar import MAX_COMPARED_SKILLS, find_duplicates
from tests.support.brains import skill_text, write_file
from tests.support.refusals import raises_code


@pytest.fixture
def two(brain):
    brain.skills.upsert("csv-to-excel", "Open it.\n\nWrite rows.\n", description="CSV to Excel")
    brain.skills.upsert("excel-from-csv", "Open it.\n\nMind dates.\n", description="Excel of CSV")
    brain.skills.upsert("excel-from-csv", "Open it.\n\nMind the dates.\n")
    return brain


def body(brain: Brain, slug: str = "csv-to-excel") -> str:
    return brain.skills.view(slug).body.lstrip("\n")


def files(brain: Brain) -> dict[str, str]:
    below = brain.root / "skills"
    return {
        path.relative_to(below).as_posix(): path.read_text()
        for path in sorted(below.rglob("*"))
        if path.is_file()
    }


def test_both_texts_are_in_one_skill_and_the_other_is_gone(two):
    before = two.head
    done = two.skills.merge("csv-to-excel", "excel-from-csv")
    assert (done.slug, done.previous_version, done.version) == ("csv-to-excel", 1, 2)
    assert (done.absorbed, done.absorbed_version, done.files) == ("excel-from-csv", 2, [])
    assert body(two) == "Open it.\n\nWrite rows.\n\n## From excel-from-csv\n\nMind the dates.\n"
    assert list(files(two)) == ["csv-to-excel/SKILL.md"]
    assert next(two.history.log()).parents == [before] and two.status().clean
    assert two.verify(deep=True).ok


def test_the_histories_of_both_stay_and_say_what_happened(two):
    done = two.skills.merge("csv-to-excel", "excel-from-csv")
    newest = two.skills.history("csv-to-excel")[0]
    assert (newest.change, newest.snapshot) == ("upgraded", done.snapshot)
    assert newest.message == "Absorb excel-from-csv, version 2"
    assert [one.change for one in two.skills.history("excel-from-csv")] == [
        *("removed", "upgraded", "added")
    ]
    last = next(two.history.log(skill="excel-from-csv"))
    assert last.operation == {
        "kind": "absorb",
        "slug": "csv-to-excel",
        "from_version": "1",
        "to_version": "2",
        "absorbed": "excel-from-csv",
        "absorbed_version": "2",
    }
    assert (
        two.skills.view("excel-from-csv@2").body.strip() + "\n" == "Open it.\n\nMind the dates.\n"
    )


def test_an_undo_brings_both_back(two):
    before = files(two)
    two.skills.merge("csv-to-excel", "excel-from-csv")
    two.undo()
    assert files(two) == before and two.status().clean


def test_a_copy_that_went_on_is_merged_with_what_it_was_copied_from(brain):
    text = "One.\nTwo.\nThree.\nFour.\n"
    brain.skills.upsert("a", text, description="x")
    brain.skills.upsert("b", text, description="y")
    brain.skills.upsert("a", text.replace("One.", "One!"))
    brain.skills.upsert("b", text.replace("Four.", "Four!"))
    brain.skills.merge("a", "b")
    assert body(brain, "a") == "One!\nTwo.\nThree.\nFour!\n"


def test_files_move_along_and_none_takes_the_place_of_another(two):
    write_file(two, "skills/csv-to-excel/scripts/run.py", "ours\n")
    write_file(two, "skills/csv-to-excel/data/same.txt", "same\n")
    write_file(two, "skills/excel-from-csv/scripts/run.py", "theirs\n")
    write_file(two, "skills/excel-from-csv/data/same.txt", "same\n")
    write_file(two, "skills/excel-from-csv/notes", "notes\n")
    two.skills.upsert("excel-from-csv", "Run scripts/run.py now.\n")
    done = two.skills.merge("csv-to-excel", "excel-from-csv")
    there = files(two)
    assert there["csv-to-excel/scripts/run.py"] == "ours\n"
    assert there["csv-to-excel/scripts/run-excel-from-csv.py"] == "theirs\n"
    assert there["csv-to-excel/notes"] == "notes\n"
    assert done.files == [
        "skills/csv-to-excel/notes",
        "skills/csv-to-excel/scripts/run-excel-from-csv.py",
    ]
    assert not any(path.startswith("excel-from-csv") for path in there)
    assert "Run scripts/run-excel-from-csv.py now." in body(two)
    assert two.status().clean


def test_a_flat_skill_gets_a_folder_for_the_files_it_absorbs(brain):
    write_file(brain, "skills/flat.md", skill_text("flat"))
    write_file(brain, "skills/deep/SKILL.md", skill_text("deep"))
    write_file(brain, "skills/deep/data.txt", "data\n")
    brain.snapshot()
    done = brain.skills.merge("flat", "deep")
    assert (done.path, list(files(brain))) == (
        "skills/flat/SKILL.md",
        ["flat/SKILL.md", "flat/data.txt"],
    )
    assert brain.skills.history("flat")[0].version == 2
    write_file(brain, "skills/other.md", skill_text("other", body="Other.\n"))
    brain.snapshot()
    assert brain.skills.merge("other", "flat").path == "skills/other/SKILL.md"


def test_flat_skills_stay_flat(brain):
    write_file(brain, "skills/one.md", skill_text("one"))
    write_file(brain, "skills/two.md", skill_text("two", body="Two.\n"))
    brain.snapshot()
    assert brain.skills.merge("one", "two").path == "skills/one.md"
    assert list(files(brain)) == ["one.md"]


@pytest.mark.parametrize(("stays", "goes"), [("inner", "outer"), ("outer", "inner")])
def test_a_skill_within_the_folder_of_another_is_not_lost(brain, stays, goes):
    write_file(brain, "skills/outer/SKILL.md", skill_text("outer", body="Outer.\n"))
    write_file(brain, "skills/outer/out.txt", "out\n")
    write_file(brain, "skills/outer/skills/inner/SKILL.md", skill_text("inner", body="Inner.\n"))
    write_file(brain, "skills/outer/skills/inner/in.txt", "in\n")
    brain.snapshot()
    done = brain.skills.merge(stays, goes)
    folder = done.path.removeprefix("skills/").removesuffix("SKILL.md")
    assert list(files(brain)) == [f"{folder}SKILL.md", f"{folder}in.txt", f"{folder}out.txt"]
    assert "Outer." in body(brain, stays) and "Inner." in body(brain, stays)
    assert brain.status().clean


def test_what_was_changed_by_hand_in_either_is_recorded_first(two):
    path = two.root / "skills/excel-from-csv/SKILL.md"
    path.write_text(path.read_text() + "\nBy hand.\n")
    write_file(two, "skills/excel-from-csv/note.txt", "by hand\n")
    two.skills.merge("csv-to-excel", "excel-from-csv")
    assert "By hand." in body(two)
    assert next(iter(two.history.log(limit=2))).operation["kind"] == "absorb"
    assert [one.operation["kind"] for one in two.history.log(limit=2)] == ["absorb", "snapshot"]
    assert two.status().clean


def test_a_file_that_no_brain_can_hold_is_refused_before_anything_is_merged(two):
    write_file(two, "skills/excel-from-csv/bad\\name.md", "x")
    head = two.head
    with raises_code("bad_path", InvalidInput):
        two.skills.merge("csv-to-excel", "excel-from-csv")
    assert two.head == head


def test_a_given_text_is_the_text_of_both(two):
    two.skills.merge("csv-to-excel", "excel-from-csv", description="Tables", body="All of it.\n")
    assert body(two) == "All of it.\n"
    assert two.skills.view("csv-to-excel").description == "Tables"


def test_versions_go_on_after_those_that_were_given(two):
    two.skills.upsert("csv-to-excel", "New.\n")
    two.restore("@~1", ["skills/csv-to-excel"])
    assert two.skills.merge("csv-to-excel", "excel-from-csv").version == 3


def test_a_skill_cannot_absorb_itself_or_what_is_not_there(two):
    with raises_code("same_skill", InvalidInput):
        two.skills.merge("csv-to-excel", "CSV to Excel")
    before = two.head
    with pytest.raises(NotFound):
        two.skills.merge("csv-to-excel", "nobody")
    assert two.head == before


def test_what_was_absorbed_is_found_by_the_skill_that_has_it_now(two):
    assert len(two.skills.select("excel")) == 2
    two.skills.merge("csv-to-excel", "excel-from-csv", description="CSV to Excel, with dates")
    assert [one.slug for one in two.skills.select("dates in excel")] == ["csv-to-excel"]


def test_a_file_of_either_skill_is_written_over_by_no_other(brain):
    for slug, text in (("a", "mine"), ("b", "theirs")):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug))
        write_file(brain, f"skills/{slug}/ref.md", text)
    write_file(brain, "skills/a/ref-b.md", "precious")
    write_file(brain, "skills/a/Notes.md", "one case")
    write_file(brain, "skills/b/notes.md", "another case")
    brain.snapshot()
    brain.skills.merge("a", "b")
    kept = files(brain)
    assert kept["a/ref.md"] == "mine"
    assert kept["a/ref-b.md"] == "precious"
    assert kept["a/ref-b-2.md"] == "theirs"
    assert (kept["a/Notes.md"], kept["a/notes-b.md"]) == ("one case", "another case")
    assert brain.status().clean and not brain.snapshot().changed


def test_a_file_where_the_other_skill_has_a_folder_is_in_nobodys_way(brain):
    for slug in ("a", "b"):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug))
    write_file(brain, "skills/a/scripts/x", "in a folder")
    write_file(brain, "skills/b/scripts", "a file")
    brain.snapshot()
    brain.skills.merge("a", "b")
    assert files(brain)["a/scripts/x"] == "in a folder"
    assert files(brain)["a/scripts-b"] == "a file"
    assert brain.status().clean and brain.verify().ok


def test_a_folder_that_finds_a_file_in_its_way_is_refused_before_anything_changes(brain):
    for slug in ("a", "b"):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug))
    write_file(brain, "skills/a/scripts", "a file")
    write_file(brain, "skills/b/scripts/x", "in a folder")
    brain.snapshot()
    before = brain.head
    with raises_code("taken", InvalidInput):
        brain.skills.merge("a", "b")
    assert brain.head == before and brain.status().clean


def test_words_of_the_other_text_are_no_names_of_files(brain):
    for slug, text in (("a", "1"), ("b", "2")):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug, body=f"Of {slug}.\n"))
        write_file(brain, f"skills/{slug}/run", text)
        write_file(brain, f"skills/{slug}/ref.md", text)
    brain.snapshot()
    told = "To run it, run tests; see ref.md, ./ref.md, xref.md and ref.md.bak.\n"
    brain.skills.upsert("b", told)
    brain.skills.merge("a", "b")
    assert told.replace(" ref.md,", " ref-b.md,").replace("./ref.md", "./ref-b.md") in body(
        brain, "a"
    )


def test_a_flat_skill_gets_no_folder_that_holds_others(brain):
    write_file(brain, "skills/a.md", skill_text("a"))
    write_file(brain, "skills/a/other.md", skill_text("other"))
    write_file(brain, "skills/b/SKILL.md", skill_text("b"))
    write_file(brain, "skills/b/x.txt", "a file")
    brain.snapshot()
    with raises_code("taken", InvalidInput) as raised:
        brain.skills.merge("a", "b")
    assert raised.value.hint
    assert {one.slug for one in brain.skills.list()} == {"a", "b", "other"}


def test_a_link_that_would_lead_elsewhere_is_refused(brain):
    for slug, text in (("a", "1"), ("b", "2")):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug))
        write_file(brain, f"skills/{slug}/real.txt", text)
    (brain.root / "skills/b/ln").symlink_to("real.txt")
    brain.snapshot()
    with raises_code("taken", InvalidInput):
        brain.skills.merge("a", "b")


def test_a_new_name_that_was_the_old_one_of_another_file_is_not_changed_again(brain):
    for slug in ("a", "b"):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug, body=f"Of {slug}.\n"))
        write_file(brain, f"skills/{slug}/bin/go", f"go of {slug}")
    write_file(brain, "skills/b/bin/go-b", "another of b")
    brain.snapshot()
    brain.skills.upsert("b", "Run bin/go, then ./bin/go-b.\n")
    brain.skills.merge("a", "b")
    told = re.search(r"Run (\S+), then \./(\S+)\.\n", body(brain, "a"))
    assert told is not None
    assert [files(brain)[f"a/{name}"] for name in told.groups()] == ["go of b", "another of b"]


def test_a_skill_inside_the_other_one_gets_no_name_under_which_it_is_none(brain):
    for slug in ("a", "b"):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug))
        write_file(brain, f"skills/{slug}/sub/SKILL.md", skill_text(f"sub-{slug}"))
    brain.snapshot()
    before = brain.head
    with raises_code("taken", InvalidInput, match="a separate skill"):
        brain.skills.merge("a", "b")
    assert brain.head == before and brain.status().clean


def test_versions_that_cannot_be_read_hide_no_common_text(brain):
    shared = "Open it.\n\nWrite rows.\n\nClose it.\n"
    for slug in ("ours", "theirs"):
        brain.skills.upsert(slug, shared, description="d")
        file = brain.root / f"skills/{slug}/SKILL.md"
        whole = file.read_text()
        file.write_bytes(b"---\nname: [\n---\n\xff\xfe\n")
        brain.snapshot()
        file.write_text(whole.replace("version: 1", "version: 3"))
        brain.snapshot()
    brain.skills.upsert("ours", shared.replace("Open it.", "Open it first."))
    brain.skills.upsert("theirs", shared.replace("Close it.", "Close it last."))
    brain.skills.merge("ours", "theirs")
    assert body(brain, "ours") == "Open it first.\n\nWrite rows.\n\nClose it last.\n"


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
