"""Large memory files that both sides appended to are united by their tails, or not at all."""

import pytest

from brain import Brain, limits
from brain.digest import blob_id
from brain.merging.tree_merge import PathConflict
from brain.objects.tree_entry import FILE, TreeEntry
from brain.repo.merge import append_merge
from brain.repo.merge.append_merge import merge_appended, store_appended

BASE = b'{"ts": 1}\n' * 5
OURS, THEIRS = BASE + b'{"ts": 3}\n', BASE + b'{"ts": 2}\n{"ts": 4}\n'
MERGED = BASE + b'{"ts": 2}\n{"ts": 3}\n{"ts": 4}\n'


@pytest.fixture
def brain(tmp_path, monkeypatch):
    """A brain in which a file of the size of BASE is a large one."""
    monkeypatch.setattr(append_merge, "LARGE_BLOB_BYTES", len(BASE))
    monkeypatch.setattr(limits, "MAX_LINE_MERGE_BYTES", len(THEIRS) - len(BASE))
    return Brain.init(tmp_path / "agent", author="tester")


def conflict(
    brain: Brain,
    base: bytes | None = BASE,
    ours: bytes | None = OURS,
    theirs: bytes | None = THEIRS,
    path: str = "memory/log.jsonl",
) -> PathConflict:
    """Store three contents; return the conflict about them."""
    with brain._session.store.transaction() as tx:
        entries = [
            None if content is None else TreeEntry(path, FILE, tx.put_blob(content), len(content))
            for content in (base, ours, theirs)
        ]
    return PathConflict(path, *entries)


def merged(brain: Brain, of: PathConflict) -> bytes | None:
    """Return the content that a conflict is merged to, once it is stored."""
    session = brain._session
    found = merge_appended(session, of)
    if found is None:
        return None
    with session.store.transaction() as tx:
        session.reader = tx
        store_appended(session, tx, found)
        content = tx.read_blob(found.blob)
    session.reader = session.store
    assert (blob_id(content), len(content)) == (found.blob, found.size)
    return content


def test_tails_of_both_sides_are_united(brain):
    assert merged(brain, conflict(brain)) == MERGED
    assert merged(brain, conflict(brain, ours=THEIRS, theirs=OURS)) == MERGED
    assert merged(brain, conflict(brain, ours=BASE)) == THEIRS


@pytest.mark.parametrize(
    "sides",
    [
        {"base": None},
        {"ours": None},
        {"theirs": None},
        {"path": "prompts/log.jsonl"},
        {"path": "memory/log.txt"},
        {"base": BASE[1:], "ours": OURS[1:], "theirs": THEIRS[1:]},
        {"theirs": THEIRS + b"x"},
        {"ours": THEIRS + b"x"},
        {"ours": b"x" + OURS[1:]},
        {"theirs": b"x" + THEIRS[1:]},
        {"ours": BASE[:-1]},
        {"base": BASE[:-1] + b" ", "ours": BASE[:-1] + b" x\n", "theirs": BASE[:-1] + b" y\n"},
    ],
    ids=[
        *("no base", "not ours", "not theirs", "no memory", "another suffix", "a small base"),
        *("too much of theirs", "too much of ours", "another start of ours"),
        *("another start of theirs", "a shorter side", "a base that ends no line"),
    ],
)
def test_what_was_not_appended_to_both_is_merged_in_another_way(brain, sides):
    assert merged(brain, conflict(brain, **sides)) is None  # type: ignore[arg-type]


def test_a_redacted_base_is_not_read(brain):
    of = conflict(brain)
    assert of.base is not None
    path = brain.root / "memory/log.jsonl"
    path.write_bytes(BASE)
    brain.snapshot()
    brain.files.redact("memory/log.jsonl", reason="a name")
    assert merged(brain, of) is None
