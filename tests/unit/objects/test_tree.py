"""Trees: their nodes, where these are cut, and how two are compared."""

import itertools
import random
from itertools import count

import pytest
from blake3 import blake3

from brain.digest import blob_id
from brain.errors import FormatError
from brain.objects import tree
from brain.objects.lineage import walk_range
from brain.objects.node_cache import MAX_CACHED_SWEEP_NODES, NodeCache
from brain.objects.tree import Difference, TreeRoot, diff_trees
from brain.objects.tree_node import (
    INNER,
    LEAF,
    MAX_NODE_ENTRIES,
    MIN_NODE_ENTRIES,
    TreeNode,
    is_node_boundary,
)
from tests.support.node_store import MemoryNodeStore, file_entries, file_entry, tree_levels
from tests.support.snapshot_graphs import SnapshotGraph


def mined(total: int, ends_at: int) -> list[str]:
    """Return ascending names, each of which ends a node at its `ends_at`-th entry, no earlier."""
    out = []
    for place in range(total):
        names = (f"{place:04}-{nonce}" for nonce in count())
        out.append(
            next(n for n in names if is_node_boundary(0, n, ends_at) and not _early(n, ends_at))
        )
    return out


def _early(name: str, ends_at: int) -> bool:
    return ends_at > MIN_NODE_ENTRIES and is_node_boundary(0, name, ends_at - 1)


def sizes(paths: list[str]) -> list[list[int]]:
    nodes = MemoryNodeStore().open_nodes()
    root = tree.build_tree(nodes, file_entries(paths))
    assert root is not None
    return [[len(node.entries) for node in level] for level in tree_levels(nodes, root.node)]


def test_no_entries_make_no_tree():
    nodes = MemoryNodeStore().open_nodes()
    assert tree.build_tree(nodes, []) is None
    assert tree.get_tree_entry(nodes, None, "a") is None
    assert list(tree.walk_tree(nodes, None)) == []
    assert tree.update_tree(nodes, None, []) is None
    assert nodes.unstored == {}


def test_a_few_entries_make_one_leaf():
    nodes = MemoryNodeStore().open_nodes()
    root = tree.build_tree(nodes, file_entries("abc"))
    assert root is not None
    node = nodes.get(root.node)
    assert (node.kind, list(node.entries)) == (LEAF, file_entries("abc"))
    assert (root.files, root.bytes) == (3, 3)


def test_names_mined_never_to_cut_make_nodes_of_162():
    never = mined(2 * MAX_NODE_ENTRIES + 5, MAX_NODE_ENTRIES)
    assert sizes(never) == [[3], [MAX_NODE_ENTRIES, MAX_NODE_ENTRIES, 5]]


def test_names_mined_to_cut_always_make_nodes_of_24():
    always = mined(4 * MIN_NODE_ENTRIES + 5, MIN_NODE_ENTRIES)
    assert sizes(always) == [[5], [MIN_NODE_ENTRIES] * 4 + [5]]


def test_inner_nodes_say_last_path_files_and_bytes_of_what_is_below():
    nodes = MemoryNodeStore().open_nodes()
    lines = file_entries(f"{number:05}" for number in range(5000))
    root = tree.build_tree(nodes, lines)
    assert root is not None
    *inner, leaves = tree_levels(nodes, root.node)
    assert len(inner) == 2
    for level in inner:
        for node in level:
            assert node.kind == INNER
            for last, child, files, size in node.entries:
                below = nodes.get(child)
                assert (below.last, *below.totals()) == (last, files, size)
    assert [line for leaf in leaves for line in leaf.entries] == lines


def test_a_changed_content_keeps_every_cut():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    paths = [f"{number:05}" for number in range(1000)]
    root = tree.build_tree(nodes, file_entries(paths))
    after = tree.update_tree(nodes, root, [(path, file_entry(path, "new")) for path in paths])
    assert root is not None and after is not None
    assert sizes(paths) == [[len(n.entries) for n in one] for one in tree_levels(nodes, after.node)]


def test_removing_what_is_not_there_changes_nothing():
    nodes = MemoryNodeStore().open_nodes()
    root = tree.build_tree(nodes, file_entries("abc"))
    assert tree.update_tree(nodes, root, [("0", None), ("bb", None), ("z", None)]) == root


def test_a_tree_that_shrinks_loses_its_upper_levels():
    nodes = MemoryNodeStore().open_nodes()
    paths = [f"{number:05}" for number in range(5000)]
    root = tree.build_tree(nodes, file_entries(paths))
    for kept in (3000, 500, 50, 1):
        after = tree.update_tree(nodes, root, [(path, None) for path in paths[:-kept]])
        assert after == tree.build_tree(nodes, file_entries(paths[-kept:]))


@pytest.mark.parametrize("path", ["00000", "02500", "04999", "~"])
def test_one_entry_more_rewrites_a_few_nodes_wherever_it_lies(path):
    nodes = MemoryNodeStore().open_nodes()
    root = tree.build_tree(nodes, file_entries(f"{number:05}x" for number in range(5000)))
    nodes.mark_stored()
    tree.update_tree(nodes, root, [(path, file_entry(path))])
    assert 3 <= len(nodes.unstored) <= 7


def test_walking_from_a_path_opens_only_what_lies_beyond():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    root = tree.build_tree(nodes, file_entries(f"{number:05}" for number in range(5000)))
    node_store.store_new_nodes(nodes)
    found = list(tree.walk_tree(node_store.open_nodes(), root, "04990"))
    assert [line.path for line in found] == [f"{number:05}" for number in range(4990, 5000)]
    assert len(node_store.loads) <= 4


def leaf(name: str) -> TreeNode:
    return TreeNode(LEAF, tuple(file_entries([name])))


def test_a_node_that_is_stored_and_at_hand_is_not_built_anew():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    made = nodes.add(leaf("a"))
    node_store.store_new_nodes(nodes)
    node_store.stored[leaf("b").id] = leaf("b").encode()
    nodes.get(leaf("b").id)
    assert [nodes.add(leaf(name)) for name in "ab"] == [made, leaf("b").id]
    assert nodes.unstored == {}


def test_a_node_that_was_not_stored_is_built_anew():
    nodes = MemoryNodeStore().open_nodes()
    for end in (nodes.drop_unstored, nodes.clear):
        nodes.add(leaf("a"))
        end()
        assert nodes.unstored == {}
        nodes.add(leaf("a"))
        assert nodes.unstored == {leaf("a").id: leaf("a").encode()}


def test_a_node_read_before_it_is_stored_is_not_taken_for_stored():
    nodes = MemoryNodeStore().open_nodes()
    made = nodes.add(leaf("a"))
    nodes._cached.clear()
    assert nodes.get(made).entries == leaf("a").entries
    assert nodes.add(leaf("a")) == made
    assert nodes.unstored == {made: leaf("a").encode()}


def test_what_is_forgotten_is_read_again_from_the_store():
    nodes = MemoryNodeStore().open_nodes()
    node = leaf("a")
    nodes.add(node)
    nodes.clear()
    assert nodes.unstored == {}
    with pytest.raises(KeyError):
        nodes.get(node.id)


def test_bytes_that_are_no_node_are_refused():
    nodes = NodeCache({b"id": b"\xc1"}.__getitem__)
    with pytest.raises(FormatError):
        nodes.get(b"id")


def test_a_sweep_returns_each_node_and_holds_no_more_than_a_part_of_them():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    ids = [nodes.add(leaf(f"{number:05}")) for number in range(MAX_CACHED_SWEEP_NODES + 50)]
    node_store.store_new_nodes(nodes)
    swept = node_store.open_nodes()
    assert [swept.peek(node_id).id for node_id in [*ids, *ids]] == [*ids, *ids]
    assert node_store.loads == [*ids, *ids[MAX_CACHED_SWEEP_NODES:]]


def test_the_cache_holds_2048_nodes_and_drops_the_oldest_quarter_for_the_next():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    ids = [nodes.add(leaf(f"{number:05}")) for number in range(2049)]
    assert len(nodes._cached) == 255  # of the new ones
    node_store.store_new_nodes(nodes)
    nodes.clear()
    for node_id in ids[:2048]:
        nodes.get(node_id)
    assert len(nodes._cached) == len(nodes._id_by_entries) == 2048
    nodes.get(ids[2048])
    assert list(nodes._cached) == ids[512:]
    assert len(nodes._id_by_entries) == 1537


def test_a_sweep_caches_512_nodes():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    ids = [nodes.add(leaf(f"{number:05}")) for number in range(514)]
    node_store.store_new_nodes(nodes)
    nodes.clear()
    for node_id in ids:
        nodes.peek(node_id)
    assert list(nodes._cached) == ids[:512]
    fresh = nodes.add(leaf("fresh"))
    nodes._cached.pop(fresh)
    assert nodes.peek(fresh).id == fresh and fresh not in nodes._cached


BLOB = blob_id(b"content")
LINE = ("a", 0, BLOB, 7)
CHILD = ("a", BLOB, 1, 7)


def test_hashes_taken_over_from_a_similar_node_give_the_same_id():
    old = TreeNode(LEAF, tuple(file_entries(f"{i:03}" for i in range(100))))
    assert old.id
    for lines in (
        (*old.entries[:50], file_entry("050", "new"), *old.entries[51:]),
        old.entries[1:],
        (*old.entries, file_entry("zzz")),
    ):
        node = TreeNode(LEAF, lines)
        node.reuse_rows(old)
        assert node.id == TreeNode(LEAF, lines).id


def test_a_node_with_lines_replaced_has_the_id_of_one_made_of_those_lines():
    lines = file_entries(f"{i:03}" for i in range(100))
    hashed, fresh = TreeNode(LEAF, tuple(lines)), TreeNode(LEAF, tuple(lines))
    assert hashed.id
    new = {0: file_entry("000", "new"), 99: file_entry("099", "new")}
    expected = TreeNode(LEAF, (new[0], *lines[1:99], new[99]))
    for old in (hashed, fresh):
        node = old.replace_entries(new)
        assert (node.entries, node.id) == (expected.entries, expected.id)
        assert old.id == TreeNode(LEAF, tuple(lines)).id


def test_nothing_is_taken_over_from_a_node_of_the_other_kind_or_one_never_hashed():
    for old in (TreeNode(INNER, (CHILD,)), TreeNode(LEAF, (LINE,))):
        node = TreeNode(LEAF, (LINE, ("b", 0, BLOB, 1)))
        node.reuse_rows(old)
        assert node.id == TreeNode(LEAF, node.entries).id


def bits(level: int, path: str) -> int:
    """The 22 bits of a path, from the text of the specification."""
    data = bytes([level]) + path.encode()
    first = blake3(data, derive_key_context="brain v1 tree cut").digest(3)
    return int.from_bytes(first, "big") >> 2


@pytest.mark.parametrize("level", [0, 1, 2, 7])
def test_a_cut_comes_when_the_cube_of_the_count_passes_the_bits_of_the_path(level):
    for number in range(200):
        path = f"skills/{number}.md"
        first = next(count for count in itertools.count(1) if is_node_boundary(level, path, count))
        assert first == max(MIN_NODE_ENTRIES, round_up_to_cube(bits(level, path)))


def round_up_to_cube(number: int) -> int:
    return next(count for count in itertools.count() if number < count**3)


def test_no_node_ends_before_its_24th_entry():
    low = next(name for name in map(str, itertools.count()) if bits(0, name) < 23**3)
    assert [is_node_boundary(0, low, count) for count in (1, 23, 24, 25)] == [
        False,
        False,
        True,
        True,
    ]


def test_every_node_ends_at_its_162nd_entry():
    assert (MAX_NODE_ENTRIES - 1) ** 3 < 1 << 22 <= MAX_NODE_ENTRIES**3
    high = next(name for name in map(str, itertools.count()) if bits(0, name) >= 161**3)
    assert [is_node_boundary(0, high, count) for count in (161, 162)] == [False, True]


def test_the_level_salts_the_cut():
    firsts = {level: bits(level, "skills/x.md") for level in range(4)}
    assert len(set(firsts.values())) == 4


def built(node_store: MemoryNodeStore, paths: list[str], content: str = "") -> TreeRoot | None:
    nodes = node_store.open_nodes()
    root = tree.build_tree(nodes, file_entries(paths, content))
    node_store.store_new_nodes(nodes)
    return root


def test_added_removed_and_changed_entries_come_in_the_order_of_their_paths():
    node_store = MemoryNodeStore()
    before = built(node_store, ["a", "b", "d"])
    nodes = node_store.open_nodes()
    edits = [("a", None), ("b", file_entry("b", "new")), ("c", file_entry("c"))]
    after = tree.update_tree(nodes, before, edits)
    assert list(diff_trees(nodes, before, after)) == [
        Difference("a", file_entry("a"), None),
        Difference("b", file_entry("b"), file_entry("b", "new")),
        Difference("c", None, file_entry("c")),
    ]


def test_against_no_tree_everything_was_added_or_removed():
    node_store = MemoryNodeStore()
    root = built(node_store, ["a", "b"])
    added = [Difference(path, None, file_entry(path)) for path in "ab"]
    assert list(diff_trees(node_store.open_nodes(), None, root)) == added
    assert list(diff_trees(node_store.open_nodes(), root, None)) == [
        Difference(p, b, a) for p, a, b in added
    ]
    assert list(diff_trees(node_store.open_nodes(), None, None)) == []


def test_trees_of_different_height_are_compared():
    node_store = MemoryNodeStore()
    paths = [f"{number:05}" for number in range(5000)]
    small, large = built(node_store, paths[:10]), built(node_store, paths)
    assert [d.path for d in diff_trees(node_store.open_nodes(), small, large)] == paths[10:]
    assert [d.path for d in diff_trees(node_store.open_nodes(), large, small)] == paths[10:]


def test_a_mode_alone_is_a_difference():
    node_store = MemoryNodeStore()
    before = built(node_store, ["a"])
    nodes = node_store.open_nodes()
    after = tree.update_tree(nodes, before, [("a", file_entry("a")._replace(kind=1))])
    assert list(diff_trees(nodes, before, after)) == [
        Difference("a", file_entry("a"), file_entry("a")._replace(kind=1))
    ]


def random_dag(seed: int, size: int) -> SnapshotGraph:
    rng = random.Random(seed)
    dag = SnapshotGraph()
    for number in range(1, size):
        parents = rng.sample(range(number), k=min(number, rng.choice([1, 1, 1, 2, 3])))
        dag.add(*parents)
    return dag


def test_what_one_has_behind_it_and_another_has_not_is_as_by_sets():
    for seed in range(40):
        dag = random_dag(seed, 30)
        for new in dag.ids[::3]:
            for old in dag.ids[::4]:
                found = list(walk_range(dag.load, new, old))
                assert len(found) == len(set(found))
                assert set(found) == dag.ancestors(new) - dag.ancestors(old)


def test_without_another_all_ancestors_are_behind_and_children_come_first():
    dag = random_dag(7, 40)
    found = list(walk_range(dag.load, dag.ids[-1], None))
    assert set(found) == dag.ancestors(dag.ids[-1])
    place = {id: number for number, id in enumerate(found)}
    for id in found:
        assert all(place[parent] > place[id] for parent in dag.known[id].parents)


def test_nothing_is_behind_a_snapshot_that_it_has_not_itself():
    dag = random_dag(3, 10)
    assert list(walk_range(dag.load, dag.ids[-1], dag.ids[-1])) == []


def test_a_short_stretch_of_a_long_line_reads_only_that():
    dag = SnapshotGraph()
    for number in range(2000):
        dag.add(number)
    dag.loads.clear()
    assert len(list(walk_range(dag.load, dag.ids[-1], dag.ids[-11]))) == 10
    assert len(dag.loads) < 100
