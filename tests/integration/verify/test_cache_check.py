"""Where the user's cache deviates from the objects, each kind of deviation is named."""

from collections.abc import Callable
from typing import Any

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.errors import FormatError, NotFound, StoreError
from brain.repo import derive
from brain.repo.derived_db import CacheUnusable
from brain.repo.session import Session
from brain.verify import cache_check

WRONG_CHANGES = "the cached changes of skills, its decision or merge differ from the snapshot"
WRONG_INDEX = "the cached index differs from the skills"


@pytest.fixture
def brain(tmp_path, monkeypatch):
    """A brain whose cache knows a merge, a skill under another name, and the index."""
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "caches"))
    with Brain.init(tmp_path / "agent", author="tester") as made:
        made.skills.upsert("Oracle", "Ask.\n", description="d")
        other = made.root / "skills/place/SKILL.md"
        other.parent.mkdir()
        other.write_text("---\nname: another-name\ndescription: d\nversion: 1\n---\nx\n")
        made.snapshot()
        made.branches.create("idea")
        made.skills.upsert("Seer", "Look.\n", description="d")
        made.branches.switch("idea")
        made.skills.upsert("Oracle", "Ask twice.\n")
        made.branches.switch("main")
        made.merge.start("idea")
        assert made.skills.history("oracle") and made.prompt.build_index()
        yield made


def session_of(brain: Brain) -> Session:
    return brain._session


def deviations(brain: Brain) -> list[tuple[str, str]]:
    """Return snapshot and message of each deviation."""
    found = cache_check.find_cache_deviations(session_of(brain))
    return [(here.hex(), message) for here, message in found]


def patch_cache(
    brain: Brain, monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[Any], Any]
) -> None:
    """Let a reader of the cache return what `change` makes of its answer."""
    cache = session_of(brain).cache
    read = getattr(cache, name)
    monkeypatch.setattr(cache, name, lambda *arguments: change(read(*arguments)))


def test_a_cache_that_was_derived_from_the_objects_has_no_deviation(brain):
    assert deviations(brain) == []
    assert list(cache_check.find_wrong_cards(session_of(brain))) == []


def test_a_row_of_a_history_that_is_missing_or_false_names_its_snapshot(brain, monkeypatch):
    rows = list(session_of(brain).cache.list_history_rows())
    for place in range(len(rows)):
        false = rows[place]._replace(generation=99)
        for changed in ([*rows[:place], *rows[place + 1 :]], [*rows, rows[place]],
                        [*rows[:place], false, *rows[place + 1 :]]):  # fmt: skip
            patch_cache(brain, monkeypatch, "list_history_rows", lambda _, rows=changed: rows)
            assert deviations(brain) == [(rows[place].snapshot.hex(), WRONG_CHANGES)]
        monkeypatch.undo()


def test_every_snapshot_behind_merges_of_merges_is_compared(brain, monkeypatch):
    brain.branches.create("late", "@~1")
    brain.branches.switch("late")
    brain.skills.upsert("Trader", "Trade.\n", description="d")
    brain.merge.start("main")
    assert brain.skills.history("oracle") and deviations(brain) == []
    changed = {row.snapshot.hex() for row in session_of(brain).cache.list_history_rows()}
    assert brain.history.show("@~1").info.snapshot in changed
    patch_cache(brain, monkeypatch, "list_history_rows", lambda rows: [])
    assert {here for here, message in deviations(brain) if message == WRONG_CHANGES} == changed


@pytest.mark.parametrize("generation", [None, 99])
def test_a_merge_that_is_missing_or_false_is_named(brain, monkeypatch, generation):
    ((merge, _),) = session_of(brain).cache.list_merges()
    rows = [] if generation is None else [(merge, generation)]
    patch_cache(brain, monkeypatch, "list_merges", lambda _: rows)
    assert deviations(brain) == [(merge.hex(), WRONG_CHANGES)]


def test_a_name_that_is_missing_is_named_with_its_snapshot_and_its_skill(brain, monkeypatch):
    patch_cache(brain, monkeypatch, "list_skill_names", lambda names: set())
    found = deviations(brain)
    assert ("", "the cache lacks a name of skills/place/SKILL.md") in found
    assert {message for here, message in found if here} == {WRONG_CHANGES}
    session = session_of(brain)
    monkeypatch.setattr(session.cache, "has_snapshot", lambda root: False)
    assert deviations(brain) == []


def test_of_several_skills_without_their_names_the_first_is_named(brain, monkeypatch):
    for folder in ("before", "zone"):
        text = brain.root / "skills" / folder / "SKILL.md"
        text.parent.mkdir()
        text.write_text(f"---\nname: name-of-{folder}\ndescription: d\nversion: 1\n---\nx\n")
    brain.snapshot()
    assert brain.skills.history("oracle")
    patch_cache(brain, monkeypatch, "list_skill_names", lambda names: set())
    named = [message for here, message in deviations(brain) if not here]
    assert named == ["the cache lacks a name of skills/before/SKILL.md"]


def test_a_cache_that_knows_no_name_of_a_skill_may_be_right(tmp_path):
    with Brain.init(tmp_path / "plain", author="tester") as plain:
        plain.skills.upsert("Oracle", "Ask.\n", description="d")
        assert plain.skills.history("oracle") and plain.prompt.build_index()
        session = session_of(plain)
        assert session.cache.has_snapshot(session.head())
        assert session.cache.list_skill_names() == set()
        assert deviations(plain) == []


def test_an_index_that_differs_from_the_skills_is_named_once(brain, monkeypatch):
    monkeypatch.setattr(derive, "build_index_lines", lambda *_: {})
    assert deviations(brain) == [("", WRONG_INDEX)]


def test_an_index_that_is_noted_and_cannot_be_read_is_named(brain, monkeypatch):
    session_of(brain).cache.db.execute("DELETE FROM lines WHERE path LIKE '%oracle%'")
    assert deviations(brain) == [("", WRONG_INDEX)]
    session_of(brain).cache.db.execute("DELETE FROM states")
    assert deviations(brain) == []


def test_an_index_of_a_tree_that_is_not_stored_is_no_deviation(brain, monkeypatch):
    def refuse(*arguments: object) -> bool:
        raise NotFound("a node", code="missing_object")

    monkeypatch.setattr(derive, "build_index_lines", refuse)
    patch_cache(brain, monkeypatch, "list_skill_names", lambda names: set())
    assert all(here for here, _ in deviations(brain))


def test_a_cache_that_cannot_be_read_is_named(brain, monkeypatch):
    def refuse(*arguments: object) -> Any:
        raise CacheUnusable("torn")

    cache = session_of(brain).cache
    monkeypatch.setattr(cache, "list_history_rows", refuse)
    assert deviations(brain) == [("", "the cache cannot be read: torn")]
    monkeypatch.setattr(cache, "list_metadata", refuse)
    assert list(cache_check.find_wrong_cards(session_of(brain))) == []


@pytest.mark.parametrize("batch", [1, 2, 4096])
def test_a_card_that_differs_from_its_content_is_found(brain, monkeypatch, batch):
    monkeypatch.setattr(cache_check, "_CARDS_PER_BATCH", batch)
    rows = dict(session_of(brain).cache.list_metadata())
    assert len(rows) >= 3
    wrong = sorted(rows)[0::2]
    false = {blob: card + b"x" if blob in wrong else card for blob, card in rows.items()}
    missing = {blob_id(b"not stored"): b"a card"}
    patch_cache(brain, monkeypatch, "list_metadata", lambda _: [*{**false, **missing}.items()])
    session = session_of(brain)
    assert sorted(cache_check.find_wrong_cards(session)) == wrong
    differs = cache_check.build_card_check(session)
    for blob in rows:
        assert differs(blob, session.reader.read_blob(blob)) == (blob in wrong)
    assert not differs(blob_id(b"no card"), b"no card")
    assert [message for _, message in cache_check.card_deviations(wrong)] == [
        f"the cached card of blob {blob.hex()} differs from its content" for blob in wrong
    ]


@pytest.mark.parametrize("error", [CacheUnusable, FormatError, StoreError, NotFound])
def test_cards_that_cannot_be_read_are_not_called_wrong(brain, monkeypatch, error):
    def refuse(rows: object) -> Any:
        raise error("torn")

    patch_cache(brain, monkeypatch, "list_metadata", refuse)
    assert not cache_check.build_card_check(session_of(brain))(bytes(32), b"x")
