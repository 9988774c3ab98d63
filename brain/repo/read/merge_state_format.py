"""The stored state of a merge that waits for conflicts to be resolved: its format and reader."""

from __future__ import annotations

from typing import NamedTuple

from ...digest import DIGEST_SIZE
from ...encoding import unpack
from ...errors import BrainError, StoreError
from ...objects import paths
from ..open.session import Session

MERGE_STATE_KEY = "merge"
"""Name of the fact of the store that holds the state; it is empty while no merge waits."""


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
    data = session.reader.read_meta(MERGE_STATE_KEY)
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
