"""Trees against a dict: whatever the edits, the tree is that of what is left."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from brain.checks.trees import check_bundles
from brain.objects import tree
from brain.objects.tree import Root
from tests.forest import (
    Edits,
    Files,
    applied,
    counts,
    edited,
    few,
    of,
    seeds,
    some_edits,
    some_files,
)
from tests.shelf import Shelf, entries, entry, levels
from tests.strategies import brain_paths


@given(few, few, st.sets(brain_paths))
def test_updating_a_small_tree_is_building_it(before: Files, new: Files, gone: set[str]) -> None:
    shelf = Shelf()
    edits: Edits = {**new, **dict.fromkeys(gone), **dict.fromkeys([*before][::3])}
    root = edited(shelf, of(shelf, before), edits)
    assert root == of(shelf, applied(before, edits))


@settings(max_examples=60)
@given(seeds, st.sampled_from([1, 23, 24, 162, 163, 1000, 5000]), counts, counts, counts)
def test_updating_a_large_tree_is_building_it(
    seed: int, total: int, removed: int, changed: int, added: int
) -> None:
    shelf = Shelf()
    before = some_files(seed, total)
    edits = some_edits(seed, before, removed, changed, added)
    built = of(shelf, before)
    right = of(shelf, applied(before, edits))
    assert edited(shelf, built, edits) == right
    nodes = shelf.nodes()
    assert len(list(tree.walk(nodes, built))) == len(before)
    assert edited(shelf, edited(shelf, built, {}, nodes), edits, nodes) == right


@settings(max_examples=25)
@given(seeds, st.integers(100, 5000), st.integers(0, 30))
def test_removing_all_but_a_few_shrinks_the_tree_to_theirs(
    seed: int, total: int, left: int
) -> None:
    shelf = Shelf()
    before = some_files(seed, total)
    kept = set(random.Random(seed).sample(sorted(before), min(left, len(before))))
    root = edited(shelf, of(shelf, before), {path: None for path in before if path not in kept})
    assert root == of(shelf, {path: before[path] for path in kept})


def test_removing_everything_leaves_no_tree() -> None:
    shelf = Shelf()
    files = some_files(1, 4000)
    root = of(shelf, files)
    assert edited(shelf, root, dict.fromkeys(files)) is None
    assert edited(shelf, None, dict.fromkeys(files)) is None


@settings(max_examples=20)
@given(seeds, st.integers(1, 400), st.integers(1, 20))
def test_the_order_of_edits_does_not_matter(seed: int, total: int, turns: int) -> None:
    shelf = Shelf()
    files = some_files(seed, total)
    passing = {f"passing/{number}": entry(f"passing/{number}") for number in range(turns * 3)}
    steps: list[Edits] = [{path: line} for path, line in files.items()]
    steps += [{path: line} for path, line in passing.items()]
    random.Random(seed).shuffle(steps)
    root: Root | None = None
    nodes = shelf.nodes()  # all in memory, as one process has it
    for step in steps:
        root = edited(shelf, root, step, nodes)
    for path in sorted(passing, key=lambda path: path[::-1]):
        root = edited(shelf, root, {path: None}, nodes)
    assert root == of(shelf, files)


@settings(max_examples=20)
@given(seeds, st.integers(2, 20_000))
def test_every_tree_is_one_that_the_verifier_takes(seed: int, total: int) -> None:
    shelf = Shelf()
    files = some_files(seed, total)
    before = of(shelf, files)
    after = edited(shelf, before, some_edits(seed, files, 5, 5, 5))
    assert before and after
    for old in ({}, {"s": before}):
        (change,) = check_bundles(shelf.nodes(), old, {"s": after})
        was, now = (set(tree.walk(shelf.nodes(), root)) for root in (old.get("s"), after))
        assert sorted(change.gone) == sorted(was - now)
        assert sorted(change.fresh) == sorted(now - was)


@settings(max_examples=30)
@given(seeds, st.integers(1, 3000))
def test_nodes_hold_24_to_162_entries_but_for_the_last_of_a_level(seed: int, total: int) -> None:
    shelf = Shelf()
    files = some_files(seed, total)
    root = of(shelf, files)
    assert root is not None and root.files == len(files)
    assert root.bytes == sum(line.size for line in files.values())
    for level in levels(shelf.nodes(), root.node):
        sizes = [len(node.entries) for node in level]
        assert max(sizes) <= 162
        assert min(sizes[:-1], default=24) >= 24


@given(few, brain_paths)
def test_an_entry_is_found_if_and_only_if_it_is_there(files: Files, path: str) -> None:
    shelf = Shelf()
    root = of(shelf, files)
    assert tree.get(shelf.nodes(), root, path) == files.get(path)
    for known in files:
        assert tree.get(shelf.nodes(), root, known) == files[known]


@given(few, st.lists(brain_paths, max_size=6))
def test_one_of_some_paths_is_found_if_and_only_if_one_is_there(
    files: Files, others: list[str]
) -> None:
    shelf = Shelf()
    root = of(shelf, files)
    assert tree.has_any(shelf.nodes(), root, sorted(others)) == any(p in files for p in others)
    asked = sorted({*others, *list(files)[:1]})
    assert tree.has_any(shelf.nodes(), root, asked) == bool(files)


@settings(max_examples=25)
@given(seeds, st.sampled_from([0, 1, 100, 4000]))
def test_walking_yields_every_entry_in_order_from_any_start(seed: int, total: int) -> None:
    shelf = Shelf()
    files = some_files(seed, total)
    root = of(shelf, files)
    everything = [files[path] for path in sorted(files)]
    assert list(tree.walk(shelf.nodes(), root)) == everything
    start = f"{random.Random(seed).randrange(9000):05}"
    assert list(tree.walk(shelf.nodes(), root, start)) == [e for e in everything if e.path >= start]
    for line in everything[:: max(1, total // 20)]:
        assert tree.get(shelf.nodes(), root, line.path) == line
        assert tree.get(shelf.nodes(), root, line.path + "x") is None


def test_one_edit_in_twenty_thousand_loads_and_makes_a_node_per_level() -> None:
    shelf = Shelf()
    files = {f"{number:05}": entry(f"{number:05}") for number in range(20_000)}
    root = of(shelf, files)
    assert root is not None
    height = len(levels(shelf.nodes(), root.node))
    nodes = shelf.nodes()
    tree.update(nodes, root, [("12345", entry("12345", "changed"))])
    assert len(nodes.fresh) == len(shelf.loads) == height == 3
    nodes = shelf.nodes()
    tree.update(nodes, root, [("12345-new", entry("12345-new"))])
    assert len(nodes.fresh) <= 2 * height + 1


def test_entries_of_a_tree_of_any_size_are_those_it_was_built_of() -> None:
    for total in (1, 24, 162, 163, 10_000):
        shelf = Shelf()
        lines = entries(f"{number:05}" for number in range(total))
        nodes = shelf.nodes()
        assert list(tree.walk(nodes, tree.build(nodes, lines))) == lines
