import pytest

from brain import Brain, NotFound
from brain.repo.derived_db import DERIVATION_VERSION
from brain.results import Ancestry
from tests.support.brains import skill_text, write_file
from tests.support.derived_data import cache_folder
from tests.support.refusals import raises_code


def test_the_diff_says_in_words_what_happened_to_skills(brain):
    brain.skills.upsert("a", "one\n", description="d")
    brain.skills.upsert("b", "one\n", description="d")
    brain.skills.upsert("c", "one\n", description="d")
    start = brain.head
    brain.skills.upsert("a", "two\n")
    brain.skills.delete("b")
    brain.skills.upsert("new", "x\n", description="d")
    write_file(brain, "skills/c/notes.md", "n\n")
    brain.snapshot()
    found = brain.history.diff(start, "@").skills
    assert [(s.slug, s.change, s.from_version, s.to_version) for s in found] == [
        ("a", "upgraded", 1, 2),
        ("b", "removed", 1, None),
        ("c", "changed", 1, 1),
        ("new", "added", None, 1),
    ]


def test_the_diff_with_the_folder_reads_skills_from_the_folder(brain):
    brain.skills.upsert("a", "one\n", description="d")
    write_file(brain, "skills/a/SKILL.md", skill_text("a", 5))
    write_file(brain, "skills/x/SKILL.md", skill_text("x", 2))
    found = brain.history.diff()
    assert found.to == ""
    assert [(s.slug, s.change, s.to_version) for s in found.skills] == [
        ("a", "upgraded", 5),
        ("x", "added", 2),
    ]


def test_what_a_diff_with_the_folder_worked_out_is_still_stored_by_a_snapshot(brain):
    write_file(brain, "skills/x/SKILL.md", skill_text("x", 2))
    brain.history.diff()
    brain.snapshot()
    assert brain.verify(deep=True).ok


@pytest.mark.parametrize("name", ["SKILL.md", "skill.md"])
def test_a_file_of_a_category_is_no_skill_once_the_category_is_one(brain, name):
    write_file(brain, "skills/tools/search.md", skill_text("search", 1))
    brain.snapshot()
    write_file(brain, "skills/tools/search.md", skill_text("search", 2))
    write_file(brain, f"skills/tools/{name}", skill_text("tools", 1))
    brain.snapshot()
    expected = [("search", "removed"), ("tools", "added")]
    assert [(s.slug, s.change) for s in brain.history.diff("@~1", "@").skills] == expected
    assert [line.change for line in brain.skills.history("search")] == ["removed", "added"]


def test_a_file_of_a_category_is_a_skill_again_once_the_category_is_none(brain):
    write_file(brain, "skills/tools/search.md", skill_text("search", 1))
    path = write_file(brain, "skills/tools/SKILL.md", skill_text("tools", 1))
    brain.snapshot()
    write_file(brain, "skills/tools/search.md", skill_text("search", 2))
    path.unlink()
    brain.snapshot()
    expected = [("search", "added"), ("tools", "removed")]
    assert [(s.slug, s.change) for s in brain.history.diff("@~1", "@").skills] == expected


def test_a_moved_file_is_a_rename(brain):
    path = write_file(brain, "memory/a.md", "same\n")
    brain.snapshot()
    path.rename(brain.root / "memory/b.md")
    brain.snapshot()
    (change,) = brain.history.diff("@~1", "@").changes
    assert (change.change, change.from_path, change.path) == (
        "renamed",
        "memory/a.md",
        "memory/b.md",
    )


def test_the_patch_is_unified_text_and_names_binary_files(brain):
    write_file(brain, "memory/a.md", "one\ntwo\nthree\n")
    write_file(brain, "memory/b.bin", "\0\1\2")
    brain.snapshot()
    write_file(brain, "memory/a.md", "one\n2\nthree\n")
    write_file(brain, "memory/b.bin", "\0\1\3")
    text = "".join(brain.history.patch(brain.history.diff()))
    assert "--- a/memory/a.md\n+++ b/memory/a.md\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n" in text
    assert "Binary files a/memory/b.bin and b/memory/b.bin differ\n" in text


def test_memory_lines_are_counted(brain):
    write_file(brain, "memory/log.jsonl", "".join(f'{{"n": {i}}}\n' for i in range(50_000)))
    brain.snapshot()
    with (brain.root / "memory/log.jsonl").open("a") as file:
        file.write('{"n": "new"}\n')
    (stat,) = brain.history.diff_stat(brain.history.diff())
    assert (stat.added, stat.removed) == (1, 0)


def test_the_history_of_a_skill_lists_its_versions(brain):
    for i in range(3):
        brain.skills.upsert("a", f"{i}\n", description="d")
        brain.skills.upsert("b", f"{i}\n", description="d")
    brain.skills.delete("a")
    found = brain.skills.history("a")
    assert [(entry.version, entry.change) for entry in found] == [
        (3, "removed"),
        (3, "upgraded"),
        (2, "upgraded"),
        (1, "added"),
    ]
    assert len(list(brain.history.log(skill="b"))) == 3
    assert brain.skills.view("b@2").body.strip() == "1"


def test_of_the_snapshots_of_a_skill_those_that_changed_a_path_are_listed(brain):
    brain.skills.upsert("a", "one\n", description="d")
    write_file(brain, "skills/a/SKILL.md", skill_text("a", 2))
    write_file(brain, "memory/a.md", "note\n")
    brain.snapshot("both")
    write_file(brain, "memory/a.md", "more\n")
    brain.snapshot("memory alone")
    found = brain.history.log(skill="a", paths=["memory"])
    assert [entry.message for entry in found] == ["both"]


def test_what_was_undone_is_not_in_the_history(brain):
    brain.skills.upsert("a", "0\n", description="d")
    brain.skills.upsert("a", "1\n")
    brain.undo()
    assert [entry.version for entry in brain.skills.history("a")] == [1]


def test_the_index_is_one_line_per_skill_from_the_head(brain):
    assert brain.prompt.build_index().index == "(no skills yet)"
    brain.skills.upsert("b", "x\n", description="Second")
    brain.skills.upsert("a", "x\n", description="First")
    write_file(brain, "skills/c/SKILL.md", skill_text("c"))
    found = brain.prompt.build_index()
    assert found[:3] == ("▸ a: First\n▸ b: Second", 2, 0)
    assert found.selected_by is None


def test_the_index_is_the_same_when_the_cards_are_lost(brain):
    brain.skills.upsert("a", "x\n", description="First")
    before = brain.prompt.build_index()
    brain._session.cache.db.execute("DELETE FROM cards")
    brain._session.loaded_cards.clear()
    brain._session.rendered_indexes.clear()
    assert brain.prompt.build_index() == before
    assert brain.prompt.build_index("@") == before
    brain._session.cache.db.execute("DELETE FROM states")
    brain._session.rendered_indexes.clear()
    assert brain.prompt.build_index() == before
    assert [found.version for found in brain.skills.list()] == [1]


def test_the_prompt_holds_system_fragments_index_and_chosen_memory(brain):
    write_file(brain, "prompts/system.md", "You audit.\u202e\n")
    write_file(brain, "prompts/fragments/20-b.md", "Second fragment.\n")
    write_file(brain, "prompts/fragments/10-a.md", "First fragment.\n")
    write_file(brain, "MEMORY.md", "remember " * 100)
    write_file(
        brain, "manifest.yaml", "prompt:\n  memory:\n    - path: MEMORY.md\n      limit: 20\n"
    )
    brain.skills.upsert("a", "BODY\n", description="First")
    brain.snapshot()
    made = brain.prompt.build()
    order = [
        made.prompt.index(part)
        for part in ("You audit.", "First fr", "Second fr", "▸ a", "remember")
    ]
    assert order == sorted(order)
    assert "\u202e" not in made.prompt and "BODY" not in made.prompt
    assert made.cut == ["MEMORY.md"] and made.prompt.count("remember") == 2


def test_the_operation_log_names_what_was_done_and_moved(brain):
    done = brain.skills.upsert("a", "x\n", description="d")
    newest = brain.history.list_operations(1)[0]
    assert (newest.kind, newest.author) == ("upsert", "tester")
    assert newest.refs == {"heads/main": [brain.id, done.snapshot]}


def test_the_doctor_finds_a_manifest_that_cannot_be_read(brain):
    write_file(brain, "manifest.yaml", "layout: sideways\n")
    brain.snapshot()
    (found,) = [check for check in brain.doctor() if not check.ok and check.check != "disk"]
    assert found.check == "manifest" and "layout" in found.message and found.hint


def test_the_check_reports_broken_rules_and_shared_slugs(brain):
    write_file(brain, "skills/x/good/SKILL.md", skill_text("good"))
    write_file(brain, "skills/y/good/SKILL.md", skill_text("good"))
    write_file(brain, "skills/bad/SKILL.md", "no front matter\n")
    brain.snapshot()
    codes = {(problem.path, problem.code) for problem in brain.skills.check()}
    assert ("skills/bad/SKILL.md", "no_frontmatter") in codes
    assert ("skills/x/good/SKILL.md", "duplicate_slug") in codes


def test_skills_with_one_slug_and_unlike_versions_are_listed_side_by_side(brain):
    write_file(brain, "skills/x/twin/SKILL.md", skill_text("twin", 2))
    write_file(brain, "skills/y/twin/SKILL.md", skill_text("twin", "1.4.0"))
    brain.snapshot()
    assert [(s.slug, s.version) for s in brain.skills.list()] == [("twin", 2), ("twin", "1.4.0")]
    write_file(brain, "skills/x/twin/SKILL.md", skill_text("twin", "2.0.1"))
    write_file(brain, "skills/y/twin/SKILL.md", skill_text("twin", 3))
    changes = [(change.slug, change.path) for change in brain.history.diff().skills]
    assert changes == [("twin", f"skills/{name}/twin/SKILL.md") for name in "xy"]


def test_a_skill_that_came_with_very_many_others_has_its_history(brain):
    for number in range(600):
        write_file(brain, f"skills/group/s{number}.md", skill_text(f"s{number}", 3))
    write_file(brain, "skills/folder/SKILL.md", skill_text("Real name", 5))
    brain.snapshot("many")
    brain.skills.upsert("s77", "better\n")
    brain.skills.delete("s78")
    assert [(e.version, e.change) for e in brain.skills.history("s77")] == [
        (4, "upgraded"),
        (3, "added"),
    ]
    assert brain.skills.view("s77@3").body == "Do it.\n"
    assert brain.skills.view("real-name").path == "skills/folder/SKILL.md"
    assert [e.message for e in brain.history.log(skill="s5")] == ["many"]
    assert brain.skills.upsert("s78", "again\n", description="d").version == 4


@pytest.mark.parametrize("who", ["a reader", "a writer"])
def test_derived_data_of_another_version_are_made_anew(brain, who, monkeypatch):
    for number in range(600):
        write_file(brain, f"skills/group/s{number}.md", skill_text(f"s{number}", 3))
    write_file(brain, "skills/folder/SKILL.md", skill_text("Real name", 5))
    brain.snapshot("many")
    brain.skills.upsert("s77", "better\n")
    before = brain.skills.list(), brain.skills.history("s77"), brain.prompt.build_index()
    inode = (cache_folder(brain) / "derived.db").stat().st_ino
    monkeypatch.setattr("brain.repo.session.DERIVATION_VERSION", DERIVATION_VERSION + 1)
    with Brain.open(brain.root) as other:
        if who == "a writer":
            write_file(other, "memory/a.md", "a\n")
            other.snapshot()
        assert (
            other.skills.list(),
            other.skills.history("s77"),
            other.prompt.build_index(),
        ) == before
        assert other.skills.view("real-name").path == "skills/folder/SKILL.md"
        assert (cache_folder(other) / "derived.db").stat().st_ino != inode
    assert (brain.skills.list(), brain.skills.history("s77"), brain.prompt.build_index()) == before


@pytest.fixture
def line(brain):
    """The ids of the snapshots of a brain, oldest first."""
    for number in range(3):
        brain.skills.upsert("Oracle", f"{number}\n", description="d")
    return [info.snapshot for info in brain.history.log()][::-1]


def test_descent_is_told_with_the_path(brain, line):
    expected = Ancestry(True, line[2], line[3], [line[3], line[2]])
    assert brain.history.check_ancestry("@~1") == expected
    same = Ancestry(True, line[1], line[1], [line[1]])
    assert brain.history.check_ancestry("@~2", "@~2") == same
    assert brain.history.check_ancestry("@", "@~3") == Ancestry(False, line[3], line[0], [])


def test_the_lineage_of_a_fork_reaches_its_origin(brain, line, tmp_path):
    brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        assert fork.history.check_ancestry(line[3]).descends


def test_the_newest_versions_are_named_as_such_where_others_are_left_out(brain):
    for number in range(1, 11):
        brain.skills.upsert("shared", f"{number}\n", description="d")
    with raises_code("no_version", NotFound) as refused:
        brain.skills.view("shared@99")
    assert refused.value.hint == "the newest are 3, 4, 5, 6, 7, 8, 9, 10"
