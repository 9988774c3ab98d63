"""The scan: which files differ from what the stat cache knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..results import Notice
from . import stats
from .folders import Root, opened
from .ignore import IgnoreRules
from .mounts import refuse_mounts
from .revisit import Revisit
from .statcache import StatCache
from .walk import NONE, Candidate, Walk

Progress = Callable[[str, int, int], None]
"""Told what is done, how much of it, and of how much (0: not known)."""


class Scan(NamedTuple):
    """What a scan found.

    `changed` are the files not proven unchanged, and `removed` the paths of the cache that
    are no longer files of the brain, both sorted; without a cache all files are changed
    and none is removed. `files` is how many files there are now. The rest is what the
    next cache is made from: fingerprints of the folders listed, paths of folders that
    are gone, the cache before, and the moment the scan began.
    """

    changed: list[Candidate]
    removed: list[str]
    notices: list[Notice]
    files: int
    folders: dict[str, bytes]
    lost: list[str]
    cache: StatCache
    started: stats.Moment


def scan(
    root: Root, rules: IgnoreRules, cache: StatCache | None, progress: Progress | None = None
) -> Scan:
    """Find the files below `root` that are not proven to be as `cache` knows them.

    Reads no content and writes nothing. Raises `InvalidInput`: see `Walk`.
    """
    started = stats.now()
    known = cache or StatCache(rules.fingerprint, b"", 0, [])
    revisit = Revisit()
    with opened(root) as root_fd:
        refuse_mounts(root_fd, rules)
        walk = Walk(root_fd, rules, known.files, _ticker(progress, 0))
        try:
            if cache is None:
                walk.enter("", NONE)
            else:
                revisit.all(root_fd, cache, walk, _ticker(progress, cache.entries))
            walk.finish()
        finally:
            walk.close()
    return Scan(
        changed=sorted(walk.changed.values()),
        removed=sorted(revisit.removed),
        notices=sorted(walk.notices),
        files=walk.files,
        folders=walk.folders,
        lost=revisit.lost,
        cache=known,
        started=started,
    )


def _ticker(progress: Progress | None, total: int) -> Callable[[int], None]:
    if progress is None:
        return lambda done: None
    return lambda done: progress("scanning", done, total)
