"""Snapshot the folder, and compare it with the head (status)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing

from ...objects import bundle as bundles
from ...objects import operation
from ...objects.bundle import Bundle
from ...objects.operation import SnapshotOperation
from ...objects.tree_entry import TreeEntry
from ...results import Notice, Recorded, Status
from ...worktree import file_fingerprint
from ..core import read_files, working_copy
from ..core.checkout import Progress, no_progress
from ..core.pending_writes import find_pending_writes
from ..core.transaction import WriteTransaction, lock_for_writing, write_transaction
from ..open.session import Session
from ..read.merge_state_format import load_merge_state

SNAPSHOT_OPERATION = operation.snapshot_operation()
UNWRITTEN_CODE = "unwritten"
"""The code of a notice of a file that is recorded but waits to be written."""

Edits = Mapping[str, TreeEntry | None]
MessageBuilder = Callable[[Session, Bundle, Edits], str]
"""Makes the message of a snapshot, of the bundle before it and what it changes."""


def read_status(session: Session, progress: Progress = no_progress) -> Status:
    """Compare the folder with the head; writes nothing."""
    from ..merge import merge_state

    head = session.head()
    target = session.bundle_of(head)
    folder_scan = working_copy.scan_folder(session, progress)
    found = working_copy.diff_folder(
        session, folder_scan, target, working_copy.hash_files(session, folder_scan.scan.changed)
    )
    there = {path: bundles.get_entry(session.nodes, target, path) is not None for path in found}
    pending = find_pending_writes(session, session.reader.list_pending_writes())
    names = sorted(path for path in found if path not in pending)
    pending_merge = load_merge_state(session)
    return Status(
        session.brain_id().hex(),
        head.hex(),
        session.current_branch(),
        not names,
        [path for path in names if not there[path]],
        [path for path in names if there[path] and found[path] is not None],
        [path for path in names if found[path] is None],
        [*folder_scan.scan.notices, *map(_unwritten_notice, _pending_paths(session, pending))],
        pending_merge.revision if pending_merge else None,
        merge_state.describe_conflicts(session, pending_merge.rows) if pending_merge else [],
    )


def _pending_paths(session: Session, pending: Edits) -> list[str]:
    """Return the files that wait to be written; one that is gone as it should is none."""
    root = session.root
    return sorted(
        path
        for path, entry in pending.items()
        if entry or file_fingerprint.lstat_or_none(root / path)
    )


def _unwritten_notice(path: str) -> Notice:
    said = "recorded, but not yet written; the next command that writes does so"
    return Notice(UNWRITTEN_CODE, path, said)


def snapshot_folder(
    session: Session,
    message: str = "",
    progress: Progress = no_progress,
    recorded_operation: SnapshotOperation = SNAPSHOT_OPERATION,
) -> Recorded:
    """Record the folder as it is, as the operation `done`. No change means no new snapshot."""
    return snapshot_folder_auto_message(
        session, lambda *_: message, message or recorded_operation[0], progress, recorded_operation
    )


def snapshot_folder_auto_message(
    session: Session,
    build_message: MessageBuilder,
    description: str,
    progress: Progress = no_progress,
    recorded_operation: SnapshotOperation = SNAPSHOT_OPERATION,
) -> Recorded:
    """As `snapshot`, with a message that is made of what changed."""
    with lock_for_writing(session):
        folder_scan = working_copy.scan_folder(session, progress)
        size = sum(candidate.size for candidate in folder_scan.scan.changed)
        with write_transaction(
            session, recorded_operation[0], description, expected_bytes=size
        ) as txn:
            before = txn.bundle
            with closing(
                read_files.store_files(
                    session,
                    txn.store_tx,
                    before,
                    folder_scan.scan.changed,
                    folder_scan.read_fingerprints,
                    progress,
                )
            ) as entries:
                edits = working_copy.diff_folder(session, folder_scan, before, entries)
            if edits:
                txn.record_snapshot(
                    edits, recorded_operation, build_message(session, before, edits)
                )
            outcome = build_snapshot_result(txn, before, edits, folder_scan.scan.notices)
            del edits  # as large as what follows
        if (
            folder_scan.scan.changed
            or folder_scan.scan.removed
            or folder_scan.base_bundle is not txn.bundle
        ):
            working_copy.save_stat_cache(session, folder_scan, txn.bundle)
    return outcome


def build_snapshot_result(
    txn: WriteTransaction, before: Bundle, edits: Edits, notices: list[Notice]
) -> Recorded:
    """Return the outcome of a snapshot that applied `edits` to `before`."""
    session = txn.session
    was = [bundles.get_entry(session.nodes, before, path) is not None for path in edits]
    pairs = list(zip(edits.values(), was, strict=True))
    return Recorded(
        txn.head.hex(),
        bundles.bundle_id(txn.bundle).hex(),
        [parent.hex() for parent in session.load_snapshot(txn.head).parents],
        bool(edits),
        sum(not was for _, was in pairs),
        sum(was and entry is not None for entry, was in pairs),
        sum(entry is None for entry, _ in pairs),
        [*notices, *_secret_notices(txn, edits), *_name_notices(txn, before, edits)],
        None,
    )


def _name_notices(txn: WriteTransaction, before: Bundle, edits: Edits) -> list[Notice]:
    if not any(path.startswith("skills/") for path in edits):
        return []
    from ..read import lookalikes

    return lookalikes.check_edited_names(txn.session, before, txn.bundle, edits)


def _secret_notices(txn: WriteTransaction, edits: Edits) -> list[Notice]:
    if not edits:
        return []
    from ..core import secret_scan

    found = secret_scan.scan_edits(txn.session, txn.head, edits) if any(edits.values()) else []
    return [*secret_scan.masked_message_notices(txn.message_was_masked), *found]
