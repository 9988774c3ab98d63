import pytest

from brain import Conflict, InvalidInput, NotFound
from tests.support.brains import skill_text, write_file
from tests.support.refusals import raises_code

PATH = "skills/oracle-manipulation/SKILL.md"


def test_a_new_skill_starts_at_version_1_in_a_folder_of_its_slug(brain):
    done = brain.skills.upsert("Oracle manipulation", "Check.\n", description="Prices")
    assert (done.slug, done.version, done.previous_version) == ("oracle-manipulation", 1, None)
    assert done.path == PATH
    text = (brain.root / PATH).read_text()
    assert 'metadata:\n  version: "1"\n' in text and text.endswith("\nCheck.\n")


def test_each_upsert_raises_the_version_and_moves_the_bundle(brain):
    results = [brain.skills.upsert("a", f"{i}\n", description="d") for i in range(3)]
    assert [done.version for done in results] == [1, 2, 3]
    assert len({done.bundle for done in results}) == 3
    assert len({done.snapshot for done in results}) == 3


def test_an_identical_save_still_raises_the_version(brain):
    brain.skills.upsert("a", "same\n", description="d")
    assert brain.skills.upsert("a", "same\n", description="d").version == 2


def test_the_folder_is_clean_after_an_upsert(brain):
    brain.skills.upsert("a", "text\n", description="d")
    assert brain.status().clean


def test_an_edit_by_hand_is_recorded_before_it_is_written_over(brain):
    brain.skills.upsert("a", "one\n", description="d")
    edited = skill_text("a", 1, "by hand\n")
    write_file(brain, "skills/a/SKILL.md", edited)
    done = brain.skills.upsert("a", "two\n")
    log = list(brain.history.log(limit=2))
    assert [entry.operation["kind"] for entry in log] == ["upsert", "snapshot"]
    assert brain.skills.view("a", log[1].snapshot).body == "by hand\n"
    assert done.version == 2


def test_an_edit_by_hand_that_keeps_the_size_is_recorded_too(brain):
    done = brain.skills.upsert("a", "one\n", description="d")
    text = (brain.root / done.path).read_text()
    write_file(brain, done.path, text.replace("one\n", "eno\n"))
    brain.skills.upsert("a", "two\n")
    log = list(brain.history.log(limit=2))
    assert log[1].operation["kind"] == "snapshot"
    assert brain.skills.view("a", log[1].snapshot).body.strip() == "eno"


def test_a_mode_changed_by_hand_is_recorded_too(brain):
    done = brain.skills.upsert("a", "one\n", description="d")
    (brain.root / done.path).chmod(0o755)
    brain.skills.upsert("a", "two\n")
    assert [entry.operation["kind"] for entry in brain.history.log(limit=2)] == [
        "upsert",
        "snapshot",
    ]


def test_an_upsert_of_an_untouched_skill_records_one_snapshot(brain):
    brain.skills.upsert("a", "one\n", description="d")
    first = brain.head
    brain.skills.upsert("a", "two\n")
    assert next(iter(brain.history.log())).parents == [first]


def test_other_files_changed_by_hand_stay_unrecorded(brain):
    write_file(brain, "memory/notes.md", "note\n")
    brain.skills.upsert("a", "one\n", description="d")
    assert brain.status().added == ["memory/notes.md"]


def test_a_higher_version_written_by_hand_is_gone_on_from(brain):
    brain.skills.upsert("a", "one\n", description="d")
    write_file(brain, "skills/a/SKILL.md", skill_text("a", 7))
    done = brain.skills.upsert("a", "two\n")
    assert (done.previous_version, done.version) == (7, 8)


def test_a_body_that_brings_a_version_does_not_set_it(brain):
    brain.skills.upsert("a", "one\n", description="d")
    assert brain.skills.upsert("a", skill_text("a", 50)).version == 2


def test_a_deleted_skill_goes_on_from_its_last_version(brain):
    brain.skills.upsert("a", "one\n", description="d")
    brain.skills.upsert("a", "two\n")
    brain.skills.delete("a")
    assert not (brain.root / "skills/a").exists()
    done = brain.skills.upsert("a", "three\n", description="d")
    assert (done.previous_version, done.version) == (2, 3)


def test_a_skill_deleted_by_hand_goes_on_from_its_last_version(brain):
    done = brain.skills.upsert("a", "one\n", description="d")
    (brain.root / done.path).unlink()
    assert brain.skills.upsert("a", "two\n", description="d").version == 2


@pytest.mark.parametrize("row", ["slug-04", "slug-07", "slug-10", "slug-14", "cpp"])
def test_a_name_that_only_folds_to_the_slug_of_another_is_refused(brain, row):
    first, second = {
        "slug-04": ("My Skill!", "my-skill"),
        "slug-07": ("caf\u00e9", "cafe\u0301"),
        "slug-10": ("\ufb01le", "file"),
        "slug-14": ("\u212aey", "key"),
        "cpp": ("C++", "C#"),
    }[row]
    done = brain.skills.upsert(first, "one\n", description="d")
    with raises_code("name_taken", Conflict) as refused:
        brain.skills.upsert(second, "two\n", description="d")
    assert refused.value.exit_status == 12
    assert brain.head == done.snapshot
    assert brain.skills.upsert(first, "three\n").version == 2


def test_a_skill_whose_name_leads_elsewhere_is_called_by_its_place(brain):
    write_file(brain, "skills/peft/SKILL.md", skill_text("peft-fine-tuning"))
    brain.snapshot()
    assert brain.skills.upsert("peft", "Better.\n").version == 2
    assert brain.skills.upsert("peft fine tuning", "Best.\n").version == 3
    with pytest.raises(Conflict):
        brain.skills.upsert("Peft!", "Other.\n")


def test_the_skill_that_is_meant_may_be_named_by_its_slug(brain):
    brain.skills.upsert("C++", "one\n", description="d")
    assert brain.skills.upsert("c", "two\n", target="c").version == 2
    with pytest.raises(NotFound):
        brain.skills.upsert("c", "three\n", target="more/c")


@pytest.mark.parametrize(
    "again", ["oracle manipulation", "ORACLE-MANIPULATION", "Oracle_Manipulation"]
)
def test_names_that_differ_in_case_and_separators_are_one_skill(brain, again):
    brain.skills.upsert("Oracle manipulation", "one\n", description="d")
    assert brain.skills.upsert(again, "two\n").path == PATH


def test_a_flat_skill_stays_flat(brain):
    write_file(brain, "skills/flat-one.md", skill_text("flat-one", 4))
    brain.snapshot()
    done = brain.skills.upsert("flat-one", "new\n")
    assert (done.path, done.version) == ("skills/flat-one.md", 5)
    assert not (brain.root / "skills/flat-one").exists()


def test_the_manifest_says_where_new_skills_go(brain):
    write_file(brain, "manifest.yaml", "layout: flat\n")
    brain.snapshot()
    assert brain.skills.upsert("a", "one\n", description="d").path == "skills/a.md"


def test_a_skill_in_a_category_is_found_by_its_slug(brain):
    write_file(brain, "skills/tools/search.md", skill_text("search", 2))
    write_file(brain, "skills/deep/er/look/SKILL.md", skill_text("look", 3))
    brain.snapshot()
    assert brain.skills.upsert("search", "x\n").path == "skills/tools/search.md"
    assert brain.skills.upsert("look", "x\n").path == "skills/deep/er/look/SKILL.md"


def test_a_skill_whose_folder_bears_another_name_is_found_by_its_name(brain):
    write_file(brain, "skills/folder/SKILL.md", skill_text("real-name", 2))
    brain.snapshot()
    assert brain.skills.upsert("Real name", "x\n").path == "skills/folder/SKILL.md"


def test_a_slug_of_two_skills_is_refused_with_both_addresses(brain):
    write_file(brain, "skills/one/search/SKILL.md", skill_text("search"))
    write_file(brain, "skills/two/search/SKILL.md", skill_text("search"))
    brain.snapshot()
    with raises_code("ambiguous_skill", InvalidInput) as refused:
        brain.skills.upsert("search", "x\n")
    assert refused.value.message == "search may be any of: one/search, two/search"
    assert brain.skills.view("one/search").path == "skills/one/search/SKILL.md"


def test_an_unrecorded_skill_file_is_recorded_and_then_raised(brain):
    write_file(brain, "skills/a/SKILL.md", skill_text("a", 3))
    done = brain.skills.upsert("a", "new\n")
    assert (done.previous_version, done.version) == (3, 4)
    assert next(iter(brain.history.log("@~1"))).operation["kind"] == "snapshot"


def test_a_refused_upsert_changes_nothing(brain):
    write_file(brain, "skills/a/SKILL.md", "---\nname: a\ndescription: d\nversion: 1e3\n---\nx\n")
    brain.snapshot()
    before = brain.head, (brain.root / "skills/a/SKILL.md").read_bytes()
    with raises_code("bad_char", InvalidInput):
        brain.skills.upsert("a", "a\0b\n")
    assert (brain.head, (brain.root / "skills/a/SKILL.md").read_bytes()) == before


def test_a_receipt_is_kept_as_a_blob(brain):
    brain.skills.upsert("a", "x\n", description="d", receipt=b'{"steps": []}')
    entry = next(iter(brain.history.log()))
    assert entry.receipt is not None and len(entry.receipt) == 64


def test_a_link_in_place_of_a_skills_folder_is_not_written_through(brain):
    outside = brain.root.parent / "outside"
    outside.mkdir()
    (brain.root / "skills/a").symlink_to(outside)
    with pytest.raises(InvalidInput):
        brain.skills.upsert("a", "x\n", description="d")
    assert list(outside.iterdir()) == []


def test_delete_takes_the_whole_folder_and_undo_brings_it_back(brain):
    brain.skills.upsert("a", "x\n", description="d")
    write_file(brain, "skills/a/scripts/run.sh", "echo\n")
    brain.snapshot()
    brain.skills.delete("a")
    assert brain.skills.list() == []
    brain.undo()
    assert (brain.root / "skills/a/scripts/run.sh").read_text() == "echo\n"
    assert brain.status().clean


def test_revert_brings_the_text_and_files_of_a_version_back_as_a_new_version(brain):
    brain.skills.upsert("a", "one\n", description="d")
    write_file(brain, "skills/a/notes.md", "old notes\n")
    brain.snapshot()
    brain.skills.upsert("a", "two\n")
    write_file(brain, "skills/a/later.md", "later\n")
    brain.snapshot()
    done = brain.skills.revert("a", "1")
    view = brain.skills.view("a")
    assert (done.previous_version, done.version) == (2, 3)
    assert view.body.strip() == "one"
    assert brain.status().clean


def test_revert_to_a_version_that_never_was_names_those_that_were(brain):
    brain.skills.upsert("a", "one\n", description="d")
    with raises_code("no_version", NotFound) as refused:
        brain.skills.revert("a", "9")
    assert "1" in refused.value.hint


def test_an_unknown_skill_is_refused_with_near_names(brain):
    brain.skills.upsert("oracle-manipulation", "one\n", description="d")
    with raises_code("no_skill", NotFound) as refused:
        brain.skills.view("oracle-manipulaton")
    assert "oracle-manipulation" in refused.value.hint


def test_after_an_older_text_was_brought_back_versions_go_on_from_the_last(brain):
    for text in ("One.\n", "Two.\n", "Three.\n"):
        brain.skills.upsert("A", text)
    first = brain.skills.history("a")[-1].snapshot
    brain.restore(first, ["skills"])
    assert brain.skills.view("a").version == 1
    done = brain.skills.upsert("A", "Four.\n")
    assert (done.previous_version, done.version) == (3, 4)
    assert brain.verify().findings == []
    assert brain.skills.view("a@2").body.strip() == "Two."
