"""Count the paths of git trees before git lists them, to refuse tree bombs.

Nine nested trees, each of which names the next one ten times, have a thousand million paths.
git would list them all. Here each tree is counted once, however often it is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ...errors import InvalidInput
from .repository import GitRepository

MAX_PATHS = 1_000_000
"""Files in one commit."""
MAX_TREES = 5_000_000
"""Trees in one history."""
MAX_LEVELS = 1024
"""Depth of nested folders; git itself fails at some more."""
MAX_TREE_BYTES = 64 << 20

_SMALLER_HINT = "adopt a smaller repository, or a shallow clone"

_TREE_ENTRY = {
    digits: re.compile(
        rb"(?:0?40000 [^\0]+\0(.{%d})|[0-7]+ [^\0]+\0.{%d})" % (digits // 2, digits // 2), re.DOTALL
    )
    for digits in (40, 64)
}
"""By the digits of an id: a tree entry, with the id as a group if it is a tree."""


class _Tree(NamedTuple):
    files: int
    subtrees: list[str]


class TreePathCounter:
    """Counts the paths of trees, reading each tree once."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._counts: dict[str, int] = {}

    def refuse_too_many(self, roots: Iterable[str]) -> None:
        """Raise `InvalidInput` (`too_many`) if one of the trees has more than `MAX_PATHS`."""
        uncounted_roots = [root for root in dict.fromkeys(roots) if root not in self._counts]
        trees = self._read_trees(uncounted_roots)
        for root in uncounted_roots:
            if self._count_paths(root, trees) > MAX_PATHS:
                raise InvalidInput(
                    f"a commit has more than {MAX_PATHS} files",
                    code="too_many",
                    hint=_SMALLER_HINT,
                )

    def _read_trees(self, ids: list[str]) -> dict[str, _Tree]:
        """Return the wanted trees and their subtrees, except those counted before."""
        trees: dict[str, _Tree] = {}
        for _ in range(MAX_LEVELS):
            if not ids:
                return trees
            for tree_object in self._repository.read_objects(ids, MAX_TREE_BYTES):
                entries = _TREE_ENTRY[len(tree_object.id)].findall(tree_object.content or b"")
                subtrees = [id.hex() for id in entries if id]
                trees[tree_object.id] = _Tree(len(entries) - len(subtrees), subtrees)
            if len(trees) + len(self._counts) > MAX_TREES:
                raise InvalidInput(
                    f"the history has more than {MAX_TREES} folders",
                    code="too_many",
                    hint=_SMALLER_HINT,
                )
            named = dict.fromkeys(id for tree in ids for id in trees[tree].subtrees)
            ids = [id for id in named if id not in trees and id not in self._counts]
        raise InvalidInput(
            f"a commit has folders nested more than {MAX_LEVELS} deep",
            code="too_deep",
            hint=_SMALLER_HINT,
        )

    def _count_paths(self, root: str, trees: dict[str, _Tree]) -> int:
        """Return the number of paths below a tree, at most `MAX_PATHS` + 1."""
        waiting = [root]
        while waiting:
            files, subtrees = trees[waiting[-1]] if waiting[-1] not in self._counts else (0, [])
            uncounted = [id for id in dict.fromkeys(subtrees) if id not in self._counts]
            if uncounted:
                waiting += uncounted
                continue
            tree = waiting.pop()
            if tree not in self._counts:
                total = files + sum(self._counts[id] for id in subtrees)
                self._counts[tree] = min(total, MAX_PATHS + 1)
        return self._counts[root]
