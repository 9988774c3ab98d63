"""The cache file of what is known of cases."""

from brain.cache.case_facts import CASE_FACTS_FILE_NAME, CaseFactsCache, _database

FACTS = {bytes([number]) * 32: b"text\nsort" for number in range(100)}
FIRST = bytes(32)


def test_what_was_kept_is_known_to_the_next_process(tmp_path):
    CaseFactsCache(str(tmp_path)).put(FACTS)
    cache = CaseFactsCache(str(tmp_path))
    assert cache.read(FACTS) == FACTS
    assert cache.read([FIRST, b"x" * 32]) == {FIRST: b"text\nsort"}
    assert cache.read([]) == {}


def test_without_a_folder_nothing_is_kept():
    cache = CaseFactsCache(None)
    cache.put(FACTS)
    assert cache.read(FACTS) == {}


def test_a_damaged_row_is_not_known(tmp_path):
    cache = CaseFactsCache(str(tmp_path))
    cache.put(FACTS)
    db = _database().open_file(str(tmp_path / CASE_FACTS_FILE_NAME))
    assert db is not None
    db.execute("UPDATE cases SET data = x'00' WHERE blob = ?", (FIRST,))
    db.close()
    assert cache.read(FACTS).keys() == FACTS.keys() - {FIRST}


def test_a_damaged_file_is_replaced(tmp_path):
    cache = CaseFactsCache(str(tmp_path))
    file = tmp_path / CASE_FACTS_FILE_NAME
    file.write_bytes(b"no database" * 1000)
    assert cache.read(FACTS) == {}
    cache.put(FACTS)
    assert cache.read(FACTS) == FACTS


def test_a_locked_file_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("brain.cache.case_facts._LOCK_TIMEOUT", 0.0)
    cache = CaseFactsCache(str(tmp_path))
    cache.put({FIRST: b""})
    db = _database().open_file(str(tmp_path / CASE_FACTS_FILE_NAME))
    assert db is not None
    db.begin()
    cache.put(FACTS)
    db.roll_back()
    db.close()
    assert cache.read(FACTS) == {FIRST: b""}
