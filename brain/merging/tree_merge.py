"""Three-way merge of bundles, path by path; the cost grows with the changes only.

A path that one side changed is taken from that side. If one side moved a file unchanged
and the other edited it, the edit moves along. A path that both sides changed differently
is a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import Bundle, Edits
from ..objects.node_cache import NodeCache
from ..objects.tree_entry import LINK, TreeEntry

PathChanges = Mapping[str, tuple[TreeEntry | None, TreeEntry | None]]
"""The entries of each changed path, before and after."""

_UNCHANGED = (None, None)


class PathConflict(NamedTuple):
    """A path with its entries in the base, on our side and on theirs; None for an absent one."""

    path: str
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None


class TreeMerge(NamedTuple):
    """The edits to our side, and the conflicts to settle first.

    `collisions` are pairs of paths, one from each side, that no folder can hold together:
    a file and a folder of one name, or names that differ only by case or Unicode form.
    `added` are the paths that exactly one side added.
    """

    edits: Edits
    conflicts: list[PathConflict]
    collisions: list[tuple[str, str]]
    added: list[str]


def merge_trees(nodes: NodeCache, base: Bundle, ours: Bundle, theirs: Bundle) -> TreeMerge:
    """Merge `theirs` into `ours`."""
    our_changes, their_changes = (
        {path: (was, now) for path, was, now in bundles.diff_bundles(nodes, base, side)}
        for side in (ours, theirs)
    )
    edits, settled = _follow_moves(our_changes, their_changes)
    conflicts: list[PathConflict] = []
    for path in sorted(their_changes.keys() - settled):
        before, after = their_changes[path]
        if path not in our_changes:
            edits[path] = after
        elif our_changes[path][1] != after:
            conflicts.append(PathConflict(path, before, our_changes[path][1], after))
    our_additions, their_additions = _added_paths(our_changes), _added_paths(their_changes)
    return TreeMerge(
        edits,
        conflicts,
        _find_collisions(our_additions, their_additions),
        sorted({*our_additions} ^ {*their_additions}),
    )


def _find_moves(changes: PathChanges) -> dict[str, str]:
    """Map old to new path of files that moved unchanged, if their content is unambiguous."""
    removed: dict[bytes, list[str]] = {}
    added: dict[bytes, list[str]] = {}
    for path, (was, now) in changes.items():
        if was and not now and was.kind != LINK and was.size:
            removed.setdefault(was.blob, []).append(path)
        elif now and not was and now.kind != LINK:
            added.setdefault(now.blob, []).append(path)
    return {
        old_paths[0]: added[blob][0]
        for blob, old_paths in removed.items()
        if len(old_paths) == 1 and len(added.get(blob, ())) == 1
    }


def _follow_moves(our_changes: PathChanges, their_changes: PathChanges) -> tuple[Edits, set[str]]:
    """Return the edits that carry changes along with moves, and the paths they settle."""
    edits: Edits = {}
    settled: set[str] = set()
    for path, target in _find_moves(their_changes).items():
        written = our_changes.get(path, _UNCHANGED)[1]
        if written is not None and target not in our_changes:
            edits[path], edits[target] = None, written._replace(path=target)
            settled |= {path, target}
    for path, target in _find_moves(our_changes).items():
        written = their_changes.get(path, _UNCHANGED)[1]
        if written is not None and target not in their_changes:
            edits[target] = written._replace(path=target)
            settled.add(path)
    return edits, settled


def _added_paths(changes: PathChanges) -> list[str]:
    return [path for path, (was, now) in changes.items() if now is not None and was is None]


def _find_collisions(ours: Iterable[str], theirs: Iterable[str]) -> list[tuple[str, str]]:
    files: dict[str, str] = {}
    folders: dict[str, tuple[str, str]] = {}
    for path in ours:
        files[paths.fold_name(path)] = path
        folders |= {paths.fold_name(folder): (folder, path) for folder in _parent_folders(path)}
    collisions = set()
    for path in theirs:
        folded = paths.fold_name(path)
        if files.get(folded, path) != path:
            collisions.add((files[folded], path))
        if folded in folders:
            collisions.add((folders[folded][1], path))
        for folder in _parent_folders(path):
            spelling, other = folders.get(paths.fold_name(folder), (folder, ""))
            if spelling != folder:
                collisions.add((other, path))
            if paths.fold_name(folder) in files:
                collisions.add((files[paths.fold_name(folder)], path))
    return sorted(collisions)


def _parent_folders(path: str) -> list[str]:
    """Return the folders above `path`, the topmost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
