"""Snapshot the named files and folders only; everything else stays as in the head.

Nothing but these paths is looked at, so the cost does not grow with the brain. The stat
cache is left as it is: it still tells what it told, and the recorded files are read once
more by the next scan of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing

from ...errors import NotFound, printable_text
from ...objects import bundle as bundles
from ...objects import operation, paths
from ...objects.bundle import Bundle
from ...objects.tree_entry import TreeEntry
from ...results import Recorded
from ...util.progress import Progress, no_progress
from ...worktree.ignore_rules import IgnoreRules
from ...worktree.scan_paths import PathScan, scan_named_paths
from ...worktree.walk import check_name_collisions
from ..core import read_files
from ..core.transaction import WriteTransaction, lock_for_writing, write_transaction
from ..open.session import Session
from .snapshot_folder import MessageBuilder, build_snapshot_result

Edits = dict[str, TreeEntry | None]


def snapshot_paths(
    session: Session, message: str, wanted: Sequence[str], progress: Progress = no_progress
) -> Recorded:
    """Record the files at or below the paths `wanted` as they are in the folder.

    A path that is gone, or left out by now, is removed. Raises `NotFound` (`no_path`)
    for one that neither the folder nor the head has, and `InvalidInput` for what a
    brain cannot hold.
    """
    wanted = [paths.check_path(path.rstrip("/")) for path in wanted]
    rules = IgnoreRules.load(session.root)
    with lock_for_writing(session):
        found = _scan_paths(session, rules, wanted, progress)
        _refuse_missing_paths(session, wanted, found)
        return _record_paths(
            session, wanted, found, lambda *_: message, message or "snapshot", progress
        )


def snapshot_paths_auto_message(
    session: Session, build_message: MessageBuilder, description: str, wanted: Sequence[str]
) -> Recorded:
    """As `snapshot_of`, with a message that is made of what changed.

    That nothing is at a path is no error.
    """
    rules = IgnoreRules.load(session.root)
    with lock_for_writing(session):
        found = _scan_paths(session, rules, wanted, no_progress)
        return _record_paths(session, wanted, found, build_message, description, no_progress)


def _scan_paths(
    session: Session, rules: IgnoreRules, wanted: Sequence[str], progress: Progress
) -> PathScan:
    return scan_named_paths(session.root, rules, wanted, lambda done: progress("scanning", done, 0))


def _record_paths(
    session: Session,
    wanted: Sequence[str],
    found: PathScan,
    build_message: MessageBuilder,
    description: str,
    progress: Progress,
) -> Recorded:
    size = sum(file.size for file in found.files)
    with write_transaction(session, "snapshot", description, expected_bytes=size) as txn:
        before = txn.bundle
        stored = read_files.store_files(
            session, txn.store_tx, before, found.files, progress=progress
        )
        with closing(stored) as entries:
            now = {entry.path: entry for entry in entries}
        edits = _compute_edits(session, before, wanted, now)
        if edits:
            txn.record_snapshot(
                edits, operation.snapshot_operation(), build_message(session, before, edits)
            )
            refuse_new_collisions(txn, before, [path for path, entry in edits.items() if entry])
    return build_snapshot_result(txn, before, edits, found.notices)


def _refuse_missing_paths(session: Session, wanted: Sequence[str], found: PathScan) -> None:
    head = session.bundle_of(session.head())
    there = [file.path for file in found.files]
    for path in wanted:
        inside = any(file == path or file.startswith(path + "/") for file in there)
        if not inside and not any(bundles.walk_below(session.nodes, head, path)):
            raise NotFound(
                f"nothing to record at {printable_text(path)}",
                code="no_path",
                hint="it is not there, or left out; give paths from the top of the brain",
            )


def _compute_edits(
    session: Session, before: Bundle, wanted: Sequence[str], now: Mapping[str, TreeEntry]
) -> Edits:
    """Return what leads from `before` to the files `now` at the paths `wanted`."""
    edits: Edits = {}
    for path in wanted:
        edits.update(dict.fromkeys(e.path for e in bundles.walk_below(session.nodes, before, path)))
    for path in now:
        for outer in parent_folders(path):  # what was a file there is a folder now
            if bundles.get_entry(session.nodes, before, outer) is not None:
                edits[outer] = None
    edits.update(now)
    return {
        path: entry
        for path, entry in edits.items()
        if entry != bundles.get_entry(session.nodes, before, path)
    }


def refuse_new_collisions(txn: WriteTransaction, before: Bundle, written: Iterable[str]) -> None:
    """Refuse new names beside which the snapshot has a name that differs in case alone.

    A scan of the whole folder sees such names together; here one may be of the head.
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
