"""Who wrote each skill as it is, and which index lines are surely unchanged."""

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.objects.tree_diff import Difference
from brain.objects.tree_entry import FILE, LINK, TreeEntry
from brain.repo.index.skill_authors import find_last_writes
from brain.repo.read import index_update, skill_rows
from brain.skills.skill_metadata import SkillMetadata
from tests.integration.repo.conftest import skill_text, write_file


def authors(brain: Brain, *slugs: str, rev: int = 0) -> list[str]:
    session = brain._session
    snapshot = bytes.fromhex(list(brain.history.log())[rev].snapshot)
    paths = [f"skills/{slug}/SKILL.md" for slug in slugs]
    return [write.author for write in find_last_writes(session, snapshot, paths)]


def upsert(brain: Brain, author: str, slug: str, text: str) -> None:
    brain._session.author = author
    brain.skills.upsert(slug, text, description="d")


def test_a_skill_is_of_the_author_who_wrote_its_present_text(brain):
    upsert(brain, "ana", "a", "1\n")
    upsert(brain, "ben", "b", "1\n")
    upsert(brain, "eve", "a", "2\n")
    assert authors(brain, "b", "a", "b", "nothing") == ["ben", "eve", "ben", ""]
    assert authors(brain, "a", "b", rev=1) == ["ana", "ben"]
    assert authors(brain, "a", "b", rev=2) == ["ana", ""]


def test_a_single_author_wrote_everything(brain):
    upsert(brain, "tester", "a", "1\n")
    assert authors(brain, "a", "nothing") == ["tester", ""]
    assert authors(brain) == []


def test_who_merges_is_not_the_author(brain):
    upsert(brain, "ana", "a", "1\n")
    brain.branches.create("idea")
    upsert(brain, "ben", "b", "1\n")
    brain.branches.switch("idea")
    upsert(brain, "eve", "a", "2\n")
    brain.branches.switch("main")
    brain._session.author = "merger"
    brain.merge.start("idea")
    assert authors(brain, "a", "b") == ["eve", "ben"]


@pytest.mark.parametrize("is_first", [True, False])
def test_very_many_skills_at_once_are_of_their_author(brain, monkeypatch, is_first):
    monkeypatch.setattr(skill_rows, "MIN_BULK_PATHS", 4)
    if not is_first:
        upsert(brain, "ana", "old", "1\n")
    for number in range(8):
        write_file(brain, f"skills/s{number}/SKILL.md", skill_text(f"s{number}"))
    brain._session.author = "ben"
    brain.snapshot()
    upsert(brain, "eve", "s3", "2\n")
    expected = ["ben", "eve", "ben"] if is_first else ["ana", "ben", "eve", "ben"]
    slugs = ["s2", "s3", "s7"] if is_first else ["old", "s2", "s3", "s7"]
    assert authors(brain, *slugs) == expected


OLD, NEW = blob_id(b"old"), blob_id(b"new")
CARD = SkillMetadata("name", "about", "1", "")


@pytest.mark.parametrize(
    ("cards", "kinds", "same"),
    [
        ({OLD: CARD, NEW: CARD._replace(version="2", flags="x")}, (FILE, FILE), True),
        ({OLD: CARD, NEW: CARD._replace(name="other")}, (FILE, FILE), False),
        ({OLD: CARD, NEW: CARD._replace(description="other")}, (FILE, FILE), False),
        ({OLD: CARD}, (FILE, FILE), False),
        ({NEW: CARD}, (FILE, FILE), False),
        ({}, (FILE, FILE), False),
        ({OLD: CARD, NEW: CARD}, (LINK, FILE), False),
        ({OLD: CARD, NEW: CARD}, (FILE, LINK), False),
        ({OLD: CARD, NEW: CARD}, (None, FILE), False),
        ({OLD: CARD, NEW: CARD}, (FILE, None), False),
    ],
)
def test_a_line_is_surely_unchanged_if_both_cards_are_loaded_and_say_the_same(cards, kinds, same):
    sides = [
        None if kind is None else TreeEntry("skills/a.md", kind, blob, 1)
        for kind, blob in zip(kinds, (OLD, NEW), strict=True)
    ]
    assert index_update._has_same_line(cards, Difference("skills/a.md", *sides)) is same
