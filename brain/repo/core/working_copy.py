"""The working copy: compare the folder with a bundle, store its files, and check files out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...digest import NO_DIGEST, blob_id, stream_blob_id
from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...objects import bundle as bundles
from ...objects.bundle import Bundle, Edits
from ...objects.tree_entry import LINK, TreeEntry
from ...store.protocol import LARGE_BLOB_BYTES, StoreTransaction
from ...util.progress import Progress, no_progress
from ...worktree import file_checkout, file_fingerprint, file_reader
from ...worktree.dirfd import FolderHandles, open_root
from ...worktree.walk import CandidateFile
from ..open.session import Session
from . import read_files

if TYPE_CHECKING:  # an upsert does not scan, and starts the faster for it
    from ...worktree.scan import ScanResult

NO_CONTENTS: Mapping[bytes, bytes] = {}
_BLOBS_PER_BATCH = 1024
"""Small blobs read from the store at once, a few megabytes."""


_MAX_NAMED_FILES = 5
"""The most files that an error names."""


class FolderScan(NamedTuple):
    """What a scan found: candidates may differ from the cached bundle, the rest does not.

    `proven` collects the fingerprints of the candidates that were read since.
    """

    scan: ScanResult
    base_bundle: Bundle
    read_fingerprints: dict[str, bytes]


def scan_folder(session: Session, progress: Progress = no_progress) -> FolderScan:
    """Scan the folder.

    Raises `InvalidInput` for what a brain cannot hold, and (`no_folder`) for a proposal.
    """
    if not session.has_folder:
        raise InvalidInput(
            "a proposal has no folder: what is changed in it is recorded at once",
            code="no_folder",
            hint="there is nothing left to record",
        )
    from ...worktree import stat_cache
    from ...worktree.ignore_rules import IgnoreRules
    from ...worktree.scan import scan_files

    rules = IgnoreRules.load(session.root)
    session.drop_collected()  # a loaded bundle may have been garbage-collected since
    cache = stat_cache.load_stat_cache(stat_cache_file(session), rules.fingerprint)
    base = bundles.EMPTY_BUNDLE
    if cache is not None:
        try:
            base = session.load_bundle(cache.bundle)
        except NotFound:  # the cache is of another store
            cache = None
    return FolderScan(scan_files(session.root, rules, cache, progress), base, {})


def stat_cache_file(session: Session) -> str | None:
    """Return the file of the user's cache for what the files of this very folder look like."""
    folder = session.cache.folder
    if folder is None:
        return None
    here = os.path.realpath(session.root)
    place = f"{os.stat(here).st_ino} {here}".encode("utf-8", "surrogateescape")
    return os.path.join(folder, f"stat-{blob_id(place).hex()[:32]}")


def read_cached_bundle_id(session: Session) -> bytes:
    """Return the bundle that the next scan will begin from, empty if from none."""
    from ...worktree import stat_cache
    from ...worktree.ignore_rules import IgnoreRules

    rules = IgnoreRules.load(session.root)
    cache = stat_cache.load_stat_cache(stat_cache_file(session), rules.fingerprint)
    return cache.bundle if cache else NO_DIGEST


def delete_stat_cache(session: Session) -> None:
    """Give up what scans are faster with, for its space."""
    file = stat_cache_file(session)
    if file is not None:
        with suppress(OSError):
            os.unlink(file)


def save_stat_cache(session: Session, folder_scan: FolderScan, bundle: Bundle) -> None:
    """Keep the stats of a scan for the next one; the folder is now as in `bundle`."""
    from ...worktree import stat_cache_update as caching

    file, bundle_id = stat_cache_file(session), bundles.bundle_id(bundle)
    caching.write_stat_cache(
        session.root, file, folder_scan.scan, bundle_id, folder_scan.read_fingerprints
    )


def find_candidate(session: Session, path: str) -> CandidateFile | None:
    """Return the file at a full path, or None if there is none.

    Raises `InvalidInput` (`not_regular`) for what a brain cannot hold.
    """
    stat_result = file_fingerprint.lstat_or_none(os.path.join(session.root, path))
    if stat_result is None:
        return None
    if not stat.S_ISREG(stat_result.st_mode) and not stat.S_ISLNK(stat_result.st_mode):
        raise InvalidInput(
            f"not a file: {printable_text(path)}", code="not_regular", hint="move it out of the way"
        )
    return CandidateFile(
        path,
        file_fingerprint.entry_kind(stat_result.st_mode),
        stat_result.st_size,
        file_fingerprint.fingerprint_of(stat_result),
    )


def diff_folder(
    session: Session, folder_scan: FolderScan, target: Bundle, entries: Iterable[TreeEntry]
) -> Edits:
    """Return what leads from `target` to the folder, given the candidates' `entries`.

    Cost: the candidates, and the differences of `target` from the cached bundle.
    """
    now: Edits = {entry.path: entry for entry in entries}
    now.update(dict.fromkeys(folder_scan.scan.removed))
    for path, cached, _ in bundles.diff_bundles(session.nodes, folder_scan.base_bundle, target):
        now.setdefault(path, cached)
    if not target:
        for path in [path for path, entry in now.items() if entry is None]:
            del now[path]
        return now
    return drop_unchanged_edits(session, target, now)


def drop_unchanged_edits(
    session: Session, bundle: Bundle, edits: Mapping[str, TreeEntry | None]
) -> Edits:
    """Return the edits that change something in `bundle`."""
    return {
        path: entry
        for path, entry in edits.items()
        if entry != bundles.get_entry(session.nodes, bundle, path)
    }


def describe_unrecorded(changed_paths: Iterable[str]) -> str:
    """Return the error message about files with changes that would be lost."""
    names = ", ".join(map(printable_text, sorted(changed_paths)[:_MAX_NAMED_FILES]))
    return f"files have unrecorded changes: {names}"


def refuse_unsafe_parents(session: Session, path: str) -> None:
    """Refuse a path that leads through a link, or a file. Raises `InvalidInput` (`unsafe_path`)."""
    if not session.has_folder:
        return
    with open_root(session.root) as root_fd:
        folders = FolderHandles(root_fd)
        try:
            folders.find_missing_folder(path.rpartition("/")[0])
        finally:
            folders.close()


def read_if_unchanged(session: Session, target: Bundle, path: str) -> bytes | None:
    """Return the content of the small file at `path` if it is as in `target`, else None.

    Raises as `candidate_at`, and what reading raises.
    """
    if not session.has_folder:
        recorded = bundles.get_entry(session.nodes, target, path)
        return session.reader.read_blob(recorded.blob, recorded.size) if recorded else None
    entry, there = bundles.get_entry(session.nodes, target, path), find_candidate(session, path)
    if not entry or not there or (there.kind, there.size) != (entry.kind, entry.size):
        return None
    for _, content in file_reader.read_candidates(session.root, [there]):
        if isinstance(content, bytes) and blob_id(content) == entry.blob:
            return content
    return None


def store_edits_at(
    session: Session, tx: StoreTransaction, target: Bundle, wanted: Iterable[str]
) -> Edits:
    """Return what leads from `target` to the folder at the paths `wanted`; stores that content.

    That is nothing where the session has no folder.
    """
    if not session.has_folder:
        return {}
    there = []
    out: Edits = {}
    was = {path: bundles.get_entry(session.nodes, target, path) for path in wanted}
    for path, recorded in was.items():
        try:
            candidate = find_candidate(session, path)
        except InvalidInput:
            if not _has_only_recorded_files(session, target, path):
                raise
            candidate = None
        if candidate is not None:
            there.append(candidate)
        elif recorded is not None:
            out[path] = None
    read = zip(there, hash_files(session, there), strict=True)
    changed = [candidate for candidate, entry in read if entry != was[candidate.path]]
    for entry in read_files.store_files(session, tx, target, changed):
        if entry != was[entry.path]:
            out[entry.path] = entry
    return out


def _has_only_recorded_files(session: Session, target: Bundle, path: str) -> bool:
    """Tell whether a folder stands at `path` and `target` has all that is in it.

    Then a file may take its place once what is in it is gone. Raises `Conflict`
    (`unrecorded_changes`) for anything else inside.
    """
    if not stat.S_ISDIR(os.lstat(os.path.join(session.root, path)).st_mode):
        return False
    for folder, _, names in os.walk(os.path.join(session.root, path)):
        for name in names:
            inner = os.path.relpath(os.path.join(folder, name), session.root)
            if bundles.get_entry(session.nodes, target, inner) is None:
                raise Conflict(
                    f"{printable_text(inner)} is recorded nowhere and in the way of a file",
                    code="unrecorded_changes",
                    hint="record it with `brain snapshot`, or move it away",
                )
    return True


def hash_files(session: Session, candidates: list[CandidateFile]) -> Iterator[TreeEntry]:
    """Yield the entries of files, read and hashed but not stored."""
    for candidate, content in file_reader.read_candidates(session.root, candidates):
        if isinstance(content, file_reader.LargeFile):
            blob = stream_blob_id(content.raw)
            content.verify_unchanged()
            yield TreeEntry(candidate.path, candidate.kind, blob, content.size)
        else:
            yield TreeEntry(candidate.path, candidate.kind, blob_id(content), len(content))


def write_files(
    session: Session,
    writes: Mapping[str, TreeEntry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NO_CONTENTS,
) -> None:
    """Write the entries to their paths in the folder; None removes the file.

    `contents` has blobs in memory; the others are read from the store.
    """
    checkout_files(session, session.root, writes, progress, contents)


def checkout_files(
    session: Session,
    root: Path,
    writes: Mapping[str, TreeEntry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NO_CONTENTS,
) -> None:
    """Write files as `write_files`, to any folder `root`."""
    for path, entry in writes.items():
        if entry is None:
            file_checkout.remove_working_file(root, path)
    entries = sorted(entry for entry in writes.values() if entry is not None)
    file_checkout.write_working_files(root, _stream_contents(session, entries, contents), progress)


def _stream_contents(
    session: Session, entries: list[TreeEntry], contents: Mapping[bytes, bytes]
) -> Iterator[tuple[str, int, bytes | Iterator[bytes]]]:
    """Yield path, kind and content in the order of paths.

    Small blobs are fetched some at a time, large ones streamed.
    """
    for start in range(0, len(entries), _BLOBS_PER_BATCH):
        batch = entries[start : start + _BLOBS_PER_BATCH]
        small = {e.blob for e in batch if e.size < LARGE_BLOB_BYTES or e.kind == LINK}
        fetched = {blob: contents[blob] for blob in small if blob in contents}
        fetched.update(session.store.read_small_blobs([*small.difference(fetched)]))
        for entry in batch:
            content = fetched.get(entry.blob)
            if content is None:  # large, whatever its entry says
                yield entry.path, entry.kind, session.store.stream_blob(entry.blob, entry.size)
            else:
                yield entry.path, entry.kind, content


def find_redacted_paths(session: Session, entries: Iterable[TreeEntry | None]) -> set[str]:
    """Return the paths of those `entries` whose content was redacted."""
    wanted = [entry for entry in entries if entry is not None]
    gone = session.reader.find_redactions([entry.blob for entry in wanted])
    return {entry.path for entry in wanted if entry.blob in gone}
