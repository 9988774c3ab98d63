"""The index that is kept in the cache is the one that is built anew, whatever changed."""

import pytest

from brain import Brain
from brain.cache.derived_cache import CacheUnusable
from brain.repo.read import index_cache, index_update
from tests.integration.repo.conftest import skill_text, write_file
from tests.support.derived_data import drop_memory_cache


def index(brain: Brain) -> str:
    found = brain.prompt.build_index()
    assert found.skills == found.index.count("▸ ")
    return found.index


def fresh_index(brain: Brain) -> str:
    """Return the index of another opening, which has nothing cached."""
    with Brain.open(brain.root) as other:
        other._session.use_memory_cache()
        return index(other)


def note(brain: Brain) -> object:
    return index_cache.decode_index_header(brain._session.cache.read_index_note())


@pytest.mark.parametrize("divisor", [1, 1000])
@pytest.mark.parametrize("least", [0, 3, 1000])
def test_an_index_that_is_changed_skill_by_skill_is_the_one_built_anew(
    brain, monkeypatch, least, divisor
):
    monkeypatch.setattr(index_update, "_MIN_REWRITE_LINES", least)
    monkeypatch.setattr(index_update, "_REWRITE_DIVISOR", divisor)
    assert index(brain) == fresh_index(brain)
    for number in range(6):
        brain.skills.upsert(f"Skill {number % 4}", f"{number}\n", description=f"d{number}")
        assert index(brain) == fresh_index(brain)
        assert index_update.is_cached_index_valid(brain._session)
    brain.skills.delete("skill-1")
    assert "skill-1" not in index(brain) and index(brain) == fresh_index(brain)
    brain.undo()
    assert "skill-1" in index(brain) and index(brain) == fresh_index(brain)
    write_file(brain, "skills/notes/plain.txt", "x\n")
    brain.snapshot()
    assert index(brain) == fresh_index(brain)
    assert index_update.is_cached_index_valid(brain._session)


def test_an_index_of_another_revision_is_built_from_the_cached_one_and_not_kept(brain):
    brain.skills.upsert("First", "x\n", description="d")
    old = brain.prompt.build_index()
    brain.skills.upsert("Second", "x\n", description="d")
    brain.skills.upsert("First", description="another")
    assert index(brain) != old.index
    kept = note(brain)
    assert brain.prompt.build_index("@~2") == old
    assert note(brain) == kept


def test_many_changes_at_once_are_built_anew(brain):
    index(brain)
    for number in range(300):
        write_file(brain, f"skills/s{number:03}/SKILL.md", skill_text(f"s{number:03}"))
    brain.snapshot()
    assert index(brain) == fresh_index(brain)
    assert index_update.is_cached_index_valid(brain._session)


def test_a_cache_that_cannot_be_written_changes_no_index(brain, monkeypatch):
    brain.skills.upsert("First", "x\n", description="d")
    session = brain._session

    def refuse(*arguments: object) -> None:
        raise CacheUnusable("full")

    for name in ("append_index_text", "replace_index_text"):
        monkeypatch.setattr(type(session.cache), name, refuse)
    brain.skills.upsert("Second", "x\n", description="d")
    assert "second" in index(brain)


def test_a_cache_without_an_index_is_valid_unless_it_claims_to_have_one(brain, monkeypatch):
    drop_memory_cache(brain)
    session = brain._session
    assert index_update.is_cached_index_valid(session)
    index(brain)
    assert index_update.is_cached_index_valid(session)
    monkeypatch.setattr(index_update, "read_cached_index", lambda session: None)
    assert not index_update.is_cached_index_valid(session)
