import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.digest import blob_id
from brain.errors import NotFound
from brain.objects.bundle import State
from brain.objects.node_cache import NodeCache
from brain.objects.tree_node import FILE, LINK, TreeEntry
from brain.ops import merge_contents
from brain.ops.merge_contents import PathConflict

Files = dict[str, str]


def no_node(node_id: bytes) -> bytes:
    raise NotFound(node_id.hex())


def entry(path: str, text: str) -> TreeEntry:
    return TreeEntry(path, FILE, blob_id(text.encode()), len(text))


def state(nodes: NodeCache, files: Files) -> State:
    return State.build(nodes, [entry(*item) for item in files.items()])


def merge(base: Files, ours: Files, theirs: Files) -> merge_contents.TreeMerge:
    nodes = NodeCache(no_node)
    return merge_states(*(state(nodes, files) for files in (base, ours, theirs)))


def merge_states(base: State, *sides: State) -> merge_contents.TreeMerge:
    changes = [merge_contents.find_changes(base, side) for side in sides]
    return merge_contents.merge_trees(*changes)


def result(base: Files, ours: Files, theirs: Files) -> dict[str, bytes]:
    """What our side holds after the edits."""
    files = {path: entry(path, text).blob for path, text in ours.items()}
    for path, now in merge(base, ours, theirs).edits.items():
        files.pop(path, None)
        if now is not None:
            assert now.path == path
            files[path] = now.blob
    return files


def ids(files: Files) -> dict[str, bytes]:
    return {path: entry(path, text).blob for path, text in files.items()}


def test_different_paths_never_conflict():
    base = {"skills/a.md": "a", "skills/b.md": "b", "memory/m": "m"}
    ours = base | {"skills/a.md": "A", "new": "n"}
    theirs = {"skills/a.md": "a", "skills/b.md": "B"}
    assert merge(base, ours, theirs).conflicts == []
    assert result(base, ours, theirs) == ids({"skills/a.md": "A", "skills/b.md": "B", "new": "n"})


def test_a_path_changed_differently_on_both_sides_is_contested():
    found = merge({"a": "1"}, {"a": "2"}, {"a": "3"})
    assert found.edits == {}
    assert found.conflicts == [PathConflict("a", entry("a", "1"), entry("a", "2"), entry("a", "3"))]


def test_a_path_removed_on_one_side_and_changed_on_the_other_is_contested():
    assert merge({"a": "1"}, {}, {"a": "2"}).conflicts == [
        PathConflict("a", entry("a", "1"), None, entry("a", "2"))
    ]


def test_what_was_written_follows_a_file_that_the_other_side_moved():
    base, moved, written = {"a": "1", "z": "z"}, {"b": "1", "z": "z"}, {"a": "2", "z": "z"}
    for ours, theirs in ((moved, written), (written, moved)):
        assert merge(base, ours, theirs).conflicts == []
        assert result(base, ours, theirs) == ids({"b": "2", "z": "z"})


def test_a_move_does_not_overwrite_a_file_that_the_other_side_made_at_its_target():
    moved, made = {"b": "1"}, {"a": "2", "b": "new"}
    for ours, theirs in ((made, moved), (moved, made)):
        found = merge({"a": "1"}, ours, theirs)
        assert found.edits == {}
        assert [conflict.path for conflict in found.conflicts] == ["a", "b"]


def test_a_file_and_a_folder_of_one_name_collide_and_so_do_twins():
    assert merge({}, {"a": "1"}, {"a/b": "2"}).collisions == [("a", "a/b")]
    assert merge({}, {"a/b": "2"}, {"a": "1"}).collisions == [("a/b", "a")]
    assert merge({}, {"Note.md": "1"}, {"note.md": "2"}).collisions == [("Note.md", "note.md")]
    assert merge({}, {"A/x": "1"}, {"a/y": "2"}).collisions == [("A/x", "a/y")]
    assert merge({}, {"a/x": "1"}, {"a/y": "2"}).collisions == []


FILES = st.dictionaries(
    st.sampled_from(["a", "b", "c", "skills/d", "skills/e", "skills/f"]),
    st.sampled_from(["1", "2", "3"]),
    max_size=6,
)


@given(FILES, FILES, FILES)
def test_both_orders_give_the_same_bundle_and_the_same_contests(base, a, b):
    one, other = merge(base, a, b), merge(base, b, a)
    assert {c.path for c in one.conflicts} == {c.path for c in other.conflicts}
    contested = {c.path for c in one.conflicts}
    here = {p: v for p, v in result(base, a, b).items() if p not in contested}
    there = {p: v for p, v in result(base, b, a).items() if p not in contested}
    assert here == there


@given(FILES, FILES)
def test_a_side_merged_with_itself_or_with_the_base_stays_as_it_is(base, a):
    assert merge(base, a, a) == merge_contents.TreeMerge({}, [], [], [])
    assert result(base, a, base) == ids(a)
    assert result(base, base, a) == ids(a)


@given(FILES, FILES, FILES)
def test_what_only_one_side_added_is_there(base, a, b):
    found = set(result(base, a, b).values())
    contests = merge(base, a, b).conflicts
    found |= {e.blob for c in contests for e in (c.ours, c.theirs) if e}
    for side in (a, b):
        for path in side.keys() - base.keys():
            moved = side[path] in base.values()
            assert moved or entry(path, side[path]).blob in found


def entries_merge(
    base: list[TreeEntry], ours: list[TreeEntry], theirs: list[TreeEntry]
) -> merge_contents.TreeMerge:
    nodes = NodeCache(no_node)
    sides = (State.build(nodes, side) for side in (base, ours, theirs))
    return merge_states(*sides)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    ("old", "moved"),
    [
        ([TreeEntry("a", LINK, blob_id(b"b"), 1)], [TreeEntry("m", LINK, blob_id(b"b"), 1)]),
        ([entry("a", "")], [entry("m", "")]),
        ([entry("a", "1"), entry("c", "1")], [entry("m", "1")]),
        ([entry("a", "1")], [entry("m", "1"), entry("n", "1")]),
        ([entry("a", "1")], [TreeEntry("m", LINK, blob_id(b"1"), 1)]),
        ([entry("a", "1")], [entry("m", "2")]),
    ],
    ids=["a link", "an empty file", "two sources", "two targets", "to a link", "another content"],
)
def test_an_edit_does_not_follow_what_is_not_surely_a_move(old, moved, swap):
    written = [entry("a", "edited"), *old[1:]]
    sides = (written, moved) if swap else (moved, written)
    found = entries_merge(old, *sides)
    assert [conflict.path for conflict in found.conflicts] == ["a"]
    assert "edited" not in str(found.edits)
    assert not any(now and now.blob == blob_id(b"edited") for now in found.edits.values())


def test_a_file_that_one_side_moved_and_the_other_removed_stays_moved():
    for ours, theirs in (({"m": "1"}, {}), ({}, {"m": "1"})):
        found = merge({"a": "1"}, ours, theirs)
        assert found.conflicts == []
        assert result({"a": "1"}, ours, theirs) == ids({"m": "1"})


def test_a_file_that_both_sides_moved_is_at_both_places():
    assert result({"a": "1"}, {"m": "1"}, {"n": "1"}) == ids({"m": "1", "n": "1"})
    assert merge({"a": "1"}, {"m": "1"}, {"m": "1"}) == merge_contents.TreeMerge({}, [], [], [])


def test_what_exactly_one_side_added_is_listed():
    base = {"a": "1", "gone": "1", "edited": "1"}
    ours = {"a": "1", "edited": "2", "both": "3", "mine": "4"}
    theirs = {"a": "1", "gone": "1", "edited": "1", "both": "3", "yours": "5"}
    assert merge(base, ours, theirs).added == ["mine", "yours"]


def test_every_pair_of_paths_that_collide_is_listed_once():
    ours = {"a": "1", "B/x/y": "2", "c/x": "3"}
    theirs = {"a/b/c": "1", "b/X/z": "2", "c/X": "3"}
    assert merge({}, ours, theirs).collisions == [
        *(("B/x/y", "b/X/z"), ("a", "a/b/c"), ("c/x", "c/X"))
    ]
    assert merge({}, {"x/y": "1"}, {"X": "2"}).collisions == [("x/y", "X")]
    assert merge({}, {"x": "1"}, {"x": "2", "x2": "3"}).collisions == []
