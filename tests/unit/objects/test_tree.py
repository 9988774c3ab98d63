from itertools import count

import pytest

from brain.objects import tree
from brain.objects.node_boundary import MAX_NODE_ENTRIES, MIN_NODE_ENTRIES, is_node_boundary
from brain.objects.tree_node import INNER, LEAF
from tests.support.node_store import MemoryNodeStore, file_entries, file_entry, tree_levels


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


def test_no_edits_read_nothing():
    node_store = MemoryNodeStore()
    nodes = node_store.open_nodes()
    root = tree.build_tree(nodes, file_entries("abc"))
    node_store.store_new_nodes(nodes)
    nodes = node_store.open_nodes()
    assert tree.update_tree(nodes, root, []) == root
    assert node_store.loads == []


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
