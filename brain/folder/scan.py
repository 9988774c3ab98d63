"""Scan the folder of a brain: find what differs from the stat cache, skip what it cannot hold.

Folders are opened relative to their parent's descriptor and never through a link. A path of the
cache that leads through one does no harm: a folder that became a link differs itself, and what
the cache knows below it is dropped.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress

from .. import limits
from ..errors import InvalidInput, printable_text
from ..named_tuple import NamedTuple
from ..objects import collisions, paths
from ..results import LeftOutSkills, Notice
from ..skills.skill_layout import SKILL_FILES
from ..util.files import write_atomic
from ..util.progress import Progress, no_progress
from . import handles
from .handles import UNREADABLE, FolderHandles, RootPath, open_root, unreadable_error
from .ignore import IgnoreRules, is_ignored_by_default
from .read import CandidateFile, candidate_from_stat, file_too_large_error
from .stat_cache import ROOT_FOLDER_PATH, StatCache

CONTROL_FOLDER = ".brain"
NESTED_STORE_FOLDERS = {".git": "repository", ".brain": "brain"}
"""Names of folders below the top that hold another store, and its kind."""
BEHIND_LINK, IGNORED = "link_outside", "ignored"
"""Why a place is left out; reasons of `LeftOutSkills`."""
_PROGRESS_INTERVAL = 1024
_MAX_HARD_LINK_NOTICES = 20
_MAX_CLOCK_SKEW_NS = 3600 * 10**9
"""Nanoseconds by which the clock of a file system that cannot be asked may differ from ours."""
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""What is known of a file that no scan could read."""
_MOUNTINFO_ESCAPES = ((rb"\040", b" "), (rb"\011", b"\t"), (rb"\012", b"\n"), (rb"\134", b"\\"))
_NOTHING_KNOWN: frozenset[str] = frozenset()


class LeftOutPlace(NamedTuple):
    """A link that leads outside the brain, or a path that `.brainignore` excludes."""

    path: str
    reason: str


def scan_files(
    root: RootPath,
    rules: IgnoreRules,
    cache: StatCache | None,
    progress: Progress = no_progress,
    only: Iterable[str] | None = None,
) -> Scan:
    """Find the files below `root` that are not proven to be unchanged since `cache`.

    With `only`, those at or below some paths, of which missing and excluded ones are skipped.
    Reads no content and writes nothing. Raises `InvalidInput` as `Scan`.
    """
    with open_root(root) as root_fd:
        scan = Scan(root_fd, rules, cache, progress)
        with closing(scan.handles):
            if only is not None:
                for path in only:
                    scan.visit_named(path)
            elif cache is None:
                scan.walk_folder("", _NOTHING_KNOWN)
            else:
                scan.compare(cache)
    return scan.finish(root)


class Scan:
    """What a scan found, and how: `scan_files` makes one.

    `changed` are the files not proven unchanged, and `removed` the paths of the cache that are no
    longer files of the brain, both sorted; without a cache all files are changed. `files` is the
    number of files. `skipped` are files and folders that a brain cannot hold, each with the
    reason; those that cannot be read are added when they are read. What is recorded at and below
    them stays as it is. `folders` are the fingerprints of listed folders.

    Raises `InvalidInput` with code `unreadable` for the root alone, `crosses_device`, `too_many`
    or `unsafe_path`.
    """

    def __init__(
        self, root_fd: int, rules: IgnoreRules, cache: StatCache | None, progress: Progress
    ) -> None:
        self.started = time.time_ns(), time.monotonic_ns()
        self.cache = cache or StatCache(rules.fingerprint)
        self.files = self.cache.files
        self.changed: list[CandidateFile] = []
        self.removed: list[str] = []
        self.notices: list[Notice] = []
        self.left_out_skills: list[LeftOutSkills] = []
        self.skipped: dict[str, InvalidInput] = {}
        self.folders: dict[str, bytes] = {}
        self.handles = FolderHandles(root_fd)
        self._root_fd = root_fd
        self._device = os.fstat(root_fd).st_dev
        self._rules = rules
        self._progress = progress
        self._found: dict[str, CandidateFile] = {}
        self._lost_folders: list[str] = []
        self._left_out: list[LeftOutPlace] = []
        self._hard_link_count = 0
        for path in _list_mounts_below(root_fd):
            if not rules.excludes_above(f"{path}/"):
                raise _crosses_device_error(path)

    def finish(self, root: RootPath) -> Scan:
        """Sort what was found, add the last notices, and count skills that were left out."""
        if self._hard_link_count > _MAX_HARD_LINK_NOTICES:
            more = f"{self._hard_link_count - _MAX_HARD_LINK_NOTICES} more files have other names"
            self._add_notice("hard_link", "", more)
        self.changed = sorted(self._found.values())
        self._found = {}
        self.removed.sort()
        self.notices.sort()
        self.left_out_skills = find_left_out_skills(root, self._left_out)
        return self

    # ---- known files and folders

    def compare(self, cache: StatCache) -> None:
        """Compare all entries of the cache with the folder, and classify those that differ."""
        total = len(cache.paths)
        rows: dict[str, tuple[os.stat_result | None, bool]] = {}
        for path, known in cache.find_differing(
            self._root_fd, lambda done: self._progress("scanning", done, total)
        ):
            try:
                st = os.lstat(path, dir_fd=self._root_fd)
            except (FileNotFoundError, NotADirectoryError):
                st = None
            except OSError as error:  # it stays in the cache as it was
                self._skip_unreadable(path, error)
                continue
            was_folder = stat.S_ISDIR(handles.fingerprint_mode(known))
            rows["" if path == ROOT_FOLDER_PATH else path] = st, was_folder
        links = {
            path
            for path, (st, was_folder) in rows.items()
            if was_folder and st is not None and stat.S_ISLNK(st.st_mode)
        }
        hidden = dict(cache.entries_below(links)) if links else {}
        for path, known in hidden.items():
            self._drop(path, stat.S_ISDIR(handles.fingerprint_mode(known)))
        for path, (st, was_folder) in rows.items():
            if path not in hidden:
                self._classify(path, st, was_folder)

    def _classify(self, path: str, st: os.stat_result | None, was_folder: bool) -> None:
        is_folder = st is not None and stat.S_ISDIR(st.st_mode)
        if was_folder and is_folder:
            self.walk_folder(path, frozenset(self.cache.children(path)))
        elif st is None or was_folder or is_folder:
            self._drop(path, was_folder)
            if st is not None:
                self._visit(path, st)
        elif not self._include_file(path, st):
            self._drop(path, False)

    def _drop(self, path: str, was_folder: bool) -> None:
        if was_folder:
            self._lost_folders.append(path)
        else:
            self.removed.append(path)
            self.files -= 1

    # ---- new files and folders

    def visit_named(self, path: str) -> None:
        """Add a given path, unless it is missing or a folder above it is excluded."""
        if self._rules.excludes_above(path):
            return
        folder, _, name = path.rpartition("/")
        try:
            self._visit(path, os.lstat(name, dir_fd=self.handles.open(folder)))
        except FileNotFoundError:
            return
        except OSError as error:
            raise unreadable_error(path, error) from error

    def _visit(self, path: str, st: os.stat_result) -> None:
        is_folder, name = stat.S_ISDIR(st.st_mode), path.rpartition("/")[2]
        if self._is_left_out(path, name, is_folder):
            return
        if is_folder:
            self.walk_folder(path, _NOTHING_KNOWN)
        else:
            self._add_file(path, st)

    def walk_folder(self, folder: str, known_names: frozenset[str]) -> None:
        """List `folder`, except its children `known_names`, and every new folder below it.

        Files and folders that vanish meanwhile are skipped.
        """
        waiting = self._list_folder(folder, known_names)
        while waiting:
            waiting.extend(self._list_folder(waiting.pop(), _NOTHING_KNOWN))

    def _list_folder(self, folder: str, known_names: frozenset[str]) -> list[str]:
        """List one folder; return the paths of its new subfolders."""
        prefix = f"{folder}/" if folder else ""
        below: list[str] = []
        try:
            fd = self.handles.open(folder)
            st = os.fstat(fd)
            if st.st_dev != self._device:
                raise _crosses_device_error(folder)
            self.folders[folder] = handles.fingerprint_of(st)
            with os.scandir(fd) as entries:
                names = [
                    entry.name
                    for entry in entries
                    if entry.name in known_names or self._include(prefix, entry, below)
                ]
        except FileNotFoundError:
            return []
        except OSError as error:
            if not folder:
                raise unreadable_error(".", error) from error
            self._skip_unreadable(folder, error)
            self.folders.pop(folder, None)  # so that the next scan lists it again
            return []
        if not known_names.issuperset(names):
            for pair in collisions.find_case_collisions(names):
                other, name = (prefix + each for each in pair)
                for path in (other, name):
                    if path.removeprefix(prefix) not in known_names:
                        # Left out, even if no other one is recorded.
                        self.skipped[path] = collisions.case_collision_error(name, other)
                        if self._found.pop(path, None):
                            self.files -= 1
                        elif path in below:
                            below.remove(path)
        return below

    def _include(self, prefix: str, entry: os.DirEntry[str], below: list[str]) -> bool:
        """Tell whether a new entry is included; add a file, or append a folder to `below`."""
        path = prefix + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if self._is_left_out(path, entry.name, is_folder):
            return False
        if is_folder:
            below.append(path)
        else:
            with suppress(FileNotFoundError):
                self._add_file(path, entry.stat(follow_symlinks=False))
        return True

    def _is_left_out(self, path: str, name: str, is_folder: bool) -> bool:
        if self._rules.is_ignored(path, name, is_folder):
            if "/" in path and (kind := NESTED_STORE_FOLDERS.get(name.lower())):
                what = f"left out: {printable_text(path)} belongs to another {kind}"
                self._add_notice("nested", path, what)
            elif (
                (is_folder or name in SKILL_FILES)
                and not paths.is_vcs_name(name)
                and not is_ignored_by_default(name, is_folder)
            ):
                self._left_out.append(LeftOutPlace(path, IGNORED))
            return True
        try:
            paths.check_path(path)
        except InvalidInput as error:
            ways = "rename it, or exclude it in .brainignore"
            error.hint = f"{ways}; {error.hint}" if error.hint else ways
            self.skipped[path] = error
            return True
        return False

    def _add_file(self, path: str, st: os.stat_result) -> None:
        if not self._include_file(path, st):
            return
        self.files += 1
        if self.files > limits.MAX_FILES:
            raise InvalidInput(
                f"the folder of the brain has more than {limits.MAX_FILES} files",
                code="too_many",
                hint="exclude folders in .brainignore, such as those that programs fill",
            )
        if not self.files % _PROGRESS_INTERVAL:
            self._progress("scanning", self.files, 0)

    def _include_file(self, path: str, st: os.stat_result) -> bool:
        """Add a file to what is found if it belongs to the brain; tell whether it does.

        One that is too large does, and is added to `skipped` instead.
        """
        if st.st_dev != self._device:
            raise _crosses_device_error(path)
        if stat.S_ISREG(st.st_mode):
            if st.st_size > limits.MAX_FILE_BYTES:
                self.skipped[path] = file_too_large_error(path, st.st_size)
                return True
            if st.st_nlink > 1:
                self._hard_link_count += 1
                if self._hard_link_count <= _MAX_HARD_LINK_NOTICES:
                    what = f"has {st.st_nlink} names: a change through one changes all"
                    self._add_notice("hard_link", path, f"{printable_text(path)} {what}")
        elif not self._is_link_inside(path, st):
            return False
        self._found[path] = candidate_from_stat(path, st)
        return True

    def _is_link_inside(self, path: str, st: os.stat_result) -> bool:
        """Tell whether `path` is a link that stays inside; else add a notice."""
        if stat.S_ISDIR(st.st_mode):
            return False
        if not stat.S_ISLNK(st.st_mode):
            what = f"left out: {printable_text(path)} is not a regular file"
            self._add_notice("not_regular", path, what)
            return False
        folder, _, name = path.rpartition("/")
        try:
            target = os.readlink(name, dir_fd=self.handles.open(folder))
            handles.encode_link_target(path, target)
        except FileNotFoundError:
            return False
        except InvalidInput as error:
            self._add_notice(error.code, path, f"left out: {error.message}")
            self._left_out.append(LeftOutPlace(path, BEHIND_LINK))
            return False
        return True

    def _skip_unreadable(self, path: str, error: OSError) -> None:
        """Skip what its rights keep from being read; raise any other error."""
        unreadable = unreadable_error(path, error)
        if unreadable.code != UNREADABLE:
            raise unreadable from error
        self.skipped[path] = unreadable

    def _add_notice(self, code: str, path: str, message: str) -> None:
        self.notices.append(Notice(code, path, message))

    # ---- the next cache

    def save_cache(
        self,
        root: RootPath,
        file: str | None,
        bundle: bytes,
        proven: Mapping[str, bytes],
        kept: Collection[str] = (),
        written: Mapping[str, bytes | None] | None = None,
    ) -> None:
        """Write the next stat cache to `file`, for the bundle with the id `bundle`.

        `proven` maps those of `changed` whose content is in that bundle to their fingerprint
        while they were read; the others will be candidates again. `kept` are the files of the
        bundle that were skipped. `written` are fingerprints of files and folders that were written
        since, None for removed ones. The bundle must not contain `removed`. The file is replaced
        atomically, for its owner alone. If it cannot be written, the old cache stays.
        """
        if file is None:
            return
        with open_root(root) as root_fd, suppress(OSError):
            moment = self._start_time(root_fd)
            cache = self.next_cache(bundle, proven, moment, kept, written or {})
            write_atomic(file, cache.encode(), durable=False)

    def _start_time(self, root_fd: int) -> int:
        """Return when the scan began, by the clock of the brain's file system.

        A new file there shows that clock. If none can be created, the clocks are assumed to
        differ by less than _MAX_CLOCK_SKEW_NS.
        """
        name = paths.TEMPORARY_PREFIX + os.urandom(8).hex()
        with closing(FolderHandles(root_fd)) as folders:
            try:
                folder_fd = folders.open(CONTROL_FOLDER)
                fd = os.open(name, _CREATE_FLAGS, 0o600, dir_fd=folder_fd)
            except (OSError, InvalidInput):
                return self.started[0] - _MAX_CLOCK_SKEW_NS
            try:
                # The longer span: the wall clock may have been set back, the monotonic one stops
                # while the machine sleeps. An earlier moment only causes files to be read again.
                since = (time.time_ns() - self.started[0], time.monotonic_ns() - self.started[1])
                return os.fstat(fd).st_mtime_ns - max(since)
            finally:
                os.close(fd)
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder_fd)

    def next_cache(
        self,
        bundle: bytes,
        proven: Mapping[str, bytes],
        moment: int,
        kept: Collection[str],
        written: Mapping[str, bytes | None] | None = None,
    ) -> StatCache:
        """Return the next cache; the scan began at `moment`, by the clock of the file system.

        Files and folders that could have changed after `moment` with the same times are unproven
        and will be read again. So are folders with notices or skills that are left out, so that
        each scan repeats these.
        """

        def proven_or_unmatchable(fingerprint: bytes, is_proven: bool) -> bytes:
            if is_proven and not handles.is_racy(fingerprint, moment):
                return fingerprint
            return handles.unmatchable_fingerprint(fingerprint)

        reported = [notice.path for notice in self.notices]
        reported += [place.path for place in self.left_out_skills]
        noticed = {path.rpartition("/")[0] for path in (*reported, *self.skipped)}
        changes: dict[str, bytes | None] = dict.fromkeys((*self._lost_folders, *self.removed))
        for folder, fingerprint in self.folders.items():
            path = folder or ROOT_FOLDER_PATH
            changes[path] = proven_or_unmatchable(fingerprint, folder not in noticed)
        for candidate in self.changed:
            known = proven.get(candidate.path, b"")
            changes[candidate.path] = proven_or_unmatchable(
                known or candidate.fingerprint, bool(known)
            )
        changes.update((path, changes.get(path) or handles.UNREAD_FILE) for path in kept)
        if not written:
            files = self.files + (0 if self.cache.paths else len(kept))
            return self.cache.with_changes(bundle, files, changes)
        changes.update(written)
        cache = self.cache.with_changes(bundle, 0, changes)
        # The third last byte of a fingerprint has the type within the mode.
        types = cache.fingerprints[handles.FINGERPRINT_BYTES - 3 :: handles.FINGERPRINT_BYTES]
        cache.files = sum(stat.S_IFMT(kind << 8) != stat.S_IFDIR for kind in types)
        return cache


def _crosses_device_error(path: str) -> InvalidInput:
    return InvalidInput(
        f"another file system is mounted in the brain: {path}",
        code="crosses_device",
        hint="unmount it, or name it in .brainignore",
    )


def _list_mounts_below(root_fd: int) -> list[str]:
    """Return the mount points in the folder, bind mounts included.

    Only Linux lists them (proc(5)); elsewhere, the scan compares device numbers.
    """
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


_MAX_ENTRIES = 5000
"""Files and folders that one search looks at; an ignored folder may be very large."""
_MAX_DEPTH = 6


def find_left_out_skills(root: RootPath, places: Iterable[LeftOutPlace]) -> list[LeftOutSkills]:
    """Return those of some places that hold files called SKILL.md, with their numbers."""
    budget = iter(range(_MAX_ENTRIES))
    found = []
    for path, reason in sorted(places):
        here = os.path.join(os.fspath(root), path)
        if os.path.isfile(here):
            count = int(os.path.basename(here) in SKILL_FILES)
        else:
            count = _count_skills(here, _MAX_DEPTH, budget)
        if count:
            target = here if reason == BEHIND_LINK else ""
            with suppress(OSError):  # it changed meanwhile
                target = target and os.path.realpath(here)
            found.append(LeftOutSkills(path, reason, count, target))
    return found


def _count_skills(folder: str, depth: int, budget: Iterator[int]) -> int:
    count = 0
    below: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if next(budget, None) is None:
                    return count
                if entry.name in SKILL_FILES:
                    count += entry.is_file()
                elif entry.is_symlink():
                    inside = (os.path.join(entry.path, name) for name in SKILL_FILES)
                    count += any(map(os.path.isfile, inside))
                elif entry.is_dir() and not is_ignored_by_default(entry.name, True):
                    below.append(entry.path)
    except OSError:  # it is gone, no folder, or not readable
        return count
    return count + sum(_count_skills(path, depth - 1, budget) for path in below if depth)
