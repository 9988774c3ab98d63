"""The index of words, in memory and in its file."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain.store import fulltext
from brain.store.fulltext import FullText

ROWS = [("a", ("parsing", "of dates")), ("b", ("walking", "parsers, dates")), ("c", ("x", "y"))]
WEIGHTS = (2.0, 1.0)


def fill(index: FullText, state: bytes = b"one") -> FullText:
    with index.changing():
        index.change(state, (), ROWS)
    return index


@pytest.fixture(params=["memory", "file"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FullText]:
    in_file = request.param == "file"
    made = fulltext.open_index(tmp_path, WEIGHTS) if in_file else fulltext.in_memory(WEIGHTS)
    yield fill(made)
    made.close()


def keys(index: FullText, *words: str, limit: int = -1) -> list[str]:
    return [key for key, _ in index.best(words, limit)]


def test_keys_are_found_by_the_stems_of_their_words(index: FullText) -> None:
    assert index.stems("Parsing the élan") == ["pars", "the", "elan"]
    assert keys(index, "parse") == ["a"]
    assert index.counts(["date", "walk", "nothing"]) == {"date": 2, "walk": 1}
    assert index.total() == 3 and index.every() == ["a", "b", "c"]


def test_stems_are_counted_as_of_now_whoever_changed_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = (fulltext.open_index(tmp_path, WEIGHTS) for _ in range(2))
    fill(mine)
    for _ in range(2):
        assert mine.counts(["date", "whale", "x"]) == {"date": 2, "x": 1}
    with other.changing():
        other.change(b"two", ["a"], [("d", ("whales", ""))])
    assert mine.counts(["x", "date", "whale"]) == {"x": 1, "date": 1, "whale": 1}
    monkeypatch.setattr(fulltext, "_MOST_COUNTED", 0)
    assert mine.counts(["whale", "y"]) == {"whale": 1, "y": 1}
    mine.close()
    other.close()


def test_a_text_counts_by_its_weight() -> None:
    made = fulltext.in_memory((1.0, 5.0))
    with made.changing():
        made.change(b"", (), [("a", ("dates", "no")), ("b", ("no", "dates"))])
    assert keys(made, "dates") == ["b", "a"]


def test_what_is_taken_out_is_gone_and_what_comes_under_its_key_is_there(index: FullText) -> None:
    with index.changing():
        index.change(b"two", ["a", "b", "never"], [("a", ("whales", ""))])
    assert keys(index, "dates") == [] and keys(index, "whales") == ["a"]
    assert index.state == b"two" and index.every() == ["a", "c"]


def test_a_change_that_is_broken_off_changes_nothing(index: FullText) -> None:
    with pytest.raises(RuntimeError), index.changing():
        index.change(b"two", ["a"], [("d", ("whales", ""))])
        raise RuntimeError
    assert index.state == b"one" and keys(index, "parse") == ["a"]


def test_no_words_find_nothing_and_a_negative_limit_takes_all(index: FullText) -> None:
    assert keys(index) == []
    assert len(keys(index, "dates", "y")) == 3 and len(keys(index, "dates", "y", limit=2)) == 2


def test_the_file_is_found_again_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    fill(fulltext.open_index(tmp_path, WEIGHTS)).close()
    again = fulltext.open_index(tmp_path, WEIGHTS)
    assert again.state == b"one" and keys(again, "parse") == ["a"]
    again.close()
    assert stat.S_IMODE((tmp_path / fulltext.NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 2000, "version"])
def test_a_file_that_is_no_index_is_replaced(tmp_path: Path, damage: bytes | str) -> None:
    import apsw

    path = tmp_path / fulltext.NAME
    if isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        apsw.Connection(str(path)).execute("PRAGMA user_version=99").close()
    fill(fulltext.open_index(tmp_path, WEIGHTS)).close()
    again = fulltext.open_index(tmp_path, WEIGHTS)
    assert again.state == b"one"
    again.close()


def test_where_no_file_can_be_the_index_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / fulltext.NAME).mkdir()
    for folder in (tmp_path, tmp_path / "nowhere"):
        made = fill(fulltext.open_index(folder, WEIGHTS))
        assert keys(made, "parse") == ["a"]
        made.close()


def test_removing_leaves_nothing(tmp_path: Path) -> None:
    fill(fulltext.open_index(tmp_path, WEIGHTS)).close()
    fulltext.remove(tmp_path)
    fulltext.remove(tmp_path)
    assert list(tmp_path.iterdir()) == []
