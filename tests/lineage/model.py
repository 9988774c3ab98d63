"""A brain as plain dictionaries: what its branches hold, its log, and how two sides merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

Files = dict[str, bytes]
"""Path to content."""


class Step(NamedTuple):
    """An entry of the log: branch to its head before and after, None where there is none.

    `moved` are the snapshots whose files were replaced by each other, `left` the branch
    that was left and on which the folder was recorded, "" for none.
    """

    refs: dict[str, tuple[str | None, str | None]]
    moved: tuple[str, str] | None = None
    left: str = ""


class Base(NamedTuple):
    """What a merge starts from; nothing is said about the `unknown` paths."""

    files: Files
    unknown: frozenset[str]


class Model:
    """Snapshots by id, branches, the folder, and what can be undone and redone."""

    def __init__(self, genesis: str, files: Files) -> None:
        self.files: dict[str, Files] = {genesis: files}
        self.parents: dict[str, tuple[str, ...]] = {genesis: ()}
        self.heads = {"main": genesis}
        self.branch = "main"
        self.folder = dict(files)
        self.done: list[Step] = []
        self.undone: list[Step] = []

    @property
    def head(self) -> str:
        """The snapshot the current branch stands at."""
        return self.heads[self.branch]

    @property
    def recorded(self) -> Files:
        """The files of the head."""
        return self.files[self.head]

    def others(self) -> list[str]:
        """Return the other branches, or the only one."""
        return sorted(self.heads.keys() - {self.branch}) or [self.branch]

    def record(self, snapshot: str, files: Files, parents: tuple[str, ...]) -> None:
        """Know a snapshot."""
        self.files[snapshot] = files
        self.parents[snapshot] = parents

    def log(self, step: Step) -> None:
        """Log what was done, and move the branches."""
        self.done.append(step)
        self.undone.clear()
        self.move(step.refs)

    def move(self, refs: Mapping[str, tuple[str | None, str | None]]) -> None:
        """Move branches to where `refs` lead."""
        for name, (_, new) in refs.items():
            if new is None:
                del self.heads[name]
            else:
                self.heads[name] = new

    def ancestors(self, start: str) -> set[str]:
        """Return `start` and all its ancestors."""
        out: set[str] = set()
        waiting = [start]
        while waiting:
            here = waiting.pop()
            if here not in out:
                out.add(here)
                waiting += self.parents[here]
        return out

    def bases(self, a: str, b: str) -> list[str]:
        """Return the best common ancestors, sorted."""
        common = self.ancestors(a) & self.ancestors(b)
        beaten = {old for new in common for old in self.ancestors(new) - {new}}
        return sorted(common - beaten)

    def base(self, bases: Iterable[str]) -> Base:
        """Return the merge of best common ancestors, as far as it is plain."""
        first, *rest = bases
        files, unknown = dict(self.files[first]), frozenset[str]()
        for other in rest:
            below = self.base(self.bases(first, other))
            merged, contested = merge(below, files, self.files[other])
            files, unknown = merged, unknown | below.unknown | contested
        return Base(files, unknown)


def merge(base: Base, ours: Files, theirs: Files) -> tuple[Files, frozenset[str]]:
    """Return what a merge gives where only one side changed a path, and the other paths."""
    out: Files = {}
    contested = set()
    for path in base.files.keys() | ours.keys() | theirs.keys():
        was, a, b = (side.get(path) for side in (base.files, ours, theirs))
        kept = a
        if a != b and (path in base.unknown or was not in (a, b)):
            contested.add(path)
        elif a == was:
            kept = b
        if kept is not None:
            out[path] = kept
    return out, frozenset(contested)


def differing(a: Files, b: Files) -> set[str]:
    """Return the paths at which two sets of files differ."""
    return {path for path in a.keys() | b.keys() if a.get(path) != b.get(path)}


def replaced(files: Files, source: Files, paths: Iterable[str]) -> Files:
    """Return `files` with what `source` has at some paths, or has not."""
    out = dict(files)
    for path in paths:
        out.pop(path, None)
        if path in source:
            out[path] = source[path]
    return out
