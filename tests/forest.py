"""Trees of any size for tests, beside the dicts they must agree with."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from brain.objects import tree
from brain.objects.entry import Entry
from brain.objects.nodes import Nodes
from brain.objects.tree import Root
from tests.shelf import Shelf, entry
from tests.strategies import brain_paths

Files = dict[str, Entry]
Edits = dict[str, Entry | None]


def of(shelf: Shelf, files: Files) -> Root | None:
    """Build the tree of `files` from nothing and store it."""
    nodes = shelf.nodes()
    root = tree.build(nodes, [files[path] for path in sorted(files)])
    shelf.settle(nodes)
    return root


def edited(
    shelf: Shelf, root: Root | None, edits: Edits, nodes: Nodes | None = None
) -> Root | None:
    """Apply `edits` and store what is new; with nothing in memory, unless `nodes` are given."""
    nodes = nodes or shelf.nodes()
    out = tree.update(nodes, root, sorted(edits.items()))
    shelf.settle(nodes)
    return out


def applied(files: Files, edits: Edits) -> Files:
    """Return `files` with `edits` applied, by a dict."""
    after = {**files, **edits}
    return {path: line for path, line in after.items() if line is not None}


def some_files(seed: int, total: int) -> Files:
    """Return `total` files; close seeds share many of them."""
    chooser = random.Random(seed)
    names = [f"{chooser.randrange(total * 2):05}.md" for _ in range(total)]
    return {name: entry(name) for name in names}


def some_edits(seed: int, files: Files, removed: int, changed: int, added: int) -> Edits:
    """Return edits of `files` chosen by `seed`: so many removed, changed and added."""
    chooser = random.Random(seed)
    known = sorted(files)
    edits: Edits = {}
    for path in chooser.sample(known, min(removed, len(known))):
        edits[path] = None
    for path in chooser.sample(known, min(changed, len(known))):
        edits[path] = entry(path, "changed")
    for _ in range(added):
        path = f"{chooser.randrange(100_000):05}-{chooser.random()}.md"
        edits[path] = entry(path)
    return edits


few = st.dictionaries(brain_paths, st.sampled_from(["", "1", "2"]), max_size=60).map(
    lambda chosen: {path: entry(path, content) for path, content in chosen.items()}
)
seeds = st.integers(0, 2**32)
counts = st.sampled_from([0, 1, 2, 5, 30, 200, 1000])
