"""A scan of named files and folders alone; the rest of the brain is not looked at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..results import Notice
from .folders import Folders, Root, opened, unreadable
from .ignore import IgnoreRules
from .mounts import refuse_mounts
from .walk import Candidate, Walk


class Named(NamedTuple):
    """The files found, sorted by path, and what was left out with a notice."""

    files: list[Candidate]
    notices: list[Notice]


def scan_named(
    root: Root, rules: IgnoreRules, wanted: Iterable[str], tick: Callable[[int], None]
) -> Named:
    """Find the files at or below the paths `wanted`, but for those that are left out.

    That nothing is there is no error. Reads no content. Raises `InvalidInput`: see `Walk`.
    """
    with opened(root) as root_fd:
        refuse_mounts(root_fd, rules)
        walk = Walk(root_fd, rules, 0, tick)
        folders = Folders(root_fd)
        try:
            for path in wanted:
                if not _below_left_out(rules, path):
                    _visit(folders, path, walk)
            walk.finish()
        finally:
            folders.close()
            walk.close()
    return Named(sorted(walk.changed.values()), sorted(walk.notices))


def is_left_out(root: Root, path: str) -> bool:
    """Tell whether a file at `path` would be left out. Raises `InvalidInput`."""
    rules = IgnoreRules.load(root)
    name = path.rpartition("/")[2]
    return _below_left_out(rules, path) or rules.ignored(path, name, False)


def _below_left_out(rules: IgnoreRules, path: str) -> bool:
    """Tell whether a folder above `path` is left out, and with it all that lies there."""
    parts = path.split("/")[:-1]
    above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(rules.ignored(*pair, True) for pair in zip(above, parts, strict=True))


def _visit(folders: Folders, path: str, walk: Walk) -> None:
    folder, _, name = path.rpartition("/")
    try:
        st = os.lstat(name, dir_fd=folders.open(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(path, error) from error
    walk.meet(path, st)
