from brain.objects import tree
from brain.objects.tree import TreeRoot
from brain.objects.tree_diff import Difference, diff_trees
from tests.support.node_store import MemoryNodeStore, file_entries, file_entry


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
