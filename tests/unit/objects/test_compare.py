from __future__ import annotations

from brain.objects import tree
from brain.objects.compare import Difference, compare
from brain.objects.tree import Root
from tests.shelf import Shelf, entries, entry


def built(shelf: Shelf, paths: list[str], content: str = "") -> Root | None:
    nodes = shelf.nodes()
    root = tree.build(nodes, entries(paths, content))
    shelf.settle(nodes)
    return root


def test_added_removed_and_changed_entries_come_in_the_order_of_their_paths() -> None:
    shelf = Shelf()
    before = built(shelf, ["a", "b", "d"])
    nodes = shelf.nodes()
    edits = [("a", None), ("b", entry("b", "new")), ("c", entry("c"))]
    after = tree.update(nodes, before, edits)
    assert list(compare(nodes, before, after)) == [
        Difference("a", entry("a"), None),
        Difference("b", entry("b"), entry("b", "new")),
        Difference("c", None, entry("c")),
    ]


def test_against_no_tree_everything_was_added_or_removed() -> None:
    shelf = Shelf()
    root = built(shelf, ["a", "b"])
    added = [Difference(path, None, entry(path)) for path in "ab"]
    assert list(compare(shelf.nodes(), None, root)) == added
    assert list(compare(shelf.nodes(), root, None)) == [Difference(p, b, a) for p, a, b in added]
    assert list(compare(shelf.nodes(), None, None)) == []


def test_trees_of_different_height_are_compared() -> None:
    shelf = Shelf()
    paths = [f"{number:05}" for number in range(5000)]
    small, large = built(shelf, paths[:10]), built(shelf, paths)
    assert [d.path for d in compare(shelf.nodes(), small, large)] == paths[10:]
    assert [d.path for d in compare(shelf.nodes(), large, small)] == paths[10:]


def test_a_mode_alone_is_a_difference() -> None:
    shelf = Shelf()
    before = built(shelf, ["a"])
    nodes = shelf.nodes()
    after = tree.update(nodes, before, [("a", entry("a")._replace(kind=1))])
    assert list(compare(nodes, before, after)) == [
        Difference("a", entry("a"), entry("a")._replace(kind=1))
    ]
