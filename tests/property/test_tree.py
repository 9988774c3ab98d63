"""Trees of any files."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.objects import tree
from brain.objects.bundle import State
from brain.objects.tree import TreeRoot
from brain.objects.tree_node import TreeEntry
from brain.verify.tree_check import check_bundles
from tests.support.hypothesis_strategies import (
    EditsByPath,
    FilesByPath,
    apply_edits,
    brain_paths,
    build_tree,
    edit_tree,
    file_counts,
    random_edits,
    random_files,
    random_seeds,
    small_file_sets,
)
from tests.support.node_store import MemoryNodeStore, file_entries, file_entry, tree_levels


@given(small_file_sets, small_file_sets, st.sets(brain_paths))
def test_updating_a_small_tree_is_building_it(before, new, gone):
    node_store = MemoryNodeStore()
    edits: EditsByPath = {**new, **dict.fromkeys(gone), **dict.fromkeys([*before][::3])}
    root = edit_tree(node_store, build_tree(node_store, before), edits)
    assert root == build_tree(node_store, apply_edits(before, edits))


@given(
    random_seeds,
    st.sampled_from([1, 23, 24, 162, 163, 1000, 5000]),
    file_counts,
    file_counts,
    file_counts,
)
def test_updating_a_large_tree_is_building_it(seed, total, removed, changed, added):
    node_store = MemoryNodeStore()
    before = random_files(seed, total)
    edits = random_edits(seed, before, removed, changed, added)
    built = build_tree(node_store, before)
    right = build_tree(node_store, apply_edits(before, edits))
    assert edit_tree(node_store, built, edits) == right
    nodes = node_store.open_nodes()
    assert len(list(tree.walk_tree(nodes, built))) == len(before)
    assert edit_tree(node_store, edit_tree(node_store, built, {}, nodes), edits, nodes) == right


@given(random_seeds, st.integers(100, 5000), st.integers(0, 30))
def test_removing_all_but_a_few_shrinks_the_tree_to_theirs(seed, total, left):
    node_store = MemoryNodeStore()
    before = random_files(seed, total)
    kept = set(random.Random(seed).sample(sorted(before), min(left, len(before))))
    root = edit_tree(
        node_store,
        build_tree(node_store, before),
        {path: None for path in before if path not in kept},
    )
    assert root == build_tree(node_store, {path: before[path] for path in kept})


def test_removing_everything_leaves_no_tree():
    node_store = MemoryNodeStore()
    files = random_files(1, 4000)
    root = build_tree(node_store, files)
    assert edit_tree(node_store, root, dict.fromkeys(files)) is None
    assert edit_tree(node_store, None, dict.fromkeys(files)) is None


@given(random_seeds, st.integers(1, 400), st.integers(1, 20))
def test_the_order_of_edits_does_not_matter(seed, total, turns):
    node_store = MemoryNodeStore()
    files = random_files(seed, total)
    passing = {f"passing/{number}": file_entry(f"passing/{number}") for number in range(turns * 3)}
    steps: list[EditsByPath] = [{path: line} for path, line in files.items()]
    steps += [{path: line} for path, line in passing.items()]
    random.Random(seed).shuffle(steps)
    root: TreeRoot | None = None
    nodes = node_store.open_nodes()  # all in memory, as one process has it
    for step in steps:
        root = edit_tree(node_store, root, step, nodes)
    for path in sorted(passing, key=lambda path: path[::-1]):
        root = edit_tree(node_store, root, {path: None}, nodes)
    assert root == build_tree(node_store, files)


@given(random_seeds, st.integers(2, 20_000))
def test_every_tree_is_one_that_the_verifier_takes(seed, total):
    node_store = MemoryNodeStore()
    files = random_files(seed, total)
    before = build_tree(node_store, files)
    after = edit_tree(node_store, before, random_edits(seed, files, 5, 5, 5))
    assert before and after
    for old in ({}, {"s": before}):
        nodes = node_store.open_nodes()
        (change,) = check_bundles(State(nodes, old), State(nodes, {"s": after}))
        was, now = (
            set(tree.walk_tree(node_store.open_nodes(), root)) for root in (old.get("s"), after)
        )
        assert sorted(change.old_entries) == sorted(was - now)
        assert sorted(change.new_entries) == sorted(now - was)


@given(random_seeds, st.integers(1, 3000))
def test_nodes_hold_24_to_162_entries_but_for_the_last_of_a_level(seed, total):
    node_store = MemoryNodeStore()
    files = random_files(seed, total)
    root = build_tree(node_store, files)
    assert root is not None and root.files == len(files)
    assert root.bytes == sum(line.size for line in files.values())
    for level in tree_levels(node_store.open_nodes(), root.node):
        sizes = [len(node.entries) for node in level]
        assert max(sizes) <= 162
        assert min(sizes[:-1], default=24) >= 24


@given(small_file_sets, brain_paths)
def test_an_entry_is_found_if_and_only_if_it_is_there(files, path):
    node_store = MemoryNodeStore()
    root = build_tree(node_store, files)
    assert tree.get_tree_entry(node_store.open_nodes(), root, path) == files.get(path)
    for known in files:
        assert tree.get_tree_entry(node_store.open_nodes(), root, known) == files[known]


@given(small_file_sets, st.lists(brain_paths, max_size=6))
def test_one_of_some_paths_is_found_if_and_only_if_one_is_there(files, others):
    node_store = MemoryNodeStore()
    root = build_tree(node_store, files)
    assert tree.has_any_path(node_store.open_nodes(), root, sorted(others)) == any(
        p in files for p in others
    )
    asked = sorted({*others, *list(files)[:1]})
    assert tree.has_any_path(node_store.open_nodes(), root, asked) == bool(files)


@given(random_seeds, st.sampled_from([0, 1, 100, 4000]))
def test_walking_yields_every_entry_in_order_from_any_start(seed, total):
    node_store = MemoryNodeStore()
    files = random_files(seed, total)
    root = build_tree(node_store, files)
    everything = [files[path] for path in sorted(files)]
    assert list(tree.walk_tree(node_store.open_nodes(), root)) == everything
    start = f"{random.Random(seed).randrange(9000):05}"
    assert list(tree.walk_tree(node_store.open_nodes(), root, start)) == [
        e for e in everything if e.path >= start
    ]
    for line in everything[:: max(1, total // 20)]:
        assert tree.get_tree_entry(node_store.open_nodes(), root, line.path) == line
        assert tree.get_tree_entry(node_store.open_nodes(), root, line.path + "x") is None


def test_one_edit_in_twenty_thousand_loads_and_makes_a_node_per_level():
    node_store = MemoryNodeStore()
    files = {f"{number:05}": file_entry(f"{number:05}") for number in range(20_000)}
    root = build_tree(node_store, files)
    assert root is not None
    height = len(tree_levels(node_store.open_nodes(), root.node))
    nodes = node_store.open_nodes()
    tree.update_tree(nodes, root, [("12345", file_entry("12345", "changed"))])
    assert len(nodes.unstored) == len(node_store.loads) == height == 3
    nodes = node_store.open_nodes()
    tree.update_tree(nodes, root, [("12345-new", file_entry("12345-new"))])
    assert len(nodes.unstored) <= 2 * height + 1


def test_entries_of_a_tree_of_any_size_are_those_it_was_built_of():
    for total in (1, 24, 162, 163, 10_000):
        node_store = MemoryNodeStore()
        lines = file_entries(f"{number:05}" for number in range(total))
        nodes = node_store.open_nodes()
        assert list(tree.walk_tree(nodes, tree.build_tree(nodes, lines))) == lines


def by_dict(before: FilesByPath, after: FilesByPath) -> list[tree.Difference]:
    return [
        tree.Difference(path, before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]


@given(small_file_sets, small_file_sets)
def test_comparing_small_trees_is_comparing_dicts(before, after):
    node_store = MemoryNodeStore()
    old, new = build_tree(node_store, before), build_tree(node_store, after)
    assert list(tree.diff_trees(node_store.open_nodes(), old, new)) == by_dict(before, after)


@given(random_seeds, st.sampled_from([1, 30, 1000, 5000]), file_counts, file_counts, file_counts)
def test_comparing_a_large_tree_with_its_successor_is_comparing_dicts(
    seed, total, removed, changed, added
):
    node_store = MemoryNodeStore()
    before = random_files(seed, total)
    edits = random_edits(seed, before, removed, changed, added)
    after = apply_edits(before, edits)
    old, new = build_tree(node_store, before), build_tree(node_store, after)
    assert list(tree.diff_trees(node_store.open_nodes(), old, new)) == by_dict(before, after)
    assert list(tree.diff_trees(node_store.open_nodes(), new, old)) == by_dict(after, before)


@given(random_seeds, st.integers(1, 5000), st.integers(1, 5000))
def test_comparing_unrelated_trees_of_any_two_sizes_is_comparing_dicts(seed, one, other):
    node_store = MemoryNodeStore()
    before, after = random_files(seed, one), random_files(seed + 1, other)
    old, new = build_tree(node_store, before), build_tree(node_store, after)
    assert list(tree.diff_trees(node_store.open_nodes(), old, new)) == by_dict(before, after)


def test_ten_changes_among_twenty_thousand_load_few_nodes():
    node_store = MemoryNodeStore()
    paths = [f"skills/{number:05}/SKILL.md" for number in range(20_000)]
    files = {path: file_entry(path) for path in paths}
    old = build_tree(node_store, files)
    for seed in range(10):
        edits = random_edits(seed, files, 3, 4, 3)
        new = edit_tree(node_store, old, edits)
        nodes = node_store.open_nodes()
        assert len(list(tree.diff_trees(nodes, old, new))) == len(edits)
        assert len(node_store.loads) < 150
        assert len(set(node_store.loads)) == len(node_store.loads)


@pytest.mark.parametrize("changes", [1, 10])
def test_the_nodes_that_a_comparison_loads_grow_with_changes_and_not_with_size(changes):
    loads = []
    for total in (2000, 20_000):
        node_store = MemoryNodeStore()
        files = {f"{number:06}": file_entry(f"{number:06}") for number in range(total)}
        old = build_tree(node_store, files)
        edits = random_edits(3, files, 0, changes, 0)
        new = edit_tree(node_store, old, edits)
        list(tree.diff_trees(node_store.open_nodes(), old, new))
        loads.append(len(node_store.loads))
    small, large = loads
    assert large <= 8 * changes + 2 and large <= small + 6 * changes


def test_equal_trees_are_compared_without_loading_a_node():
    node_store = MemoryNodeStore()
    root = build_tree(node_store, random_files(1, 3000))
    assert list(tree.diff_trees(node_store.open_nodes(), root, root)) == []
    assert node_store.loads == []


@given(small_file_sets, small_file_sets, st.sets(brain_paths))
def test_updating_a_bundle_is_building_it(before, new, gone):
    nodes = MemoryNodeStore().open_nodes()
    edits: EditsByPath = {**new, **dict.fromkeys(gone), **dict.fromkeys([*before][::3])}
    after = apply_edits(before, edits)
    old = State.build(nodes, list(before.values()))
    updated = old.edit(edits)
    assert updated == State.build(nodes, list(after.values()))
    assert list(updated.walk()) == sorted(after.values(), key=_by_section)
    found = {path: (was, now) for path, was, now in old.diff(updated)}
    assert found == {path: (was, now) for path, was, now in by_dict(before, after)}
    for path in {*before, *after}:
        assert updated.get(path) == after.get(path)


def _by_section(line: TreeEntry) -> tuple[str, str]:
    section, slash, inner = line.path.partition("/")
    return (section, inner) if slash else (".", line.path)
