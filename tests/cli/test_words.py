"""Changes and operations in words."""

import pytest
from brain_cli.render import changes, human_format

from brain.results import MergedSkill, PathChange, SkillChange, Upserted


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (SkillChange("a-b", "upgraded", 1, 2, "A b"), "a-b upgraded 1 → 2"),
        (SkillChange("a", "upgraded", "1.9", "1.10", "A"), "a upgraded 1.9 → 1.10"),
        (SkillChange("a", "added", None, 1, "A"), "a added at version 1"),
        (SkillChange("a", "removed", 3, None, "A"), "a removed at version 3"),
        (SkillChange("a", "changed", 3, 3, "A"), "a changed, still at version 3"),
    ],
)
def test_a_changed_skill_is_told_in_words(change, expected):
    assert changes.skill_change_line(change) == expected


def test_a_merged_skill_is_told_with_the_side_that_had_removed_it():
    assert changes.merged_skill_line(MergedSkill("a", 2, 3, 4)) == "a merged 2 + 3 → 4"
    assert changes.merged_skill_line(MergedSkill("a", 2, "", 5)) == "a merged 2 + removed → 5"


@pytest.mark.parametrize(
    ("previous", "version", "changed", "expected"),
    [
        (None, 1, True, "a added at version 1"),
        (1, 2, True, "a upgraded 1 → 2"),
        (2, 2, False, "a unchanged at version 2"),
    ],
)
def test_an_upsert_is_told_in_words(previous, version, changed, expected):
    done = Upserted("a", "A", version, previous, "p", "s", "b", changed, None)
    assert changes.upsert_line(done) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"kind": "genesis", "nonce": "00", "origin": ""}, "brain created"),
        ({"kind": "genesis", "nonce": "00", "origin": "ab" * 32}, "brain forked from abababababab"),
        ({"kind": "snapshot"}, "folder recorded"),
        (
            {
                "kind": "retire",
                "slug": "a",
                "from_version": "1",
                "to_version": "",
                "verdict": "ab" * 32,
            },
            "a retired, by verdict abababababab",
        ),
        (
            {"kind": "unbind", "key": "ab" * 32, "account": "x", "statement": "00" * 32},
            "key abababababab no longer bound to x",
        ),
        (
            {"kind": "upsert", "slug": "a", "from_version": "", "to_version": "1"},
            "a added at version 1",
        ),
        (
            {"kind": "upsert", "slug": "a", "from_version": "1", "to_version": "2"},
            "a upgraded 1 → 2",
        ),
        ({"kind": "delete", "slug": "a", "version": "2"}, "a removed at version 2"),
        ({"kind": "restore", "source": "cd" * 32}, "restored from cdcdcdcdcdcd"),
        ({"kind": "dream\x1b", "fields": []}, "dream\\x1b"),
    ],
)
def test_an_operation_is_told_in_words(fields, expected):
    assert changes.operation_text(fields) == expected


def test_a_renamed_path_shows_both_names_escaped():
    change = PathChange("new\n", "memory", "renamed", "a", "a", "old")
    assert changes.path_change_line(change) == "R old → new\\n"


def test_columns_are_aligned_and_the_last_is_cut_at_the_width():
    rows = [("a", "1", "short"), ("longer", "12", "a description\nthat goes on")]
    assert human_format.align_columns(rows, 24) == ["a       1   short", "longer  12  a descripti…"]


def test_columns_of_nothing_are_no_lines():
    assert human_format.align_columns([]) == []


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_999, "1.0 MB"), (64 << 20, "67.1 MB")],
)
def test_a_size_has_a_unit(number, expected):
    assert human_format.format_size(number) == expected


def test_counts_agree_in_number():
    assert (human_format.pluralize(1, "file"), human_format.pluralize(2, "file")) == (
        "1 file",
        "2 files",
    )
