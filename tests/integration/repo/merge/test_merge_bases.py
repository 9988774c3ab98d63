"""The base of a criss-cross merge is the merge of all bases, up to a width and a depth."""

from types import SimpleNamespace
from typing import Any

import pytest

from brain.merging.tree_merge import EditedBundle, PathConflict
from brain.objects import ancestry
from brain.objects import bundle as bundles
from brain.objects.tree import TreeRoot
from brain.objects.tree_entry import FILE, TreeEntry
from brain.repo.merge.merge_bundles import MergeOutcome, Merger, UnresolvedConflict

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
