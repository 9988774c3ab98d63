"""Scan given files and folders only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..errors import InvalidInput
from ..results import Notice
from .dirfd import FolderHandles, RootPath, open_folders, unreadable_error
from .ignore_rules import IgnoreRules
from .mounts import check_no_mounts, is_in_ignored_folder
from .walk import CandidateFile, FolderWalk


class PathScan(NamedTuple):
    """The files, sorted by path, the notices about excluded ones, and `skipped` as of a scan."""

    files: list[CandidateFile]
    notices: list[Notice]
    skipped: dict[str, InvalidInput]


def scan_named_paths(
    root: RootPath, rules: IgnoreRules, wanted: Iterable[str], tick: Callable[[int], None]
) -> PathScan:
    """Find the files at or below the paths `wanted`, except excluded ones; reads no content.

    Missing paths are skipped. Raises `InvalidInput` as `FolderWalk`.
    """
    with open_folders(root) as folders:
        check_no_mounts(folders.root_fd, rules)
        walk = FolderWalk(folders.root_fd, rules, 0, tick)
        try:
            for path in wanted:
                if not is_in_ignored_folder(rules, path):
                    _visit(folders, path, walk)
            walk.finish_walk()
        finally:
            walk.close()
    return PathScan(sorted(walk.changed.values()), sorted(walk.notices), walk.skipped)


def is_path_ignored(root: RootPath, path: str) -> bool:
    """Tell whether a file at `path` is excluded. Raises `InvalidInput`."""
    rules = IgnoreRules.load(root)
    name = path.rpartition("/")[2]
    return is_in_ignored_folder(rules, path) or rules.is_ignored(path, name, False)


def _visit(folders: FolderHandles, path: str, walk: FolderWalk) -> None:
    folder, _, name = path.rpartition("/")
    try:
        st = os.lstat(name, dir_fd=folders.open(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable_error(path, error) from error
    walk.visit_path(path, st)
