"""The state of a merge that waits for conflicts to be resolved, and its files with conflict markers.

The head never moves onto an unresolved state, and neither does the folder: an
agent that reads its skills meanwhile sees them whole. The texts with markers lie
in `.brain/conflicts`, under the paths of the files they will become.
"""

from __future__ import annotations

import shutil
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ... import limits
from ...digest import DIGEST_SIZE
from ...encoding import pack, unpack
from ...errors import BrainError, Conflict, InvalidInput, NotFound, StoreError, printable_text
from ...objects import paths
from ...objects.tree_entry import FILE
from ...results import MergeConflict
from ...store.protocol import StoreTransaction
from ...worktree import file_reader, file_writer
from ...worktree.dirfd import FolderHandles, open_root
from ..open.discovery import CONTROL_FOLDER
from ..open.session import Session

if TYPE_CHECKING:  # a status, which asks for the merge that waits, merges nothing
    from ...merging.tree_merge import PathConflict
    from .reconcile import UnresolvedConflict

CONFLICTS_FOLDER = "conflicts"
_META_KEY = "merge"


class ConflictRow(NamedTuple):
    """A conflict; blobs are b"" where a side has no file, `choice` is "" while it is open.

    `choice` may also be "content", for the content of the blob `chosen`.
    """

    path: str
    reason: str
    base: bytes
    ours: bytes
    theirs: bytes
    choice: str
    chosen: bytes


class MergeState(NamedTuple):
    """A merge in its midst: what is merged, how it was called, where, and its conflicts.

    `by` is the command that began it: "merge" or "accept", of a proposal.
    """

    theirs: bytes
    revision: str
    branch: str
    message: str
    rows: tuple[ConflictRow, ...]
    command: str = "merge"


def load_merge_state(session: Session) -> MergeState | None:
    """Return the merge that waits, or None."""
    data = session.reader.read_meta(_META_KEY)
    if not data:
        return None
    try:
        theirs, name, branch, message, rows, *command = unpack(
            data
        )  # early notes end with the rows
        state = MergeState(
            theirs, name, branch, message, tuple(ConflictRow(*row) for row in rows), *command
        )
        _check_merge_state(state)
    except (TypeError, ValueError, BrainError) as error:
        raise StoreError(
            "the note of a merge is damaged", hint="restore the folder .brain from a copy"
        ) from error
    return state


def _check_merge_state(state: MergeState) -> None:
    """Raise `ValueError` or `InvalidInput` for a note that no merge has written."""
    theirs, *texts, _, command = state
    if type(theirs) is not bytes or {*map(type, texts), type(command)} != {str}:
        raise ValueError(theirs)
    for row in state.rows:
        path, reason, *blobs, choice, chosen = row
        if {type(path), type(reason), type(choice)} != {str}:
            raise ValueError(path)
        if not all(
            type(blob) is bytes and len(blob) in (0, DIGEST_SIZE) for blob in (*blobs, chosen)
        ):
            raise ValueError(path)
        paths.check_path(path)


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
    tx.write_meta(_META_KEY, pack(tuple(state)) if state else b"")


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
