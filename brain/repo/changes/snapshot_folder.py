"""Snapshot the folder; compare the folder with the head (status)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from ...errors import BrainError, error_from_os, printable_text
from ...folder import handles
from ...objects import bundle as bundles
from ...objects import operation
from ...objects.bundle import Bundle, Edits
from ...objects.operation import SnapshotOperation
from ...results import LeftOutSkills, Notice, Recorded, Status, Uncovered, Verified
from ...skills.skill_layout import SKILL_FILES
from ...util.progress import Progress, no_progress
from .. import derive
from ..core import read_files, working_copy
from ..core.pending_writes import find_pending_writes
from ..core.transaction import WriteTransaction, lock_for_writing, write_transaction
from ..core.working_copy import FolderScan
from ..log_entry import load_merge_state
from ..open.session import Session

SNAPSHOT_OPERATION = operation.snapshot_operation()
_MAX_NAMED_UNCOVERED = 100
UNWRITTEN_CODE = "unwritten"
"""The code of the notice about a file that is recorded but not yet written."""

MessageBuilder = Callable[[Session, Bundle, Edits], str]
"""Builds the message of a snapshot from the bundle before it and the edits."""


def read_status(session: Session, strict: bool = False, progress: Progress = no_progress) -> Status:
    """Compare the folder with the head; write nothing.

    With `strict`, raises `InvalidInput` for what is skipped else.
    """
    from ...ops import merge_state

    head = session.head()
    target = session.bundle_of(head)
    folder_scan, edits, pending = _compare_folder(session, target, progress)
    if strict:
        working_copy.refuse_skipped(folder_scan.scan.skipped)
    is_recorded = {path: bundles.has_entry(session.nodes, target, path) for path in edits}
    changed = sorted(path for path in edits if path not in pending)
    pending_merge = load_merge_state(session)
    return Status(
        brain=session.brain_id().hex(),
        head=head.hex(),
        branch=session.current_branch(),
        clean=not changed,
        added=[path for path in changed if not is_recorded[path]],
        modified=[path for path in changed if is_recorded[path] and edits[path] is not None],
        removed=[path for path in changed if edits[path] is None],
        notices=[
            *folder_scan.notices,
            *_unwritten_notices(session, pending),
            *_content_notices(session, target, {path: edits[path] for path in changed}),
        ],
        merging=pending_merge.revision if pending_merge else None,
        conflicts=merge_state.describe_conflicts(session, pending_merge.rows)
        if pending_merge
        else [],
        left_out_skills=folder_scan.scan.left_out_skills,
    )


def _compare_folder(
    session: Session, target: Bundle, progress: Progress
) -> tuple[FolderScan, Edits, Edits]:
    """Return the scan of the folder, its edits of `target`, and the pending ones among these."""
    folder_scan = working_copy.scan_folder(session, progress)
    skipped = folder_scan.scan.skipped
    entries = working_copy.hash_files(session, folder_scan.scan.changed, skipped)
    edits = working_copy.diff_folder(session, folder_scan, target, entries)
    return (
        folder_scan,
        edits,
        find_pending_writes(session, session.reader.list_pending_writes()),
    )


def add_uncovered(
    session: Session, verified: Verified, progress: Progress = no_progress
) -> Verified:
    """Add to a verification which files of the folder differ from the head; write nothing."""
    if not session.has_folder or not verified.head:
        return verified
    try:
        found, edits, pending = _compare_folder(
            session, session.bundle_of(session.head()), progress
        )
    except (BrainError, OSError) as error:  # the lineage is verified all the same
        failed = error_from_os(error) if isinstance(error, OSError) else error
        return verified._replace(uncovered=Uncovered(0, [], failed.message))
    left_out = {one.path for one in found.scan.notices if one.code != "hard_link"}
    left_out.update(map(printable_text, working_copy.list_skipped(found.scan.skipped)))
    paths = sorted(left_out.union(path for path in edits if path not in pending))
    return verified._replace(uncovered=Uncovered(len(paths), paths[:_MAX_NAMED_UNCOVERED], ""))


def _unwritten_notices(session: Session, pending: Edits) -> list[Notice]:
    message = "recorded, but not yet written; the next writing command writes it"
    return [
        Notice(UNWRITTEN_CODE, path, message)
        for path, entry in sorted(pending.items())
        if entry or handles.lstat_or_none(session.root / path)
    ]


def _content_notices(session: Session, before: Bundle, edits: Edits) -> list[Notice]:
    if not edits:
        return []
    from . import content_notices

    return content_notices.check_folder(session, before, edits)


def snapshot_folder(
    session: Session,
    message: str = "",
    strict: bool = False,
    progress: Progress = no_progress,
    recorded_operation: SnapshotOperation = SNAPSHOT_OPERATION,
) -> Recorded:
    """Record the folder; without changes, no snapshot is made.

    With `strict`, raises `InvalidInput` for what is skipped else.
    """
    description = message or recorded_operation[0]
    return snapshot_folder_auto_message(
        session, lambda *_: message, description, strict, progress, recorded_operation
    )


def snapshot_folder_auto_message(
    session: Session,
    build_message: MessageBuilder,
    description: str,
    strict: bool = False,
    progress: Progress = no_progress,
    recorded_operation: SnapshotOperation = SNAPSHOT_OPERATION,
) -> Recorded:
    """As `snapshot_folder`, with a message built from the edits."""
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
                    folder_scan.scan.skipped,
                )
            ) as entries:
                edits = working_copy.diff_folder(session, folder_scan, before, entries)
            if strict:
                working_copy.refuse_skipped(folder_scan.scan.skipped)
            if edits:
                txn.record_snapshot(
                    edits, recorded_operation, build_message(session, before, edits)
                )
            outcome = build_snapshot_result(txn, before, edits, folder_scan.notices)
            left_out_skills = [*folder_scan.scan.left_out_skills, *outcome.left_out_skills]
            outcome = outcome._replace(left_out_skills=left_out_skills)
            del edits  # frees memory before the cache is written
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
    """Return the result of a snapshot that applied `edits` to `before`."""
    session = txn.session
    existed = [bundles.has_entry(session.nodes, before, path) for path in edits]
    pairs = list(zip(edits.values(), existed, strict=True))
    return Recorded(
        snapshot=txn.head.hex(),
        bundle=bundles.bundle_id(txn.bundle).hex(),
        parents=[parent.hex() for parent in session.load_snapshot(txn.head).parents],
        changed=bool(edits),
        added=sum(not existed for _, existed in pairs),
        modified=sum(existed and entry is not None for entry, existed in pairs),
        removed=sum(entry is None for entry, _ in pairs),
        notices=[*notices, *_edit_notices(txn, before, edits)],
        commitment=None,
        left_out_skills=_find_other_texts(txn, edits),
    )


def _find_other_texts(txn: WriteTransaction, edits: Edits) -> list[LeftOutSkills]:
    if not any(path.endswith(SKILL_FILES) for path in edits):
        return []
    from .skill_survey import find_other_texts

    return find_other_texts(txn.session, txn.bundle, edits)


def _edit_notices(txn: WriteTransaction, before: Bundle, edits: Edits) -> list[Notice]:
    if not edits:
        return []
    from . import content_notices

    return [
        *_secret_notices(txn, edits),
        *_name_notices(txn, before, edits),
        *content_notices.check_recorded(txn.session, before, edits),
    ]


def _name_notices(txn: WriteTransaction, before: Bundle, edits: Edits) -> list[Notice]:
    if not any(map(derive.may_be_skill, edits)):
        return []
    from .. import lookalikes

    return lookalikes.check_edited_names(txn.session, before, txn.bundle, edits)


def _secret_notices(txn: WriteTransaction, edits: Edits) -> list[Notice]:
    if not edits:
        return []
    from ..core import secret_scan

    notices = secret_scan.scan_edits(txn.session, txn.head, edits) if any(edits.values()) else []
    return [*secret_scan.masked_message_notices(txn.message_was_masked), *notices]
