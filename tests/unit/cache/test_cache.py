"""What a cache promises, asked of the one in a file and of the one in memory alike."""

import os
from pathlib import Path

import pytest

from brain.digest import domain_hash
from brain.repo import derived_db
from brain.repo.derived_db import (
    MAX_SINGLE_LOOKUPS,
    CacheUnusable,
    DerivedCache,
    DerivedSnapshot,
    SkillHistoryRow,
    open_cache,
    open_memory_cache,
)
from tests.support.cases import read_cases

CASES = read_cases(__file__)

digest = domain_hash("a test object")
BRAIN = digest(b"a brain")
VERSION = 1


def row(
    path: str, snapshot: bytes, generation: int, change: int, version: str = "1"
) -> SkillHistoryRow:
    return SkillHistoryRow(path, digest(snapshot), generation, change, version, ("a", "alpha"))


def learned(snapshot: bytes, *rows: SkillHistoryRow, merge: int | None = None) -> DerivedSnapshot:
    return DerivedSnapshot(digest(snapshot), list(rows), (), merge)


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "caches"))
    return tmp_path / "caches"


@pytest.fixture(params=["file", "memory"])
def cache(request):
    made = open_cache(BRAIN, VERSION) if request.param == "file" else open_memory_cache(VERSION)
    assert (made.folder is not None) == (request.param == "file")
    yield made
    made.close()


def test_cards_are_kept_replaced_and_found_few_or_many(cache):
    rows = [
        (digest(b"%d" % number), b"card %d" % number) for number in range(3 * MAX_SINGLE_LOOKUPS)
    ]
    cache.put_metadata(rows)
    cache.put_metadata([(rows[0][0], b"newer")])
    expected = {**dict(rows), rows[0][0]: b"newer"}
    assert cache.read_metadata([]) == {}
    assert cache.read_metadata([rows[0][0], bytes(32)]) == {rows[0][0]: b"newer"}
    assert cache.read_metadata([id for id, _ in rows]) == expected
    few = [id for id, _ in rows[:MAX_SINGLE_LOOKUPS]]
    assert cache.read_metadata(few) == {id: expected[id] for id in few}
    assert cache.list_metadata() == sorted(expected.items())


def test_the_history_of_a_skill_is_kept_oldest_first(cache):
    first, second = row("skills/a.md", b"1", 1, 0), row("skills/a.md", b"2", 2, 1, "2")
    other = SkillHistoryRow("skills/x/SKILL.md", digest(b"2"), 2, 0, "1.10", ("a",))
    bare = SkillHistoryRow("skills/y.md", digest(b"2"), 2, 3, "", ())
    cache.put_snapshots([learned(b"1", first), learned(b"2", other, second, bare)])
    assert cache.read_skill_history("skills/a.md") == [first, second]
    assert cache.read_skill_history("skills/y.md") == [bare]
    assert cache.read_skill_history("skills/none.md") == []
    third = row("skills/a.md", b"3", 3, 1, "3")
    cache.put_snapshots([learned(b"3", third)])
    assert cache.read_skill_history("skills/a.md", "2") == [first, second]
    assert cache.read_skill_history("skills/a.md", "3") == [first, third]
    assert (
        cache.read_skill_history("skills/a.md", "1")
        == cache.read_skill_history("skills/a.md", "9")
        == [first]
    )
    assert cache.list_history_rows() == [first, second, third, other, bare]


def test_a_skill_is_found_by_each_slug_it_ever_had(cache):
    names = [("alias", "skills/b/a.md"), ("alias", "skills/a.md")]
    cache.put_snapshots([learned(b"1", row("skills/a.md", b"1", 1, 0))])
    cache.put_snapshots([DerivedSnapshot(digest(b"2"), [], names, None)])
    assert cache.find_skill_paths("alias") == ["skills/a.md", "skills/b/a.md"]
    assert cache.find_skill_paths("a") == cache.find_skill_paths("alpha") == ["skills/a.md"]
    assert cache.find_skill_paths("beta") == []


def test_a_snapshot_is_known_once_it_is_learned_and_may_be_learned_again(cache):
    assert not cache.has_snapshot(digest(b"1"))
    for _ in range(2):
        cache.put_snapshots([learned(b"1", row("skills/a.md", b"1", 1, 0)), learned(b"2", merge=2)])
        assert cache.has_snapshot(digest(b"1")) and cache.has_snapshot(digest(b"2"))
        assert cache.list_history_rows() == [row("skills/a.md", b"1", 1, 0)]
        assert cache.list_merges() == [(digest(b"2"), 2)]


def test_merges_are_told_with_their_generations(cache):
    assert cache.list_merges() == []
    cache.put_snapshots([learned(b"1", merge=7), learned(b"2", merge=1 << 48), learned(b"3")])
    assert sorted(cache.list_merges()) == sorted([(digest(b"1"), 7), (digest(b"2"), 1 << 48)])


def test_a_sheet_is_kept_with_its_note_grows_and_is_replaced(cache):
    assert (cache.read_index_note(), cache.read_index_text()) == (b"", (b"", []))
    cache.replace_index_text(b"first", [b"a page", b"", b"x" * 300_000])
    assert cache.read_index_note() == b"first"
    cache.append_index_text(b"second", [b"a change"])
    cache.append_index_text(b"third", [])
    assert cache.read_index_text() == (b"third", [b"a page", b"", b"x" * 300_000, b"a change"])
    cache.replace_index_text(b"fourth", iter([b"another page"]))
    assert (cache.read_index_note(), cache.read_index_text()) == (
        b"fourth",
        (b"fourth", [b"another page"]),
    )
    cache.clear()
    assert (cache.read_index_note(), cache.read_index_text()) == (b"", (b"", []))


def test_what_is_put_in_together_is_kept_together_or_not_at_all(cache):
    cache.replace_index_text(b"kept", [b"a"])
    with pytest.raises(ValueError, match="stop"), cache.transaction():
        with cache.transaction():  # one inside another is part of it
            cache.append_index_text(b"lost", [b"b"])
            cache.put_metadata([(bytes(32), b"card")])
        cache.put_snapshots([learned(b"1", row("skills/a.md", b"1", 1, 0), merge=2)])
        raise ValueError("stop")
    assert cache.read_index_text() == (b"kept", [b"a"])
    assert cache.read_metadata([bytes(32)]) == {}
    assert not cache.has_snapshot(digest(b"1"))
    assert (cache.list_history_rows(), cache.list_merges(), cache.find_skill_paths("a")) == (
        [],
        [],
        [],
    )


def test_a_cache_that_is_cleared_knows_nothing_and_can_be_used_again(cache):
    cache.put_metadata([(bytes(32), b"card")])
    cache.replace_index_text(b"note", [b"a"])
    cache.put_snapshots([learned(b"1", row("skills/a.md", b"1", 1, 0), merge=2)])
    cache.clear()
    assert cache.read_metadata([bytes(32)]) == {}
    assert not cache.has_snapshot(digest(b"1"))
    assert (cache.list_history_rows(), cache.list_merges(), cache.find_skill_paths("a")) == (
        [],
        [],
        [],
    )
    cache.put_metadata([(bytes(32), b"card")])
    assert cache.read_metadata([bytes(32)]) == {bytes(32): b"card"}


def test_of_what_is_cleared_no_file_keeps_a_trace(caches):
    word = b"the-word-that-nobody-may-read"
    cache = open_cache(BRAIN, VERSION)
    other = open_cache(BRAIN, VERSION)
    assert cache.folder is not None
    (Path(cache.folder) / "words.db").write_bytes(word)
    (Path(cache.folder) / "stat-0").write_bytes(word)
    cache.put_metadata([(bytes([n]) * 32, word * 9) for n in range(99)])
    cache.replace_index_text(b"note", [word])
    one = SkillHistoryRow(word.decode(), digest(b"1"), 1, 0, word.decode(), (word.decode(),))
    cache.put_snapshots([learned(b"1", one)])
    cache.clear()
    assert other.list_metadata() == []
    for file in caches.rglob("*"):
        assert not file.is_file() or word not in file.read_bytes(), file
    assert {name.partition("-")[0] for name in os.listdir(cache.folder)} == {
        derived_db.CACHE_FILE_NAME
    }
    cache.close()
    other.close()


def test_several_that_are_open_see_what_each_learned():
    one, other = open_cache(BRAIN, VERSION), open_cache(BRAIN, VERSION)
    one.put_metadata([(bytes(32), b"card")])
    other.put_snapshots([learned(b"1", row("skills/a.md", b"1", 1, 0), merge=1)])
    assert other.read_metadata([bytes(32)]) == {bytes(32): b"card"}
    assert one.has_snapshot(digest(b"1")) and one.list_merges() == [(digest(b"1"), 1)]
    one.close()
    other.close()
    again = open_cache(BRAIN, VERSION)
    assert again.read_metadata([bytes(32)]) == {bytes(32): b"card"} and again.has_snapshot(
        digest(b"1")
    )
    again.close()


def test_each_brain_has_a_cache_of_its_own(caches):
    one, other = open_cache(BRAIN, VERSION), open_cache(digest(b"another"), VERSION)
    one.put_metadata([(bytes(32), b"card")])
    assert other.read_metadata([bytes(32)]) == {}
    assert sorted(os.listdir(caches)) == sorted([BRAIN.hex(), digest(b"another").hex()])
    one.close()
    other.close()


def test_a_file_of_another_version_is_made_anew():
    old = open_cache(BRAIN, VERSION)
    old.put_metadata([(bytes(32), b"made otherwise")])
    new = open_cache(BRAIN, VERSION + 1)
    assert new.read_metadata([bytes(32)]) == {}
    new.put_metadata([(bytes(32), b"card")])
    assert old.read_metadata([bytes(32)]) == {bytes(32): b"made otherwise"}  # whose file is gone
    for cache in (old, new):
        cache.close()
    again = open_cache(BRAIN, VERSION + 1)
    assert again.read_metadata([bytes(32)]) == {bytes(32): b"card"}
    again.close()


def test_the_file_is_the_owners_alone(caches):
    before = os.umask(0)
    try:
        cache = open_cache(BRAIN, VERSION)
        cache.put_metadata([(bytes(32), b"card")])
    finally:
        os.umask(before)
    files = [file for file in caches.rglob("*") if file.is_file()]
    assert derived_db.CACHE_FILE_NAME in [file.name for file in files]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert (caches / BRAIN.hex()).stat().st_mode & 0o777 == 0o700
    cache.close()


@pytest.mark.parametrize(
    ("sql", "ask"),
    [
        (
            "UPDATE history SET version = '99'",
            lambda cache: cache.read_skill_history("skills/a.md"),
        ),
        (
            "UPDATE history SET version = '99'",
            lambda cache: cache.read_skill_history("skills/a.md", "99"),
        ),
        ("UPDATE history SET slugs = 'b'", DerivedCache.list_history_rows),
        ("UPDATE history SET change = 3", DerivedCache.list_history_rows),
        ("UPDATE history SET generation = 9", DerivedCache.list_history_rows),
        ("UPDATE history SET snapshot = x'00'", DerivedCache.list_history_rows),
        ("UPDATE merges SET generation = 9", DerivedCache.list_merges),
        ("UPDATE merges SET snapshot = x'00'", DerivedCache.list_merges),
        ("DROP TABLE cards", lambda cache: cache.read_metadata([bytes(32)])),
        ("DROP TABLE note", DerivedCache.read_index_text),
        ("DROP TABLE names", lambda cache: cache.find_skill_paths("a")),
        ("DROP TABLE snapshots", lambda cache: cache.has_snapshot(bytes(32))),
    ],
)
def test_altered_rows_are_not_used(cache, sql, ask):
    cache.put_snapshots([learned(b"1", row("skills/a.md", b"1", 1, 0), merge=2)])
    cache._db.execute(sql)
    assert callable(ask)
    with pytest.raises(CacheUnusable):
        ask(cache)


def test_an_altered_card_is_as_good_as_none(cache):
    cache.put_metadata([(digest(b"%d" % number), b"card") for number in range(9)])
    cache._db.execute("UPDATE cards SET data = x'00' WHERE blob = ?", (digest(b"3"),))
    found = cache.read_metadata([digest(b"%d" % number) for number in range(9)])
    assert set(found) == {digest(b"%d" % number) for number in range(9) if number != 3}


@pytest.mark.parametrize("sql", CASES["test_an_altered_sheet_is_as_good_as_none"])
def test_an_altered_sheet_is_as_good_as_none(cache, sql):
    cache.replace_index_text(b"note", [b"line %d\n" % number * 90 for number in range(20)])
    cache._db.execute(sql)
    assert cache.read_index_text() == (b"", [])
