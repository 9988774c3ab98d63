"""Snapshot the named files and folders only; everything else stays as in the head.

Only these paths are read, so the cost does not grow with the brain. The stat cache is not
updated; the next scan of the whole folder reads the recorded files once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing

from ...errors import NotFound, printable_text
from ...folder.ignore import IgnoreRules
from ...folder.scan import PathScan, check_name_collisions, scan_named_paths
from ...objects import bundle as bundles
from ...objects import operation, paths
from ...objects.bundle import Bundle, Edits
from ...objects.tree_node import TreeEntry
from ...results import Recorded
from ...util.progress import Progress, no_progress
from ..core import read_files, working_copy
from ..core.transaction import WriteTransaction, lock_for_writing, write_transaction
from ..open.session import Session
from .snapshot_folder import MessageBuilder, build_snapshot_result


def snapshot_paths(
    session: Session,
    message: str,
    wanted: Sequence[str],
    strict: bool = True,
    progress: Progress = no_progress,
) -> Recorded:
    """Record the files of the folder at or below the paths `wanted`.

    A path that the folder lacks, or that is ignored now, is removed. Raises `NotFound`
    (`no_path`) for a path that neither the folder nor the head has, and `InvalidInput` for
    files that a brain cannot hold; if not `strict`, only for those of `wanted`.
    """
    wanted = [paths.check_path(path.rstrip("/")) for path in wanted]
    with lock_for_writing(session):
        scan = _scan_paths(session, wanted, progress)
        needed = None if strict else wanted
        working_copy.refuse_skipped(scan.skipped, needed)
        _refuse_missing_paths(session, wanted, scan)
        return _record_paths(
            session, wanted, scan, lambda *_: message, message or "snapshot", progress, needed
        )


def snapshot_paths_auto_message(
    session: Session, build_message: MessageBuilder, description: str, wanted: Sequence[str]
) -> Recorded:
    """As `snapshot_paths`, with a message built from the edits; missing paths are no error."""
    with lock_for_writing(session):
        scan = _scan_paths(session, wanted, no_progress)
        return _record_paths(session, wanted, scan, build_message, description, no_progress, ())


def _scan_paths(session: Session, wanted: Sequence[str], progress: Progress) -> PathScan:
    rules = IgnoreRules.load(session.root)
    return scan_named_paths(session.root, rules, wanted, lambda done: progress("scanning", done, 0))


def _record_paths(
    session: Session,
    wanted: Sequence[str],
    scan: PathScan,
    build_message: MessageBuilder,
    description: str,
    progress: Progress,
    needed: Sequence[str] | None,
) -> Recorded:
    """Record what was scanned; only the files `needed` have to be readable, None for all."""
    size = sum(file.size for file in scan.files)
    with write_transaction(session, "snapshot", description, expected_bytes=size) as txn:
        before = txn.bundle
        stored = read_files.store_files(
            *(session, txn.store_tx, before, scan.files),
            progress=progress,
            skipped=None if needed is None else scan.skipped,
        )
        with closing(stored) as entries:
            current = {entry.path: entry for entry in entries}
        working_copy.refuse_skipped(scan.skipped, needed)
        edits = _compute_edits(session, before, wanted, current)
        for path in [path for path in edits if working_copy.is_below(path, scan.skipped)]:
            del edits[path]
        if edits:
            txn.record_snapshot(
                edits, operation.snapshot_operation(), build_message(session, before, edits)
            )
            refuse_new_collisions(txn, before, [path for path, entry in edits.items() if entry])
    notices = [*scan.notices, *working_copy.skipped_notices(scan.skipped)]
    return build_snapshot_result(txn, before, edits, notices)


def _refuse_missing_paths(session: Session, wanted: Sequence[str], scan: PathScan) -> None:
    head = session.bundle_of(session.head())
    for path in wanted:
        is_found = any(f.path == path or f.path.startswith(path + "/") for f in scan.files)
        if not is_found and not any(bundles.walk_below(session.nodes, head, path)):
            raise NotFound(
                f"nothing to record at {printable_text(path)}",
                code="no_path",
                hint="it is missing or ignored; give paths relative to the brain",
            )


def _compute_edits(
    session: Session, before: Bundle, wanted: Sequence[str], current: Mapping[str, TreeEntry]
) -> Edits:
    edits: Edits = {}
    for path in wanted:
        edits.update(dict.fromkeys(e.path for e in bundles.walk_below(session.nodes, before, path)))
    for path in current:
        for folder in parent_folders(path):
            if bundles.has_entry(session.nodes, before, folder):
                edits[folder] = None  # it was a file
    edits.update(current)
    return working_copy.drop_unchanged_edits(session, before, edits)


def refuse_new_collisions(txn: WriteTransaction, before: Bundle, written: Iterable[str]) -> None:
    """Refuse new names that differ in case alone from a name of the snapshot.

    A scan of the whole folder finds these; a scan of single paths misses the head's names.
    Raises `InvalidInput` (`case_collision`).
    """
    nodes = txn.session.nodes
    folders: set[str] = set()
    for path in written:
        for inner in (path, *parent_folders(path)):
            if any(True for _ in bundles.walk_below(nodes, before, inner)):
                break
            folders.add(inner.rpartition("/")[0])
    for folder in folders:
        check_name_collisions(
            folder and folder + "/", bundles.list_names(nodes, txn.bundle, folder)
        )


def parent_folders(path: str) -> list[str]:
    """Return the folders above `path`, the nearest first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]
