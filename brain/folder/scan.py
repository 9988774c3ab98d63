"""Walk folders: collect the files of the brain, skip those that cannot be recorded.

Folders are opened relative to their parent's descriptor and never through a link.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import starmap
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, printable_text
from ..objects import collisions, paths
from ..results import LeftOutSkills, Notice
from ..skills.skill_layout import SKILL_FILES
from ..util.progress import Progress
from . import handles
from .handles import UNREADABLE, FolderHandles, RootPath, open_folders, open_root, unreadable_error
from .ignore import IgnoreRules, is_ignored_by_default
from .left_out_skills import BEHIND_LINK, IGNORED, LeftOutPlace, find_left_out_skills
from .read import CandidateFile, candidate_from_stat, file_too_large_error
from .stat_cache import PATHS_PER_PART, ROOT_FOLDER_PATH, StatCache, StatCachePart

NO_CHILDREN: frozenset[str] = frozenset()
"""For a folder without known children."""

_PROGRESS_INTERVAL = 1024
_MAX_LISTED_NAMES = 20
"""Refused names, and files with hard links, that messages list."""
_MAX_PLAIN_CHARS = limits.MAX_FILE_NAME_BYTES
_UNUSUAL_CHARS = frozenset("\\:~")
NESTED_STORE_FOLDERS = {".git": "repository", ".brain": "brain"}
"""Names of folders below the top that hold another store, and its kind."""


class FolderWalk:
    """Collects the files of folders; `files` starts with the number of known files.

    `tick` gets the number of files now and then. `changed`, `notices`, `left_out` (links that
    lead outside, and what `.brainignore` excludes), `skipped` (files and folders that a brain
    cannot hold, each with the reason) and `folders` (the fingerprints of listed folders by path,
    "" for the root) grow with each call. Every method raises `InvalidInput` with code
    `unreadable` for the root alone, `crosses_device`, `too_many` or `unsafe_path`.
    """

    def __init__(
        self, root_fd: int, rules: IgnoreRules, files: int, tick: Callable[[int], None]
    ) -> None:
        self._folders = FolderHandles(root_fd)
        self._rules = rules
        self._device = os.fstat(root_fd).st_dev
        self._tick = tick
        self.files = files
        self.changed: dict[str, CandidateFile] = {}
        self.notices: list[Notice] = []
        self.left_out: list[LeftOutPlace] = []
        self.folders: dict[str, bytes] = {}
        self.skipped: dict[str, InvalidInput] = {}
        self._hard_link_count = 0

    def close(self) -> None:
        """Close all open folders."""
        self._folders.close()

    def finish_walk(self) -> None:
        """Add the last notices."""
        if self._hard_link_count > _MAX_LISTED_NAMES:
            more = f"{self._hard_link_count - _MAX_LISTED_NAMES} more files have other names"
            self._add_notice("hard_link", "", more)

    def walk_folder(self, folder: str, known_names: frozenset[str]) -> None:
        """List `folder`, except its children `known_names`, and every new folder below it.

        Files and folders that vanish meanwhile are skipped.
        """
        waiting = self._list_folder(folder, known_names)
        while waiting:
            waiting.extend(self._list_folder(waiting.pop(), NO_CHILDREN))

    def add_new_file(self, path: str, st: os.stat_result) -> None:
        """Add the new file at `path`, if it belongs to the brain."""
        if self.add_file_if_included(path, st):
            self.files += 1
            if self.files > limits.MAX_FILES:
                raise InvalidInput(
                    f"the folder of the brain has more than {limits.MAX_FILES} files",
                    code="too_many",
                    hint="exclude folders in .brainignore, such as those that programs fill",
                )
            if not self.files % _PROGRESS_INTERVAL:
                self._tick(self.files)

    def visit_path(self, path: str, st: os.stat_result) -> None:
        """Add a given path, or a known path whose type changed."""
        is_folder, name = stat.S_ISDIR(st.st_mode), path.rpartition("/")[2]
        if self._is_ignored(path, name, is_folder) or not self._check_name(path, name):
            return
        if is_folder:
            self.walk_folder(path, NO_CHILDREN)
        else:
            self.add_new_file(path, st)

    def add_file_if_included(self, path: str, st: os.stat_result) -> bool:
        """Add the file at `path` to `changed` if it belongs to the brain; tell whether it does.

        One that is too large does, and is added to `skipped` instead.
        """
        if st.st_dev != self._device:
            raise crosses_device_error(path)
        if stat.S_ISREG(st.st_mode):
            if st.st_size > limits.MAX_FILE_BYTES:
                self.skipped[path] = file_too_large_error(path, st.st_size)
                return True
            if st.st_nlink > 1:
                self._notice_hard_links(path, st.st_nlink)
        elif stat.S_ISDIR(st.st_mode) or not self._is_link_inside(path, st):
            return False
        self.changed[path] = candidate_from_stat(path, st)
        return True

    def _list_folder(self, folder: str, known_names: frozenset[str]) -> list[str]:
        """List one folder; return the paths of its new subfolders."""
        try:
            fd = self._folders.open(folder)
            st = os.fstat(fd)
            if st.st_dev != self._device:
                raise crosses_device_error(folder)
            self.folders[folder] = handles.fingerprint_of(st)
            with os.scandir(fd) as entries:
                return self._classify_entries(folder, entries, known_names)
        except FileNotFoundError:
            return []
        except OSError as error:
            unreadable = unreadable_error(folder or ".", error)
            if not folder or unreadable.code != UNREADABLE:
                raise unreadable from error
            self.skipped[folder] = unreadable
            self.folders.pop(folder, None)  # so that the next scan lists it again
            return []

    def _classify_entries(
        self, folder: str, entries: Iterable[os.DirEntry[str]], known_names: frozenset[str]
    ) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        below: list[str] = []
        names = [
            entry.name
            for entry in entries
            if entry.name in known_names or self._include_entry(prefix + entry.name, entry, below)
        ]
        if not known_names.issuperset(names):
            for pair in collisions.find_case_collisions(names):
                other, name = (prefix + each for each in pair)
                error = collisions.case_collision_error(name, other)
                for path in (other, name):
                    if path.removeprefix(prefix) not in known_names:
                        self._skip_collision(path, error, below)
        return below

    def _skip_collision(self, path: str, error: InvalidInput, below: list[str]) -> None:
        """Leave out a file or folder, even if no other one is recorded: none comes first."""
        self.skipped[path] = error
        if self.changed.pop(path, None):
            self.files -= 1
        elif path in below:
            below.remove(path)

    def _include_entry(self, path: str, entry: os.DirEntry[str], below: list[str]) -> bool:
        """Tell whether a new entry is included; add a file, or append a folder to `below`."""
        name = entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if self._is_ignored(path, name, is_folder) or not self._check_name(path, name):
            return False
        if is_folder:
            below.append(path)
        else:
            with suppress(FileNotFoundError):
                self.add_new_file(path, entry.stat(follow_symlinks=False))
        return True

    def _is_ignored(self, path: str, name: str, is_folder: bool) -> bool:
        """Tell whether the rules exclude `path`; add a notice for a nested store or repository."""
        if not self._rules.is_ignored(path, name, is_folder):
            return False
        if "/" in path and name.lower() in NESTED_STORE_FOLDERS:
            kind = NESTED_STORE_FOLDERS[name.lower()]
            what = f"left out: {printable_text(path)} belongs to another {kind}"
            self._add_notice("nested", path, what)
        elif (
            (is_folder or name in SKILL_FILES)
            and not paths.is_vcs_name(name)
            and not is_ignored_by_default(name, is_folder)
        ):
            self.left_out.append(LeftOutPlace(path, IGNORED))
        return True

    def _check_name(self, path: str, name: str) -> bool:
        """Tell whether a brain may have a name; if not, the path is skipped."""
        try:
            _check_path(path, name)
        except InvalidInput as error:
            self.skipped[path] = error
            return False
        return True

    def _notice_hard_links(self, path: str, count: int) -> None:
        self._hard_link_count += 1
        if self._hard_link_count <= _MAX_LISTED_NAMES:
            what = f"{printable_text(path)} has {count} names: a change through one changes all"
            self._add_notice("hard_link", path, what)

    def _is_link_inside(self, path: str, st: os.stat_result) -> bool:
        """Tell whether `path` is a link that stays inside; else add a notice."""
        if not stat.S_ISLNK(st.st_mode):
            self._add_notice(
                "not_regular", path, f"left out: {printable_text(path)} is not a regular file"
            )
            return False
        folder, _, name = path.rpartition("/")
        try:
            target = handles.read_symlink(name, self._folders.open(folder))
            handles.encode_link_target(path, target)
        except InvalidInput as error:
            self._add_notice(error.code, path, f"left out: {error.message}")
            self.left_out.append(LeftOutPlace(path, BEHIND_LINK))
            return False
        return True

    def _add_notice(self, code: str, path: str, message: str) -> None:
        self.notices.append(Notice(code, path, message))


def _check_path(path: str, name: str) -> None:
    """As `paths.check_path`, but faster for the plain names that nearly all files have."""
    is_visible = name.isascii() and name.isprintable()
    is_plain = is_visible and _UNUSUAL_CHARS.isdisjoint(name) and name[0] != "."
    if not is_plain or len(path) > _MAX_PLAIN_CHARS or path.count("/") >= limits.MAX_PATH_DEPTH:
        try:
            paths.check_path(path)
        except InvalidInput as error:
            ways = "rename it, or exclude it in .brainignore"
            error.hint = f"{ways}; {error.hint}" if error.hint else ways
            raise


_MOUNTINFO_ESCAPES = ((rb"\040", b" "), (rb"\011", b"\t"), (rb"\012", b"\n"), (rb"\134", b"\\"))


def check_no_mounts(root_fd: int, rules: IgnoreRules) -> None:
    """Refuse a brain with a mount point inside, unless the rules exclude it.

    Only Linux lists its mounts (proc(5)); elsewhere, the walk compares device numbers. Raises
    `InvalidInput` (`crosses_device`).
    """
    for path in _list_mounts_below(root_fd):
        if not is_in_ignored_folder(rules, f"{path}/"):
            raise crosses_device_error(path)


def is_in_ignored_folder(rules: IgnoreRules, path: str) -> bool:
    """Tell whether the rules exclude a folder above `path`, and so all paths below that folder."""
    parts = path.split("/")[:-1]
    above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(rules.is_ignored(*pair, True) for pair in zip(above, parts, strict=True))


def crosses_device_error(path: str) -> InvalidInput:
    """Return the error for a file or folder on another file system."""
    return InvalidInput(
        f"another file system is mounted in the brain: {path}",
        code="crosses_device",
        hint="unmount it, or name it in .brainignore",
    )


def _list_mounts_below(root_fd: int) -> list[str]:
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            points = [line.split(b" ", 5)[4] for line in file]
        root = os.readlink(f"/proc/self/fd/{root_fd}".encode()).rstrip(b"/") + b"/"
    except OSError:
        return []
    inside = [point for point in map(unescape_mount_point, points) if point.startswith(root)]
    return [os.fsdecode(point[len(root) :]) for point in inside if point != root]


def unescape_mount_point(point: bytes) -> bytes:
    """Return a mount point of the list of mounts without its escapes."""
    for escape, char in _MOUNTINFO_ESCAPES:
        point = point.replace(escape, char)
    return point


LstatCall = Callable[[bytes], os.stat_result]

_ABSENT_FINGERPRINT = bytes(handles.FINGERPRINT_BYTES)


def compare_parts(numbers: Iterable[int], cache: StatCache, lstat: LstatCall) -> list[int]:
    """Return the places of changed and missing entries in the parts `numbers`.

    A place is part number << 16 | entry number.
    """
    places: list[int] = []
    for number in numbers:
        part = cache.parts[number]
        now = _part_fingerprints(part, lstat)
        if now != part.fingerprints:
            places.extend(number << 16 | entry for entry in _find_unequal(part.fingerprints, now))
    return places


def read_entries_at(cache: StatCache, places: Iterable[int]) -> Iterator[tuple[str, bytes]]:
    """Yield path and known fingerprint of the entries at `places`."""
    rows: list[tuple[bytes, bytes]] = []
    last = -1
    for place in places:
        if place >> 16 != last:
            last = place >> 16
            rows = list(cache.parts[last].entries())
        path, stored = rows[place & 0xFFFF]
        yield path.decode(), stored


def _part_fingerprints(part: StatCachePart, lstat: LstatCall) -> bytes:
    paths = part.paths.split(b"\0")
    try:
        return b"".join(
            starmap(
                handles.pack_fingerprint,
                map(handles.stat_fields, map(lstat, paths)),
            )
        )
    except (OSError, struct.error):
        return b"".join([_fingerprint_path(path, lstat) for path in paths])


def _fingerprint_path(path: bytes, lstat: LstatCall) -> bytes:
    try:
        return handles.fingerprint_of(lstat(path))
    except OSError:
        return _ABSENT_FINGERPRINT


def _find_unequal(before: bytes, now: bytes) -> list[int]:
    size = handles.FINGERPRINT_BYTES
    starts = range(0, len(now), size)
    return [at // size for at in starts if before[at : at + size] != now[at : at + size]]


CountCallback = Callable[[int], None]

_MIN_ENTRIES_TO_FORK = 20_000
"""For fewer entries, forking costs more than it saves."""
_MIN_PARTS_PER_GROUP = 4
_MAX_GROUPS = 1024


def find_differing_entries(
    cache: StatCache, root_fd: int, tick: CountCallback
) -> list[tuple[str, bytes]]:
    """Return path and known fingerprint of every changed or missing entry.

    `tick` gets the approximate number of compared entries.
    """
    numbers = range(len(cache.parts))
    size = max(_MIN_PARTS_PER_GROUP, -(-len(numbers) // _MAX_GROUPS))
    groups = range(-(-len(numbers) // size))

    def places_in(group: int, lstat: LstatCall) -> list[int]:
        return compare_parts(numbers[group * size : (group + 1) * size], cache, lstat)

    def work(group: int) -> list[int]:
        os.fchdir(root_fd)
        return places_in(group, os.lstat)

    remaining = dict.fromkeys(groups)
    places: list[int] = []
    if len(cache.parts) * PATHS_PER_PART >= _MIN_ENTRIES_TO_FORK:
        from ..util.process_pool import helper_count, run_jobs_in_children

        for group, answer in run_jobs_in_children(helper_count(), len(groups), work):
            places += answer
            del remaining[group]
            tick((len(groups) - len(remaining)) * size * PATHS_PER_PART)
    lstat = partial(os.lstat, dir_fd=root_fd)
    for count, group in enumerate(remaining, len(groups) - len(remaining) + 1):
        places += places_in(group, lstat)
        tick(count * size * PATHS_PER_PART)
    return list(read_entries_at(cache, sorted(places)))


_EntryState = tuple[str, os.stat_result | None, bool]
"""A path ("" is the root), its stat now, and whether it was a folder."""


class Rescan:
    """Classifies changes of known files and folders; passes new ones to the walk.

    `removed` are paths that are no longer files of the brain, `lost` those that are no longer
    folders.
    """

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.lost: list[str] = []

    def rescan_all(
        self, root_fd: int, cache: StatCache, walk: FolderWalk, tick: CountCallback
    ) -> None:
        """Compare all entries of the cache, and classify changed ones. Raises as `FolderWalk`."""
        rows: list[_EntryState] = []
        for path, stored in find_differing_entries(cache, root_fd, tick):
            try:
                rows.append(_lstat_entry(root_fd, path, stored))
            except InvalidInput as error:  # it stays in the cache as it was
                walk.skipped[path] = error
        linked = {path for path, st, was_folder in rows if was_folder and _is_link(st)}
        hidden = dict(cache.entries_below(linked)) if linked else {}
        for path, stored in hidden.items():
            self._drop_entry(path, stat.S_ISDIR(handles.fingerprint_mode(stored)), walk)
        for row in rows:
            if row[0] not in hidden:
                self._classify_entry(row, cache, walk)

    def _classify_entry(self, row: _EntryState, cache: StatCache, walk: FolderWalk) -> None:
        path, st, was_folder = row
        if st is None:
            self._drop_entry(path, was_folder, walk)
        elif was_folder and stat.S_ISDIR(st.st_mode):
            walk.walk_folder(path, frozenset(map(_base_name, cache.children(path))))
        elif was_folder or stat.S_ISDIR(st.st_mode):
            self._drop_entry(path, was_folder, walk)
            walk.visit_path(path, st)
        elif not walk.add_file_if_included(path, st):
            self._drop_entry(path, False, walk)

    def _drop_entry(self, path: str, was_folder: bool, walk: FolderWalk) -> None:
        if was_folder:
            self.lost.append(path)
        else:
            self.removed.append(path)
            walk.files -= 1


def _lstat_entry(root_fd: int, path: str, stored: bytes) -> _EntryState:
    was_folder = stat.S_ISDIR(handles.fingerprint_mode(stored))
    st: os.stat_result | None = None
    try:
        st = os.lstat(path, dir_fd=root_fd)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise unreadable_error(path, error) from error
    return ("" if path == ROOT_FOLDER_PATH else path), st, was_folder


def _is_link(st: os.stat_result | None) -> bool:
    return st is not None and stat.S_ISLNK(st.st_mode)


def _base_name(path: bytes) -> str:
    return path[path.rfind(b"/") + 1 :].decode()


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
    started: handles.ClockReading


def scan_files(
    root: RootPath, rules: IgnoreRules, cache: StatCache | None, progress: Progress | None = None
) -> ScanResult:
    """Find the files below `root` that are not proven to be unchanged since `cache`.

    Reads no content and writes nothing. Raises `InvalidInput` as `FolderWalk`.
    """
    started = handles.read_clocks()
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
    return ScanResult(
        changed=sorted(walk.changed.values()),
        removed=sorted(rescan.removed),
        notices=sorted(walk.notices),
        left_out_skills=find_left_out_skills(root, walk.left_out),
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
