"""The folder against a bundle: which files differ, and reading them in."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ..digest import EMPTY, blob_id, stream_id
from ..errors import Conflict, InvalidInput, NotFound, printable
from ..objects import bundle as bundles
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..session import Session
from ..store.protocol import Transaction
from ..worktree import reading, stats
from ..worktree.folders import Folders, opened
from ..worktree.walk import Candidate
from . import loading
from .files import Progress, no_progress

if TYPE_CHECKING:  # an upsert does not scan, and starts the faster for it
    from ..worktree.scan import Scan


class Look(NamedTuple):
    """What a scan found: candidates may differ from the cached bundle, the rest does not.

    `proven` collects the fingerprints of the candidates that were read since.
    """

    found: Scan
    base: Bundle
    proven: dict[str, bytes]


def look(session: Session, progress: Progress = no_progress) -> Look:
    """Scan the folder.

    Raises `InvalidInput` for what a brain cannot hold, and (`no_folder`) for a proposal.
    """
    if not session.has_folder:
        raise InvalidInput(
            "a proposal has no folder: what is changed in it is recorded at once",
            code="no_folder",
            hint="there is nothing left to record",
        )
    from ..worktree import statcache
    from ..worktree.ignore import IgnoreRules
    from ..worktree.scan import scan

    rules = IgnoreRules.load(session.root)
    session.refresh()  # what is at hand of a bundle may have been collected since
    cache = statcache.load(stat_file(session), rules.fingerprint)
    base = bundles.EMPTY
    if cache is not None:
        try:
            base = session.bundle(cache.bundle)
        except NotFound:  # the cache is of another store
            cache = None
    return Look(scan(session.root, rules, cache, progress), base, {})


def stat_file(session: Session) -> str | None:
    """Return the file of the user's cache for what the files of this very folder look like."""
    folder = session.cache.folder
    if folder is None:
        return None
    here = os.path.realpath(session.root)
    place = f"{os.stat(here).st_ino} {here}".encode("utf-8", "surrogateescape")
    return os.path.join(folder, f"stat-{blob_id(place).hex()[:32]}")


def cached_bundle(session: Session) -> bytes:
    """Return the bundle that the next scan will begin from, empty if from none."""
    from ..worktree import statcache
    from ..worktree.ignore import IgnoreRules

    rules = IgnoreRules.load(session.root)
    cache = statcache.load(stat_file(session), rules.fingerprint)
    return cache.bundle if cache else EMPTY


def forget_cache(session: Session) -> None:
    """Give up what scans are faster with, for its space."""
    file = stat_file(session)
    if file is not None:
        with suppress(OSError):
            os.unlink(file)


def remember(session: Session, seen: Look, bundle: Bundle) -> None:
    """Keep the stats of a scan for the next one; the folder is now as in `bundle`."""
    from ..worktree import record as caching

    file, bundle_id = stat_file(session), bundles.bundle_id(bundle)
    caching.record(session.root, file, seen.found, bundle_id, seen.proven)


def candidate_at(session: Session, path: str) -> Candidate | None:
    """Return the file at a full path, or None if there is none.

    Raises `InvalidInput` (`not_regular`) for what a brain cannot hold.
    """
    st = stats.at(os.path.join(session.root, path))
    if st is None:
        return None
    if not stat.S_ISREG(st.st_mode) and not stat.S_ISLNK(st.st_mode):
        raise InvalidInput(
            f"not a file: {printable(path)}", code="not_regular", hint="move it out of the way"
        )
    return Candidate(path, stats.kind_of(st.st_mode), st.st_size, stats.fingerprint(st))


def edits(
    session: Session, seen: Look, target: Bundle, entries: Iterable[Entry]
) -> dict[str, Entry | None]:
    """Return what leads from `target` to the folder, given the candidates' `entries`.

    Cost: the candidates, and the differences of `target` from the cached bundle.
    """
    now: dict[str, Entry | None] = {entry.path: entry for entry in entries}
    now.update(dict.fromkeys(seen.found.removed))
    for path, cached, _ in bundles.compare(session.nodes, seen.base, target):
        now.setdefault(path, cached)
    if not target:
        for path in [path for path, entry in now.items() if entry is None]:
            del now[path]
        return now
    return {
        path: entry
        for path, entry in now.items()
        if entry != bundles.get(session.nodes, target, path)
    }


def check_way(session: Session, path: str) -> None:
    """Refuse a path that leads through a link, or a file. Raises `InvalidInput` (`unsafe_path`)."""
    if not session.has_folder:
        return
    with opened(session.root) as root_fd:
        folders = Folders(root_fd)
        try:
            folders.missing(path.rpartition("/")[0])
        finally:
            folders.close()


def as_recorded(session: Session, target: Bundle, path: str) -> bytes | None:
    """Return the content of the small file at `path` if it is as in `target`, else None.

    Raises as `candidate_at`, and what reading raises.
    """
    if not session.has_folder:
        recorded = bundles.get(session.nodes, target, path)
        return session.reader.read_blob(recorded.blob, recorded.size) if recorded else None
    entry, there = bundles.get(session.nodes, target, path), candidate_at(session, path)
    if not entry or not there or (there.kind, there.size) != (entry.kind, entry.size):
        return None
    for _, content in reading.read_many(session.root, [there]):
        if isinstance(content, bytes) and blob_id(content) == entry.blob:
            return content
    return None


def edits_at(
    session: Session, tx: Transaction, target: Bundle, wanted: Iterable[str]
) -> dict[str, Entry | None]:
    """Return what leads from `target` to the folder at the paths `wanted`; stores that content.

    That is nothing where the session has no folder.
    """
    if not session.has_folder:
        return {}
    there = []
    out: dict[str, Entry | None] = {}
    was = {path: bundles.get(session.nodes, target, path) for path in wanted}
    for path, recorded in was.items():
        try:
            candidate = candidate_at(session, path)
        except InvalidInput:
            if not _is_recorded_folder(session, target, path):
                raise
            candidate = None
        if candidate is not None:
            there.append(candidate)
        elif recorded is not None:
            out[path] = None
    read = zip(there, hashed(session, there), strict=True)
    changed = [candidate for candidate, entry in read if entry != was[candidate.path]]
    for entry in loading.stored(session, tx, target, changed):
        if entry != was[entry.path]:
            out[entry.path] = entry
    return out


def _is_recorded_folder(session: Session, target: Bundle, path: str) -> bool:
    """Tell whether a folder stands at `path` and `target` has all that is in it.

    Then a file may take its place once what is in it is gone. Raises `Conflict`
    (`unrecorded_changes`) for anything else inside.
    """
    if not stat.S_ISDIR(os.lstat(os.path.join(session.root, path)).st_mode):
        return False
    for folder, _, names in os.walk(os.path.join(session.root, path)):
        for name in names:
            inner = os.path.relpath(os.path.join(folder, name), session.root)
            if bundles.get(session.nodes, target, inner) is None:
                raise Conflict(
                    f"{printable(inner)} is recorded nowhere and in the way of a file",
                    code="unrecorded_changes",
                    hint="record it with `brain snapshot`, or move it away",
                )
    return True


def hashed(session: Session, candidates: list[Candidate]) -> Iterator[Entry]:
    """Yield the entries of files, read and hashed but not stored."""
    for candidate, content in reading.read_many(session.root, candidates):
        if isinstance(content, reading.LargeFile):
            blob = stream_id(content.raw)
            content.verify_unchanged()
            yield Entry(candidate.path, candidate.kind, blob, content.size)
        else:
            yield Entry(candidate.path, candidate.kind, blob_id(content), len(content))
