"""Merges of what was appended, and their bases."""

from types import SimpleNamespace
from typing import Any

import pytest

from brain import Brain, limits
from brain.digest import blob_id
from brain.merging.tree_merge import EditedBundle, PathConflict
from brain.objects import ancestry
from brain.objects import bundle as bundles
from brain.objects.tree import TreeRoot
from brain.objects.tree_entry import FILE, TreeEntry
from brain.repo.merge import append_merge
from brain.repo.merge.append_merge import merge_appended, store_appended
from brain.repo.merge.merge_bundles import MergeOutcome, Merger, UnresolvedConflict

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


OLD = TreeEntry("a.md", FILE, bytes(32), 1)


class RecordingMerger(Merger):
    """Notes what it is asked to merge; each merge edits a path and leaves a conflict."""

    def __init__(self, lower: dict[tuple[bytes, bytes], list[bytes]]) -> None:
        self.lower = lower
        self.merges: list[tuple[Any, ...]] = []
        session: Any = SimpleNamespace(
            load_snapshot=None, bundle_of=lambda here: {"s": TreeRoot(here, 1, 1)}
        )
        super().__init__(session)

    def merge(self, base: Any, ours: Any, theirs: Any, choose: Any) -> MergeOutcome:
        sides = [bundle["s"].node if bundle else b"" for bundle, _ in (base, ours, theirs)]
        self.merges.append((*sides, dict(ours.edits)))
        number = len(self.merges)
        conflict = PathConflict("contested.md", OLD, None, OLD)
        unresolved = [UnresolvedConflict(conflict, "content")]
        return MergeOutcome({f"{number}.md": OLD, "contested.md": None}, [], unresolved, [], [])


@pytest.fixture
def make(monkeypatch):
    def make_merger(lower: dict[tuple[bytes, bytes], list[bytes]] | list[bytes]) -> RecordingMerger:
        made = RecordingMerger(lower if isinstance(lower, dict) else {})
        default = [] if isinstance(lower, dict) else lower
        monkeypatch.setattr(
            ancestry, "find_merge_bases", lambda load, merges, a, b: made.lower.get((a, b), default)
        )
        return made

    return make_merger


def test_without_a_base_the_base_is_empty_and_one_base_is_itself(make):
    merger = make({})
    assert merger.build_base([], []) == EditedBundle(bundles.EMPTY_BUNDLE, {})
    assert merger.build_base([b"a"], []) == EditedBundle({"s": TreeRoot(b"a", 1, 1)}, {})
    assert merger.merges == []


def test_bases_are_merged_in_the_order_of_their_ids_over_their_own_bases(make):
    merger = make({(b"a", b"b"): [b"x"], (b"a", b"c"): [b"y"]})
    combined = merger.build_base([b"c", b"a", b"b"], [])
    one = {"1.md": OLD, "contested.md": OLD}
    assert merger.merges == [(b"x", b"a", b"b", {}), (b"y", b"a", b"c", one)]
    assert combined == EditedBundle({"s": TreeRoot(b"a", 1, 1)}, {**one, "2.md": OLD})


def test_at_most_eight_bases_are_combined(make):
    merger = make({})
    merger.build_base([bytes([number]) for number in range(12)], [])
    assert [row[2] for row in merger.merges] == [bytes([number]) for number in range(1, 8)]


def test_bases_of_bases_are_merged_at_most_eight_deep(make):
    merger = make([b"a", b"b"])
    merger.build_base([b"a", b"b"], [])
    assert len(merger.merges) == 8
