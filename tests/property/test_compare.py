"""Comparing trees against comparing dicts, and what it costs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.objects import bundle as bundles
from brain.objects import compare
from brain.objects.entry import Entry
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
from tests.shelf import Shelf, entry
from tests.strategies import brain_paths


def by_dict(before: Files, after: Files) -> list[compare.Difference]:
    return [
        compare.Difference(path, before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]


@given(few, few)
def test_comparing_small_trees_is_comparing_dicts(before: Files, after: Files) -> None:
    shelf = Shelf()
    old, new = of(shelf, before), of(shelf, after)
    assert list(compare.compare(shelf.nodes(), old, new)) == by_dict(before, after)


@settings(max_examples=60)
@given(seeds, st.sampled_from([1, 30, 1000, 5000]), counts, counts, counts)
def test_comparing_a_large_tree_with_its_successor_is_comparing_dicts(
    seed: int, total: int, removed: int, changed: int, added: int
) -> None:
    shelf = Shelf()
    before = some_files(seed, total)
    edits = some_edits(seed, before, removed, changed, added)
    after = applied(before, edits)
    old, new = of(shelf, before), of(shelf, after)
    assert list(compare.compare(shelf.nodes(), old, new)) == by_dict(before, after)
    assert list(compare.compare(shelf.nodes(), new, old)) == by_dict(after, before)


@settings(max_examples=20)
@given(seeds, st.integers(1, 5000), st.integers(1, 5000))
def test_comparing_unrelated_trees_of_any_two_sizes_is_comparing_dicts(
    seed: int, one: int, other: int
) -> None:
    shelf = Shelf()
    before, after = some_files(seed, one), some_files(seed + 1, other)
    old, new = of(shelf, before), of(shelf, after)
    assert list(compare.compare(shelf.nodes(), old, new)) == by_dict(before, after)


def test_ten_changes_among_twenty_thousand_load_few_nodes() -> None:
    shelf = Shelf()
    paths = [f"skills/{number:05}/SKILL.md" for number in range(20_000)]
    files = {path: entry(path) for path in paths}
    old = of(shelf, files)
    for seed in range(10):
        edits = some_edits(seed, files, 3, 4, 3)
        new = edited(shelf, old, edits)
        nodes = shelf.nodes()
        assert len(list(compare.compare(nodes, old, new))) == len(edits)
        assert len(shelf.loads) < 150
        assert len(set(shelf.loads)) == len(shelf.loads)


@pytest.mark.parametrize("changes", [1, 10])
def test_the_nodes_that_a_comparison_loads_grow_with_changes_and_not_with_size(
    changes: int,
) -> None:
    loads = []
    for total in (2000, 20_000):
        shelf = Shelf()
        files = {f"{number:06}": entry(f"{number:06}") for number in range(total)}
        old = of(shelf, files)
        edits = some_edits(3, files, 0, changes, 0)
        new = edited(shelf, old, edits)
        list(compare.compare(shelf.nodes(), old, new))
        loads.append(len(shelf.loads))
    small, large = loads
    assert large <= 8 * changes + 2 and large <= small + 6 * changes


def test_equal_trees_are_compared_without_loading_a_node() -> None:
    shelf = Shelf()
    root = of(shelf, some_files(1, 3000))
    assert list(compare.compare(shelf.nodes(), root, root)) == []
    assert shelf.loads == []


@given(few, few, st.sets(brain_paths))
def test_updating_a_bundle_is_building_it(before: Files, new: Files, gone: set[str]) -> None:
    nodes = Shelf().nodes()
    edits: Edits = {**new, **dict.fromkeys(gone), **dict.fromkeys([*before][::3])}
    after = applied(before, edits)
    old = bundles.build(nodes, list(before.values()))
    updated = bundles.update(nodes, old, edits)
    assert updated == bundles.build(nodes, list(after.values()))
    assert list(bundles.walk(nodes, updated)) == sorted(after.values(), key=_by_section)
    found = {path: (was, now) for path, was, now in bundles.compare(nodes, old, updated)}
    assert found == {path: (was, now) for path, was, now in by_dict(before, after)}
    for path in {*before, *after}:
        assert bundles.get(nodes, updated, path) == after.get(path)


def _by_section(line: Entry) -> tuple[str, str]:
    section, slash, inner = line.path.partition("/")
    return (section, inner) if slash else (".", line.path)
