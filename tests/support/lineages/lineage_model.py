"""A brain as plain dictionaries: branches, log, and how two sides merge."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

FilesByPath = dict[str, bytes]
"""Path to content."""


class LogStep(NamedTuple):
    """An entry of the log: branch or tag to its snapshot before and after, None for none.

    `moved` are the snapshots whose files were replaced by each other, `switched` the branches
    that were left and entered, `recorded` the snapshots before and after the folder was
    recorded.
    """

    refs: dict[str, tuple[str | None, str | None]]
    moved: tuple[str, str] | None = None
    switched: tuple[str, str] | None = None
    recorded: tuple[str, str] | None = None


class MergeBase(NamedTuple):
    """What a merge starts from; nothing is said about the `unknown` paths."""

    files: FilesByPath
    unknown: frozenset[str]


class LineageModel:
    """Snapshots by id, branches, tags by ref, the folder, and what can be undone and redone."""

    def __init__(self, genesis: str, files: FilesByPath) -> None:
        self.files: dict[str, FilesByPath] = {genesis: files}
        self.parents: dict[str, tuple[str, ...]] = {genesis: ()}
        self.heads = {"main": genesis}
        self.tags: dict[str, str] = {}
        self.branch = "main"
        self.folder = dict(files)
        self.done: list[LogStep] = []
        self.undone: list[LogStep] = []

    @property
    def head(self) -> str:
        """The snapshot the current branch stands at."""
        return self.heads[self.branch]

    @property
    def head_files(self) -> FilesByPath:
        """The files of the head."""
        return self.files[self.head]

    def other_branches(self) -> list[str]:
        """Return the other branches, or the only one."""
        return sorted(self.heads.keys() - {self.branch}) or [self.branch]

    def add_snapshot(self, snapshot: str, files: FilesByPath, parents: tuple[str, ...]) -> None:
        """Know a snapshot."""
        self.files[snapshot] = files
        self.parents[snapshot] = parents

    def log_step(self, step: LogStep) -> None:
        """Log what was done, and move the branches."""
        self.done.append(step)
        self.undone.clear()
        self.move_branches(step.refs)

    def move_branches(self, refs: Mapping[str, tuple[str | None, str | None]]) -> None:
        """Move branches, and the refs of tags, to where `refs` lead."""
        for name, (_, new) in refs.items():
            known = self.tags if name.startswith("tags/") else self.heads
            if new is None:
                del known[name]
            else:
                known[name] = new

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

    def merge_bases(self, a: str, b: str) -> list[str]:
        """Return the best common ancestors, sorted."""
        common = self.ancestors(a) & self.ancestors(b)
        beaten = {old for new in common for old in self.ancestors(new) - {new}}
        return sorted(common - beaten)

    def merge_base_files(self, bases: Iterable[str]) -> MergeBase:
        """Return the merge of best common ancestors, as far as it is plain."""
        first, *rest = bases
        files, unknown = dict(self.files[first]), frozenset[str]()
        for other in rest:
            below = self.merge_base_files(self.merge_bases(first, other))
            merged, contested = merge_files(below, files, self.files[other])
            files, unknown = merged, unknown | below.unknown | contested
        return MergeBase(files, unknown)


def merge_files(
    base: MergeBase, ours: FilesByPath, theirs: FilesByPath
) -> tuple[FilesByPath, frozenset[str]]:
    """Return what a merge gives where only one side changed a path, and the other paths."""
    out: FilesByPath = {}
    contested = set()
    for path in base.files.keys() | ours.keys() | theirs.keys():
        was, a, b = (side.get(path) for side in (base.files, ours, theirs))
        merged = a
        if a != b and (path in base.unknown or was not in (a, b)):
            contested.add(path)
        elif a == was:
            merged = b
        if merged is not None:
            out[path] = merged
    return out, frozenset(contested)


def differing_paths(a: FilesByPath, b: FilesByPath) -> set[str]:
    """Return the paths at which two sets of files differ."""
    return {path for path in a.keys() | b.keys() if a.get(path) != b.get(path)}


def replace_paths(files: FilesByPath, source: FilesByPath, paths: Iterable[str]) -> FilesByPath:
    """Return `files` with what `source` has at some paths, or has not."""
    out = dict(files)
    for path in paths:
        out.pop(path, None)
        if path in source:
            out[path] = source[path]
    return out
