"""Scan the folder: find the files that differ from the stat cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidInput
from ..results import Notice
from ..util.progress import Progress
from . import file_fingerprint
from .dirfd import RootPath, open_root
from .ignore_rules import IgnoreRules
from .mounts import check_no_mounts
from .rescan import Rescan
from .stat_cache import StatCache
from .walk import NO_CHILDREN, CandidateFile, FolderWalk

if TYPE_CHECKING:
    from ..results import LeftOutSkills


class ScanResult(NamedTuple):
    """The result of a scan.

    `changed` are the files not proven unchanged, and `removed` the paths of the cache that are
    no longer files of the brain, both sorted; without a cache all files are changed. `files` is
    the number of files. `skipped` are files and folders that a brain cannot hold, each with the
    reason; those that cannot be read are added when they are read. What is recorded at and below
    them stays as it is.

    The next cache is made from the other fields: fingerprints of listed folders, paths of lost
    folders, the cache before, and the moment when the scan began.
    """

    changed: list[CandidateFile]
    removed: list[str]
    notices: list[Notice]
    left_out_skills: list[LeftOutSkills]
    files: int
    folders: dict[str, bytes]
    skipped: dict[str, InvalidInput]
    lost: list[str]
    cache: StatCache
    started: file_fingerprint.ClockReading


def scan_files(
    root: RootPath, rules: IgnoreRules, cache: StatCache | None, progress: Progress | None = None
) -> ScanResult:
    """Find the files below `root` that are not proven to be unchanged since `cache`.

    Reads no content and writes nothing. Raises `InvalidInput` as `FolderWalk`.
    """
    started = file_fingerprint.read_clocks()
    known = cache or StatCache(rules.fingerprint, b"", 0, [])
    rescan = Rescan()
    with open_root(root) as root_fd:
        check_no_mounts(root_fd, rules)
        walk = FolderWalk(root_fd, rules, known.files, _make_count_callback(progress, 0))
        try:
            if cache is None:
                walk.walk_folder("", NO_CHILDREN)
            else:
                rescan.rescan_all(
                    root_fd, cache, walk, _make_count_callback(progress, cache.entry_count)
                )
            walk.finish_walk()
        finally:
            walk.close()
    left_out_skills: list[LeftOutSkills] = []
    if walk.left_out:
        from .left_out_skills import find_left_out_skills

        left_out_skills = find_left_out_skills(root, walk.left_out)
    return ScanResult(
        changed=sorted(walk.changed.values()),
        removed=sorted(rescan.removed),
        notices=sorted(walk.notices),
        left_out_skills=left_out_skills,
        files=walk.files,
        folders=walk.folders,
        skipped=walk.skipped,
        lost=rescan.lost,
        cache=known,
        started=started,
    )


def _make_count_callback(progress: Progress | None, total: int) -> Callable[[int], None]:
    if progress is None:
        return lambda done: None
    return lambda done: progress("scanning", done, total)
