"""Comparing trees against comparing dicts, and what it costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.objects import bundle as bundles
from brain.objects import tree_diff
from brain.objects.tree_entry import TreeEntry
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
from tests.support.node_store import MemoryNodeStore, file_entry


def by_dict(before: FilesByPath, after: FilesByPath) -> list[tree_diff.Difference]:
    return [
        tree_diff.Difference(path, before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]


@given(small_file_sets, small_file_sets)
def test_comparing_small_trees_is_comparing_dicts(before, after):
    node_store = MemoryNodeStore()
    old, new = build_tree(node_store, before), build_tree(node_store, after)
    assert list(tree_diff.diff_trees(node_store.open_nodes(), old, new)) == by_dict(before, after)


@given(random_seeds, st.sampled_from([1, 30, 1000, 5000]), file_counts, file_counts, file_counts)
def test_comparing_a_large_tree_with_its_successor_is_comparing_dicts(
    seed, total, removed, changed, added
):
    node_store = MemoryNodeStore()
    before = random_files(seed, total)
    edits = random_edits(seed, before, removed, changed, added)
    after = apply_edits(before, edits)
    old, new = build_tree(node_store, before), build_tree(node_store, after)
    assert list(tree_diff.diff_trees(node_store.open_nodes(), old, new)) == by_dict(before, after)
    assert list(tree_diff.diff_trees(node_store.open_nodes(), new, old)) == by_dict(after, before)


@given(random_seeds, st.integers(1, 5000), st.integers(1, 5000))
def test_comparing_unrelated_trees_of_any_two_sizes_is_comparing_dicts(seed, one, other):
    node_store = MemoryNodeStore()
    before, after = random_files(seed, one), random_files(seed + 1, other)
    old, new = build_tree(node_store, before), build_tree(node_store, after)
    assert list(tree_diff.diff_trees(node_store.open_nodes(), old, new)) == by_dict(before, after)


def test_ten_changes_among_twenty_thousand_load_few_nodes():
    node_store = MemoryNodeStore()
    paths = [f"skills/{number:05}/SKILL.md" for number in range(20_000)]
    files = {path: file_entry(path) for path in paths}
    old = build_tree(node_store, files)
    for seed in range(10):
        edits = random_edits(seed, files, 3, 4, 3)
        new = edit_tree(node_store, old, edits)
        nodes = node_store.open_nodes()
        assert len(list(tree_diff.diff_trees(nodes, old, new))) == len(edits)
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
        list(tree_diff.diff_trees(node_store.open_nodes(), old, new))
        loads.append(len(node_store.loads))
    small, large = loads
    assert large <= 8 * changes + 2 and large <= small + 6 * changes


def test_equal_trees_are_compared_without_loading_a_node():
    node_store = MemoryNodeStore()
    root = build_tree(node_store, random_files(1, 3000))
    assert list(tree_diff.diff_trees(node_store.open_nodes(), root, root)) == []
    assert node_store.loads == []


@given(small_file_sets, small_file_sets, st.sets(brain_paths))
def test_updating_a_bundle_is_building_it(before, new, gone):
    nodes = MemoryNodeStore().open_nodes()
    edits: EditsByPath = {**new, **dict.fromkeys(gone), **dict.fromkeys([*before][::3])}
    after = apply_edits(before, edits)
    old = bundles.build_bundle(nodes, list(before.values()))
    updated = bundles.update_bundle(nodes, old, edits)
    assert updated == bundles.build_bundle(nodes, list(after.values()))
    assert list(bundles.walk_entries(nodes, updated)) == sorted(after.values(), key=_by_section)
    found = {path: (was, now) for path, was, now in bundles.diff_bundles(nodes, old, updated)}
    assert found == {path: (was, now) for path, was, now in by_dict(before, after)}
    for path in {*before, *after}:
        assert bundles.get_entry(nodes, updated, path) == after.get(path)


def _by_section(line: TreeEntry) -> tuple[str, str]:
    section, slash, inner = line.path.partition("/")
    return (section, inner) if slash else (".", line.path)
