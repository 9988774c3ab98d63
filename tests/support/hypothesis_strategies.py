"""Hypothesis strategies for values, paths and trees, and trees checked against dicts."""

import functools
import random
from collections.abc import Sequence
from itertools import permutations
from math import lcm, perm
from typing import Any, TypeVar

from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.objects import paths, tree
from brain.objects.node_cache import NodeCache
from brain.objects.tree import TreeRoot
from brain.objects.tree_node import TreeEntry
from tests.support.node_store import MemoryNodeStore, file_entry

Value = TypeVar("Value")

_MAX_ENUMERATED = 200
"""Choices that one draw is made among."""


@functools.cache
def ordered_subsets(
    values: Sequence[Value], *, min_size: int = 0, max_size: int
) -> st.SearchStrategy[Sequence[Value]]:
    """Draw some of a few values in any order, each size as likely as the others.

    The same as `st.lists(st.sampled_from(values), unique=True)`, which draws twice and more for
    each value, in a single draw: for strategies that an example draws from many times.
    """
    sizes = range(min_size, min(max_size, len(values)) + 1)
    if sum(perm(len(values), size) for size in sizes) > _MAX_ENUMERATED:
        return st.lists(st.sampled_from(values), min_size=min_size, max_size=max_size, unique=True)
    by_size = [list(permutations(values, size)) for size in sizes]
    common = lcm(*map(len, by_size))
    return st.sampled_from(
        [chosen for some in by_size for chosen in some for _ in range(common // len(some))]
    )


encodable_numbers = st.one_of(
    st.integers(0, 300), st.integers(0, 2**64 - 1), st.sampled_from([2**16 - 1, 2**16, 2**32])
)
encodable_texts = st.one_of(st.text(max_size=40), st.sampled_from(["x" * 255, "x" * 256]))

encodable_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(encodable_numbers, encodable_texts, st.binary(max_size=40)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=20).map(tuple),
        st.dictionaries(encodable_texts, inner, max_size=20).map(lambda d: dict(sorted(d.items()))),
    ),
    max_leaves=60,
)
"""Any value an object may hold, arrays as tuples, maps in the order of their keys."""

_path_parts = st.one_of(
    st.sampled_from(["a", "b", "A", "a-", "a.", "z", "é", "ﬀ", "🧠"]),
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\:"),
        min_size=1,
        max_size=12,
    ),
).filter(lambda part: part not in (".", ".."))


def _is_brain_path(text: str) -> bool:
    try:
        return paths.check_path(text) == text
    except InvalidInput:
        return False


brain_paths = st.lists(_path_parts, min_size=1, max_size=4).map("/".join).filter(_is_brain_path)
"""Paths that a brain may hold."""

FilesByPath = dict[str, TreeEntry]
EditsByPath = dict[str, TreeEntry | None]


def build_tree(shelf: MemoryNodeStore, files: FilesByPath) -> TreeRoot | None:
    """Build the tree of `files` from nothing and store it."""
    nodes = shelf.open_nodes()
    root = tree.build_tree(nodes, [files[path] for path in sorted(files)])
    shelf.store_new_nodes(nodes)
    return root


def edit_tree(
    shelf: MemoryNodeStore,
    root: TreeRoot | None,
    edits: EditsByPath,
    nodes: NodeCache | None = None,
) -> TreeRoot | None:
    """Apply `edits` and store what is new; with nothing in memory, unless `nodes` are given."""
    nodes = nodes or shelf.open_nodes()
    out = tree.update_tree(nodes, root, sorted(edits.items()))
    shelf.store_new_nodes(nodes)
    return out


def apply_edits(files: FilesByPath, edits: EditsByPath) -> FilesByPath:
    """Return `files` with `edits` applied, by a dict."""
    after = {**files, **edits}
    return {path: line for path, line in after.items() if line is not None}


def random_files(seed: int, total: int) -> FilesByPath:
    """Return `total` files; close seeds share many of them."""
    chooser = random.Random(seed)
    names = [f"{chooser.randrange(total * 2):05}.md" for _ in range(total)]
    return {name: file_entry(name) for name in names}


def random_edits(
    seed: int, files: FilesByPath, removed: int, changed: int, added: int
) -> EditsByPath:
    """Return edits of `files` chosen by `seed`: so many removed, changed and added."""
    chooser = random.Random(seed)
    known = sorted(files)
    edits: EditsByPath = {}
    for path in chooser.sample(known, min(removed, len(known))):
        edits[path] = None
    for path in chooser.sample(known, min(changed, len(known))):
        edits[path] = file_entry(path, "changed")
    for _ in range(added):
        path = f"{chooser.randrange(100_000):05}-{chooser.random()}.md"
        edits[path] = file_entry(path)
    return edits


small_file_sets = st.dictionaries(brain_paths, st.sampled_from(["", "1", "2"]), max_size=60).map(
    lambda chosen: {path: file_entry(path, content) for path, content in chosen.items()}
)
random_seeds = st.integers(0, 2**32)
file_counts = st.sampled_from([0, 1, 2, 5, 30, 200, 1000])
