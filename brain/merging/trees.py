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
from ..objects.entry import LINK, Entry
from ..objects.nodes import Nodes

Edits = dict[str, Entry | None]
Changes = Mapping[str, tuple[Entry | None, Entry | None]]
"""Path to the entries before and after."""

_UNTOUCHED = (None, None)


class State(NamedTuple):
    """A bundle with edits on top, which is how a merge of bases is held without being stored."""

    bundle: Bundle
    edits: Mapping[str, Entry | None]


class Contest(NamedTuple):
    """A path and its entries in the base, on our side and on theirs; None is "not there"."""

    path: str
    base: Entry | None
    ours: Entry | None
    theirs: Entry | None


class Merged(NamedTuple):
    """What is to be done to our side, and what has to be decided first.

    `collisions` are pairs of paths, one from each side, that no folder can hold
    together: a file and a folder of one name, or twins by case or Unicode form.
    `added` are the paths that one side alone added.
    """

    edits: Edits
    contests: list[Contest]
    collisions: list[tuple[str, str]]
    added: list[str]


def merge(nodes: Nodes, base: State, ours: State, theirs: State) -> Merged:
    """Merge `theirs` into `ours`."""
    mine, other = _changes(nodes, base, ours), _changes(nodes, base, theirs)
    edits, done = _carried(mine, other)
    contests: list[Contest] = []
    for path in sorted(other.keys() - done):
        before, after = other[path]
        if path not in mine:
            edits[path] = after
        elif mine[path][1] != after:
            contests.append(Contest(path, before, mine[path][1], after))
    came, comes = _added(mine), _added(other)
    return Merged(edits, contests, _collisions(came, comes), sorted({*came} ^ {*comes}))


def _changes(
    nodes: Nodes, before: State, after: State
) -> dict[str, tuple[Entry | None, Entry | None]]:
    found = {
        path: (was, now) for path, was, now in bundles.compare(nodes, before.bundle, after.bundle)
    }
    for path in {*before.edits, *after.edits}:
        was, now = _entry(nodes, before, path), _entry(nodes, after, path)
        found[path] = (was, now)
        if was == now:
            del found[path]
    return found


def _entry(nodes: Nodes, state: State, path: str) -> Entry | None:
    if path in state.edits:
        return state.edits[path]
    return bundles.get(nodes, state.bundle, path)


def _moves(changes: Changes) -> dict[str, str]:
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


def _carried(mine: Changes, other: Changes) -> tuple[Edits, set[str]]:
    """Return what follows a move by the other side, and the paths that are settled by it."""
    edits: Edits = {}
    done: set[str] = set()
    for path, target in _moves(other).items():
        written = mine.get(path, _UNTOUCHED)[1]
        if written is not None and target not in mine:
            edits[path], edits[target] = None, written._replace(path=target)
            done |= {path, target}
    for path, target in _moves(mine).items():
        written = other.get(path, _UNTOUCHED)[1]
        if written is not None and target not in other:
            edits[target] = written._replace(path=target)
            done.add(path)
    return edits, done


def _added(changes: Changes) -> list[str]:
    return [path for path, (was, now) in changes.items() if now is not None and was is None]


def _collisions(ours: Iterable[str], theirs: Iterable[str]) -> list[tuple[str, str]]:
    files: dict[str, str] = {}
    folders: dict[str, tuple[str, str]] = {}
    for path in ours:
        files[paths.fold(path)] = path
        folders |= {paths.fold(above): (above, path) for above in _above(path)}
    out = set()
    for path in theirs:
        folded = paths.fold(path)
        if files.get(folded, path) != path:
            out.add((files[folded], path))
        if folded in folders:
            out.add((folders[folded][1], path))
        for above in _above(path):
            spelled, other = folders.get(paths.fold(above), (above, ""))
            if spelled != above:
                out.add((other, path))
            if paths.fold(above) in files:
                out.add((files[paths.fold(above)], path))
    return sorted(out)


def _above(path: str) -> list[str]:
    """Return the folders that hold `path`."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]
