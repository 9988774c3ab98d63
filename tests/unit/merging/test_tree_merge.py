from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from brain.digest import blob_id
from brain.errors import NotFound
from brain.merging import tree_merge
from brain.merging.tree_merge import EditedBundle, PathConflict
from brain.objects import bundle as bundles
from brain.objects.node_cache import NodeCache
from brain.objects.tree_entry import FILE, TreeEntry

Files = dict[str, str]


def no_node(node_id: bytes) -> bytes:
    raise NotFound(node_id.hex())


def entry(path: str, text: str) -> TreeEntry:
    return TreeEntry(path, FILE, blob_id(text.encode()), len(text))


def state(nodes: NodeCache, files: Files) -> EditedBundle:
    return EditedBundle(bundles.build_bundle(nodes, [entry(*item) for item in files.items()]), {})


def merge(base: Files, ours: Files, theirs: Files) -> tree_merge.TreeMerge:
    nodes = NodeCache(no_node)
    return tree_merge.merge_trees(nodes, *(state(nodes, files) for files in (base, ours, theirs)))


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


def test_different_paths_never_conflict() -> None:
    base = {"skills/a.md": "a", "skills/b.md": "b", "memory/m": "m"}
    ours = base | {"skills/a.md": "A", "new": "n"}
    theirs = {"skills/a.md": "a", "skills/b.md": "B"}
    assert merge(base, ours, theirs).conflicts == []
    assert result(base, ours, theirs) == ids({"skills/a.md": "A", "skills/b.md": "B", "new": "n"})


def test_a_path_changed_differently_on_both_sides_is_contested() -> None:
    found = merge({"a": "1"}, {"a": "2"}, {"a": "3"})
    assert found.edits == {}
    assert found.conflicts == [
        PathConflict("a", entry("a", "1"), entry("a", "2"), entry("a", "3")),
    ]


def test_a_path_removed_on_one_side_and_changed_on_the_other_is_contested() -> None:
    assert merge({"a": "1"}, {}, {"a": "2"}).conflicts == [
        PathConflict("a", entry("a", "1"), None, entry("a", "2"))
    ]


def test_what_was_written_follows_a_file_that_the_other_side_moved() -> None:
    base, moved, written = {"a": "1", "z": "z"}, {"b": "1", "z": "z"}, {"a": "2", "z": "z"}
    for ours, theirs in ((moved, written), (written, moved)):
        assert merge(base, ours, theirs).conflicts == []
        assert result(base, ours, theirs) == ids({"b": "2", "z": "z"})


def test_a_move_does_not_overwrite_a_file_that_the_other_side_made_at_its_target() -> None:
    moved, made = {"b": "1"}, {"a": "2", "b": "new"}
    for ours, theirs in ((made, moved), (moved, made)):
        found = merge({"a": "1"}, ours, theirs)
        assert found.edits == {}
        assert [conflict.path for conflict in found.conflicts] == ["a", "b"]


def test_a_file_and_a_folder_of_one_name_collide_and_so_do_twins() -> None:
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
def test_both_orders_give_the_same_bundle_and_the_same_contests(
    base: Files, a: Files, b: Files
) -> None:
    one, other = merge(base, a, b), merge(base, b, a)
    assert {c.path for c in one.conflicts} == {c.path for c in other.conflicts}
    contested = {c.path for c in one.conflicts}
    here = {p: v for p, v in result(base, a, b).items() if p not in contested}
    there = {p: v for p, v in result(base, b, a).items() if p not in contested}
    assert here == there


@given(FILES, FILES)
def test_a_side_merged_with_itself_or_with_the_base_stays_as_it_is(base: Files, a: Files) -> None:
    assert merge(base, a, a) == tree_merge.TreeMerge({}, [], [], [])
    assert result(base, a, base) == ids(a)
    assert result(base, base, a) == ids(a)


@given(FILES, FILES, FILES)
def test_what_only_one_side_added_is_there(base: Files, a: Files, b: Files) -> None:
    found = set(result(base, a, b).values())
    contests = merge(base, a, b).conflicts
    found |= {e.blob for c in contests for e in (c.ours, c.theirs) if e}
    for side in (a, b):
        for path in side.keys() - base.keys():
            moved = side[path] in base.values()
            assert moved or entry(path, side[path]).blob in found


@given(FILES, FILES, FILES)
def test_edits_on_a_base_count_as_if_they_were_in_it(base: Files, a: Files, b: Files) -> None:
    nodes = NodeCache(no_node)
    plain = tree_merge.merge_trees(nodes, *(state(nodes, files) for files in (base, a, b)))
    empty = EditedBundle(
        bundles.EMPTY_BUNDLE, {path: entry(path, text) for path, text in base.items()}
    )
    assert tree_merge.merge_trees(nodes, empty, state(nodes, a), state(nodes, b)) == plain
