"""The index of words, in memory and in its file."""

import stat

import pytest

from brain.store import full_text_index
from brain.store.full_text_index import FullTextIndex

ROWS = [("a", ("parsing", "of dates")), ("b", ("walking", "parsers, dates")), ("c", ("x", "y"))]
WEIGHTS = (2.0, 1.0)


def fill(index: FullTextIndex, state: bytes = b"one") -> FullTextIndex:
    with index.transaction():
        index.update(state, (), ROWS)
    return index


@pytest.fixture(params=["memory", "file"])
def index(request, tmp_path):
    in_file = request.param == "file"
    made = (
        full_text_index.open_full_text_index(tmp_path, WEIGHTS)
        if in_file
        else full_text_index.open_memory_full_text(WEIGHTS)
    )
    yield fill(made)
    made.close()


def keys(index: FullTextIndex, *words: str, limit: int = -1) -> list[str]:
    return [key for key, _ in index.search(words, limit)]


def test_keys_are_found_by_the_stems_of_their_words(index):
    assert index.stem_words("Parsing the élan") == ["pars", "the", "elan"]
    assert keys(index, "parse") == ["a"]
    assert index.count_documents(["date", "walk", "nothing"]) == {"date": 2, "walk": 1}
    assert index.count_keys() == 3 and index.list_keys() == ["a", "b", "c"]


def test_stems_are_counted_as_of_now_whoever_changed_the_index(tmp_path, monkeypatch):
    reader, other = (full_text_index.open_full_text_index(tmp_path, WEIGHTS) for _ in range(2))
    fill(reader)
    for _ in range(2):
        assert reader.count_documents(["date", "whale", "x"]) == {"date": 2, "x": 1}
    with other.transaction():
        other.update(b"two", ["a"], [("d", ("whales", ""))])
    assert reader.count_documents(["x", "date", "whale"]) == {"x": 1, "date": 1, "whale": 1}
    monkeypatch.setattr(full_text_index, "_MAX_CACHED_COUNTS", 0)
    assert reader.count_documents(["whale", "y"]) == {"whale": 1, "y": 1}
    reader.close()
    other.close()


def test_a_text_counts_by_its_weight():
    made = full_text_index.open_memory_full_text((1.0, 5.0))
    with made.transaction():
        made.update(b"", (), [("a", ("dates", "no")), ("b", ("no", "dates"))])
    assert keys(made, "dates") == ["b", "a"]


def test_what_is_taken_out_is_gone_and_what_comes_under_its_key_is_there(index):
    with index.transaction():
        index.update(b"two", ["a", "b", "never"], [("a", ("whales", ""))])
    assert keys(index, "dates") == [] and keys(index, "whales") == ["a"]
    assert index.state == b"two" and index.list_keys() == ["a", "c"]


def test_a_change_that_is_broken_off_changes_nothing(index):
    with pytest.raises(RuntimeError), index.transaction():
        index.update(b"two", ["a"], [("d", ("whales", ""))])
        raise RuntimeError
    assert index.state == b"one" and keys(index, "parse") == ["a"]


def test_no_words_find_nothing_and_a_negative_limit_takes_all(index):
    assert keys(index) == []
    assert len(keys(index, "dates", "y")) == 3 and len(keys(index, "dates", "y", limit=2)) == 2


def test_the_file_is_found_again_and_is_for_its_owner_alone(tmp_path):
    fill(full_text_index.open_full_text_index(tmp_path, WEIGHTS)).close()
    again = full_text_index.open_full_text_index(tmp_path, WEIGHTS)
    assert again.state == b"one" and keys(again, "parse") == ["a"]
    again.close()
    assert stat.S_IMODE((tmp_path / full_text_index.FULL_TEXT_FILE_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 2000, "version"])
def test_a_file_that_is_no_index_is_replaced(tmp_path, damage):
    import apsw

    path = tmp_path / full_text_index.FULL_TEXT_FILE_NAME
    if isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        apsw.Connection(str(path)).execute("PRAGMA user_version=99").close()
    fill(full_text_index.open_full_text_index(tmp_path, WEIGHTS)).close()
    again = full_text_index.open_full_text_index(tmp_path, WEIGHTS)
    assert again.state == b"one"
    again.close()


def test_where_no_file_can_be_the_index_is_in_memory(tmp_path):
    (tmp_path / full_text_index.FULL_TEXT_FILE_NAME).mkdir()
    for folder in (tmp_path, tmp_path / "nowhere"):
        made = fill(full_text_index.open_full_text_index(folder, WEIGHTS))
        assert keys(made, "parse") == ["a"]
        made.close()


def test_removing_leaves_nothing(tmp_path):
    fill(full_text_index.open_full_text_index(tmp_path, WEIGHTS)).close()
    full_text_index.delete_full_text_index(tmp_path)
    full_text_index.delete_full_text_index(tmp_path)
    assert list(tmp_path.iterdir()) == []
