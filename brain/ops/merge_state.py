"""The pending merge: its conflicts, and the files with conflict markers.

Neither the head nor the folder ever moves to an unresolved state, so an agent never reads a
skill with markers in it. The texts with markers are in `.brain/conflicts`, under the paths
of the files that they will become.
"""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..encoding import pack
from ..errors import Conflict, NotFound
from ..folder import write
from ..folder.handles import FolderHandles, open_root
from ..objects.tree_node import FILE
from ..repo.log_entry import MERGE_STATE_KEY, ConflictRow, MergeState, load_merge_state
from ..repo.session import CONTROL_FOLDER, Session
from ..results import MergeConflict
from ..store.writer import StoreTransaction

if TYPE_CHECKING:
    from .merge_contents import PathConflict


CONFLICTS_FOLDER = "conflicts"


def require_merge(session: Session) -> MergeState:
    """Return the pending merge. Raises `NotFound` (`no_merge`)."""
    state = load_merge_state(session)
    if state is None:
        raise NotFound(
            "there is no pending merge", code="no_merge", hint="begin one with `brain merge REV`"
        )
    return state


def refuse_during_merge(session: Session) -> None:
    """Raise `Conflict` (`merging`) if a merge is pending."""
    state = load_merge_state(session)
    if state is not None and all(row.choice for row in state.rows):
        raise Conflict(
            f"the merge of {state.revision} is resolved, and not recorded yet",
            code="merging",
            hint="record it with `brain merge --continue`, or drop it with `brain merge --abort`",
        )
    if state is not None:
        raise Conflict(
            f"the merge of {state.revision} has unresolved conflicts",
            code="merging",
            hint="see `brain status`; finish it with `brain merge --continue` or `--abort`",
        )


def save_merge_state(tx: StoreTransaction, state: MergeState | None) -> None:
    """Store the state of a pending merge, or delete it."""
    tx.write_meta(MERGE_STATE_KEY, pack(tuple(state)) if state else b"")


def list_conflicts(session: Session) -> list[MergeConflict]:
    """Return the conflicts of the pending merge, by path; none without one."""
    state = load_merge_state(session)
    return describe_conflicts(session, state.rows) if state else []


def describe_conflicts(session: Session, rows: tuple[ConflictRow, ...]) -> list[MergeConflict]:
    """Return conflict rows as results."""
    return [
        MergeConflict(
            path=row.path,
            reason=row.reason,
            base=row.base.hex() or None,
            ours=row.ours.hex() or None,
            theirs=row.theirs.hex() or None,
            choice=row.choice or None,
            file=f"{CONTROL_FOLDER}/{CONFLICTS_FOLDER}/{row.path}"
            if marker_file(session, row.path).is_file()
            else None,
            our_path=row.our_path or None,
        )
        for row in rows
    ]


def marker_file(session: Session, path: str) -> Path:
    """Return the file with the conflict markers of a path."""
    return session.control_folder / CONFLICTS_FOLDER / path


def write_marker_files(
    session: Session, unresolved: list[PathConflict], ours: str, theirs: str
) -> None:
    """Write the texts with conflict markers; those of an earlier merge are removed."""
    from ..merging import content_merge

    remove_marker_files(session)
    with open_root(session.control_folder) as control, closing(FolderHandles(control)) as folders:
        for conflict in unresolved:
            if conflict.draft is not None:
                text = content_merge.format_with_markers(conflict.draft, ours, theirs)
                write.replace_file(folders, f"{CONFLICTS_FOLDER}/{conflict.path}", FILE, text)


def remove_marker_files(session: Session) -> None:
    """Remove all texts with conflict markers; a link instead of the folder is not followed."""
    folder = session.control_folder / CONFLICTS_FOLDER
    with suppress(OSError):
        folder.unlink()
    from shutil import rmtree  # a status reads the pending merge, and starts faster without it

    rmtree(folder, ignore_errors=True)
