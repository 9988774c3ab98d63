"""The state of a merge that waits for conflicts to be resolved, and its files with conflict markers.

The head never moves onto an unresolved state, and neither does the folder: an
agent that reads its skills meanwhile sees them whole. The texts with markers lie
in `.brain/conflicts`, under the paths of the files they will become.
"""

from __future__ import annotations

import shutil
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ... import limits
from ...encoding import pack
from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...objects.tree_entry import FILE
from ...results import MergeConflict
from ...store.protocol import StoreTransaction
from ...worktree import file_reader, file_writer
from ...worktree.dirfd import FolderHandles, open_root
from ..open.session import CONTROL_FOLDER, Session
from ..read.merge_state_format import (
    MERGE_STATE_KEY,
    ConflictRow,
    MergeState,
    load_merge_state,
)

if TYPE_CHECKING:  # a status, which asks for the merge that waits, merges nothing
    from ...merging.tree_merge import PathConflict
    from .reconcile import UnresolvedConflict

CONFLICTS_FOLDER = "conflicts"


def require_merge(session: Session) -> MergeState:
    """Return the merge that waits. Raises `NotFound` (`no_merge`)."""
    state = load_merge_state(session)
    if state is None:
        raise NotFound("no merge waits for anything", code="no_merge", hint="see `brain merge`")
    return state


def refuse_during_merge(session: Session) -> None:
    """Raise `Conflict` (`merging`) in the midst of a merge."""
    state = load_merge_state(session)
    if state is not None:
        raise Conflict(
            f"the merge of {printable_text(state.revision)} waits for decisions",
            code="merging",
            hint="see `brain status`; finish it with `brain merge --continue` or `--abort`",
        )


def save_merge_state(tx: StoreTransaction, state: MergeState | None) -> None:
    """Keep the state of a merge, or forget it."""
    tx.write_meta(MERGE_STATE_KEY, pack(tuple(state)) if state else b"")


def build_conflict_row(conflict: UnresolvedConflict) -> ConflictRow:
    """Return a clash as it is kept, undecided."""
    path, *sides = conflict.contest
    base, ours, theirs = (side.blob if side else b"" for side in sides)
    return ConflictRow(path, conflict.reason, base, ours, theirs, "", b"")


def conflict_sides(row: ConflictRow) -> tuple[str, bytes, bytes, bytes]:
    """Return what a decision is about: it holds for no other contents."""
    return row.path, row.base, row.ours, row.theirs


def conflict_reason(contest: PathConflict) -> str:
    """Return why a contest that is decided already was one, as far as its sides tell."""
    if contest.ours is None or contest.theirs is None:
        return "deleted_by_ours" if contest.ours is None else "deleted_by_theirs"
    return "content"


def list_conflicts(session: Session) -> list[MergeConflict]:
    """Return the conflicts of the merge that waits, if any, by path."""
    state = load_merge_state(session)
    return describe_conflicts(session, state.rows) if state else []


def describe_conflicts(session: Session, rows: tuple[ConflictRow, ...]) -> list[MergeConflict]:
    """Return rows as results give them."""
    return [
        MergeConflict(
            row.path,
            row.reason,
            row.base.hex() or None,
            row.ours.hex() or None,
            row.theirs.hex() or None,
            row.choice or None,
            _marker_path(row.path) if marker_file(session, row.path).is_file() else None,
        )
        for row in rows
    ]


def marker_file(session: Session, path: str) -> Path:
    """Return where the text with markers of a conflict lies."""
    return session.control_folder / CONFLICTS_FOLDER / path


def _marker_path(path: str) -> str:
    return f"{CONTROL_FOLDER}/{CONFLICTS_FOLDER}/{path}"


def read_marker_file(session: Session, path: str) -> bytes | None:
    """Return the text with markers of a conflict, None if there is none.

    Raises `InvalidInput` (`too_large`, and what `read_whole` raises).
    """
    file = marker_file(session, path)
    if file.is_symlink() or not file.is_file():
        return None
    max_bytes = limits.MAX_LINE_MERGE_BYTES
    content = file_reader.read_working_file(
        session.control_folder, f"{CONFLICTS_FOLDER}/{path}", max_bytes
    )
    if content is None:
        raise InvalidInput(f"{printable_text(path)} is too large to be merged", code="too_large")
    return content


def write_marker_files(
    session: Session, unresolved: list[UnresolvedConflict], ours: str, theirs: str
) -> None:
    """Write the texts with markers, replacing those of an earlier merge."""
    from ...merging import content_merge

    remove_marker_files(session)
    with open_root(session.control_folder) as control, closing(FolderHandles(control)) as folders:
        for conflict in unresolved:
            if conflict.draft is not None:
                text = content_merge.format_with_markers(conflict.draft, ours, theirs)
                file_writer.replace_file(
                    folders, f"{CONFLICTS_FOLDER}/{conflict.contest.path}", FILE, text
                )


def remove_marker_files(session: Session) -> None:
    """Remove all texts with markers; a link in their place goes, what it leads to stays."""
    folder = session.control_folder / CONFLICTS_FOLDER
    with suppress(OSError):
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
