"""Three-way merge of bundles, path by path, at a cost that grows with the changes alone.

A path that one side changed is taken from there. A file that one side moved
without changing it moves with what the other side wrote into it. What is left is
contested: both sides changed a path, differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import Bundle
from ..objects.node_cache import NodeCache
from ..objects.tree_entry import LINK, TreeEntry

PathEdits = dict[str, TreeEntry | None]
PathChanges = Mapping[str, tuple[TreeEntry | None, TreeEntry | None]]
"""Path to the entries before and after."""

_UNCHANGED = (None, None)


class EditedBundle(NamedTuple):
    """A bundle with edits on top, which is how a merge of bases is held without being stored."""

    bundle: Bundle
    edits: Mapping[str, TreeEntry | None]


class PathConflict(NamedTuple):
    """A path and its entries in the base, on our side and on theirs; None is "not there"."""

    path: str
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None


class TreeMerge(NamedTuple):
    """What is to be done to our side, and what has to be decided first.

    `collisions` are pairs of paths, one from each side, that no folder can hold
    together: a file and a folder of one name, or twins by case or Unicode form.
    `added` are the paths that one side alone added.
    """

    edits: PathEdits
    conflicts: list[PathConflict]
    collisions: list[tuple[str, str]]
    added: list[str]


def merge_trees(
    nodes: NodeCache, base: EditedBundle, ours: EditedBundle, theirs: EditedBundle
) -> TreeMerge:
    """Merge `theirs` into `ours`."""
    our_changes, other = _compare_states(nodes, base, ours), _compare_states(nodes, base, theirs)
    edits, done = _follow_moves(our_changes, other)
    conflicts: list[PathConflict] = []
    for path in sorted(other.keys() - done):
        before, after = other[path]
        if path not in our_changes:
            edits[path] = after
        elif our_changes[path][1] != after:
            conflicts.append(PathConflict(path, before, our_changes[path][1], after))
    our_additions, their_additions = _added_paths(our_changes), _added_paths(other)
    return TreeMerge(
        edits,
        conflicts,
        _find_collisions(our_additions, their_additions),
        sorted({*our_additions} ^ {*their_additions}),
    )


def _compare_states(
    nodes: NodeCache, before: EditedBundle, after: EditedBundle
) -> dict[str, tuple[TreeEntry | None, TreeEntry | None]]:
    found = {
        path: (was, now)
        for path, was, now in bundles.diff_bundles(nodes, before.bundle, after.bundle)
    }
    for path in {*before.edits, *after.edits}:
        was, now = _entry_at(nodes, before, path), _entry_at(nodes, after, path)
        found[path] = (was, now)
        if was == now:
            del found[path]
    return found


def _entry_at(nodes: NodeCache, state: EditedBundle, path: str) -> TreeEntry | None:
    if path in state.edits:
        return state.edits[path]
    return bundles.get_entry(nodes, state.bundle, path)


def _find_moves(changes: PathChanges) -> dict[str, str]:
    """Return old path to new path of files that moved unchanged, where that is plain."""
    gone: dict[bytes, list[str]] = {}
    come: dict[bytes, list[str]] = {}
    for path, (was, now) in changes.items():
        if was and not now and was.kind != LINK and was.size:
            gone.setdefault(was.blob, []).append(path)
        elif now and not was and now.kind != LINK:
            come.setdefault(now.blob, []).append(path)
    return {
        olds[0]: come[blob][0]
        for blob, olds in gone.items()
        if len(olds) == 1 and len(come.get(blob, ())) == 1
    }


def _follow_moves(our_changes: PathChanges, other: PathChanges) -> tuple[PathEdits, set[str]]:
    """Return what follows a move by the other side, and the paths that are settled by it."""
    edits: PathEdits = {}
    done: set[str] = set()
    for path, target in _find_moves(other).items():
        written = our_changes.get(path, _UNCHANGED)[1]
        if written is not None and target not in our_changes:
            edits[path], edits[target] = None, written._replace(path=target)
            done |= {path, target}
    for path, target in _find_moves(our_changes).items():
        written = other.get(path, _UNCHANGED)[1]
        if written is not None and target not in other:
            edits[target] = written._replace(path=target)
            done.add(path)
    return edits, done


def _added_paths(changes: PathChanges) -> list[str]:
    return [path for path, (was, now) in changes.items() if now is not None and was is None]


def _find_collisions(ours: Iterable[str], theirs: Iterable[str]) -> list[tuple[str, str]]:
    files: dict[str, str] = {}
    folders: dict[str, tuple[str, str]] = {}
    for path in ours:
        files[paths.fold_name(path)] = path
        folders |= {paths.fold_name(above): (above, path) for above in _parent_folders(path)}
    out = set()
    for path in theirs:
        folded = paths.fold_name(path)
        if files.get(folded, path) != path:
            out.add((files[folded], path))
        if folded in folders:
            out.add((folders[folded][1], path))
        for above in _parent_folders(path):
            spelled, other = folders.get(paths.fold_name(above), (above, ""))
            if spelled != above:
                out.add((other, path))
            if paths.fold_name(above) in files:
                out.add((files[paths.fold_name(above)], path))
    return sorted(out)


def _parent_folders(path: str) -> list[str]:
    """Return the folders that hold `path`."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]
