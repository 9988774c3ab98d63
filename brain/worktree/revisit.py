"""Going again to every place that the stat cache knows and that looks different now."""

from __future__ import annotations

import os
import stat

from . import stats
from .differing import Tick, differing
from .folders import unreadable
from .statcache import ROOT, StatCache
from .walk import Walk

_Row = tuple[str, os.stat_result | None, bool]
"""A path ("" is the root), what is there now, and whether a folder was there."""


class Revisit:
    """Sorts out what became of known files and folders; new ones go to the walk.

    `removed` are paths that are no files of the brain any more, `lost` those that are no
    folders any more.
    """

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.lost: list[str] = []

    def all(self, root_fd: int, cache: StatCache, walk: Walk, tick: Tick) -> None:
        """Compare everything known, then look at what differs. Raises as `Walk` does."""
        rows = [_look(root_fd, path, known) for path, known in differing(cache, root_fd, tick)]
        linked = {path for path, st, was_folder in rows if was_folder and _is_link(st)}
        hidden = dict(cache.below(linked)) if linked else {}
        for path, known in hidden.items():
            self._forget(path, stat.S_ISDIR(stats.mode_of(known)), walk)
        for row in rows:
            if row[0] not in hidden:
                self._sort_out(row, cache, walk)

    def _sort_out(self, row: _Row, cache: StatCache, walk: Walk) -> None:
        path, st, was_folder = row
        if st is None:
            self._forget(path, was_folder, walk)
        elif was_folder and stat.S_ISDIR(st.st_mode):
            walk.enter(path, frozenset(map(_name, cache.children(path))))
        elif was_folder or stat.S_ISDIR(st.st_mode):
            self._forget(path, was_folder, walk)
            walk.meet(path, st)
        elif not walk.take(path, st):
            self._forget(path, False, walk)

    def _forget(self, path: str, was_folder: bool, walk: Walk) -> None:
        if was_folder:
            self.lost.append(path)
        else:
            self.removed.append(path)
            walk.files -= 1


def _look(root_fd: int, path: str, known: bytes) -> _Row:
    was_folder = stat.S_ISDIR(stats.mode_of(known))
    st: os.stat_result | None = None
    try:
        st = os.lstat(path, dir_fd=root_fd)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise unreadable(path, error) from error
    return ("" if path == ROOT else path), st, was_folder


def _is_link(st: os.stat_result | None) -> bool:
    return st is not None and stat.S_ISLNK(st.st_mode)


def _name(path: bytes) -> str:
    return path[path.rfind(b"/") + 1 :].decode()
