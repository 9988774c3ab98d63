"""Scan named files and folders only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..results import Notice
from .dirfd import FolderHandles, RootPath, open_root, unreadable_error
from .ignore_rules import IgnoreRules
from .mounts import check_no_mounts
from .walk import CandidateFile, FolderWalk


class PathScan(NamedTuple):
    """The files found, sorted by path, and what was left out with a notice."""

    files: list[CandidateFile]
    notices: list[Notice]


def scan_named_paths(
    root: RootPath, rules: IgnoreRules, wanted: Iterable[str], tick: Callable[[int], None]
) -> PathScan:
    """Find the files at or below the paths `wanted`, but for those that are left out.

    That nothing is there is no error. Reads no content. Raises `InvalidInput`: see `Walk`.
    """
    with open_root(root) as root_fd:
        check_no_mounts(root_fd, rules)
        walk = FolderWalk(root_fd, rules, 0, tick)
        folders = FolderHandles(root_fd)
        try:
            for path in wanted:
                if not _is_below_ignored_folder(rules, path):
                    _visit(folders, path, walk)
            walk.finish_walk()
        finally:
            folders.close()
            walk.close()
    return PathScan(sorted(walk.changed.values()), sorted(walk.notices))


def is_path_ignored(root: RootPath, path: str) -> bool:
    """Tell whether a file at `path` would be left out. Raises `InvalidInput`."""
    rules = IgnoreRules.load(root)
    name = path.rpartition("/")[2]
    return _is_below_ignored_folder(rules, path) or rules.is_ignored(path, name, False)


def _is_below_ignored_folder(rules: IgnoreRules, path: str) -> bool:
    """Tell whether a folder above `path` is left out, and with it all that lies there."""
    parts = path.split("/")[:-1]
    above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(rules.is_ignored(*pair, True) for pair in zip(above, parts, strict=True))


def _visit(folders: FolderHandles, path: str, walk: FolderWalk) -> None:
    folder, _, name = path.rpartition("/")
    try:
        st = os.lstat(name, dir_fd=folders.open(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable_error(path, error) from error
    walk.visit_path(path, st)
