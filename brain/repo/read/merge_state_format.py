"""Read the stored state of a merge that waits for conflicts to be resolved."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...digest import DIGEST_SIZE
from ...encoding import unpack
from ...errors import BrainError, StoreError
from ...objects import paths
from ..open.session import Session

MERGE_STATE_KEY = "merge"
"""The store's key for the state; its value is empty while no merge is pending."""

ACCEPT_COMMAND = "accept"


class ConflictRow(NamedTuple):
    """A conflict; build it by keyword. A blob is b"" where a side has no file.

    `choice` is "" while the conflict is open, one of MERGE_CHOICES, or "content" for the
    content of the blob `chosen`.
    """

    path: str
    reason: str
    base: bytes
    ours: bytes
    theirs: bytes
    choice: str = ""
    chosen: bytes = b""


class MergeState(NamedTuple):
    """A pending merge; build it by keyword.

    `theirs` is the snapshot that is merged into `branch`, and `revision` is how the user
    named it. `command` began the merge: "merge", or ACCEPT_COMMAND for a proposal.
    """

    theirs: bytes
    revision: str
    branch: str
    message: str
    rows: tuple[ConflictRow, ...] = ()
    command: str = "merge"


def load_merge_state(session: Session) -> MergeState | None:
    """Return the pending merge, or None. Raises `StoreError` if its record is damaged."""
    data = session.reader.read_meta(MERGE_STATE_KEY)
    if not data:
        return None
    try:
        return _decode_merge_state(unpack(data))
    except (TypeError, ValueError, BrainError) as error:
        raise StoreError(
            "the record of the pending merge is damaged",
            hint="restore the folder .brain from a copy",
        ) from error


def _decode_merge_state(value: Any) -> MergeState:
    if len(value) not in (5, 6):
        raise ValueError("a wrong number of fields")
    fields = (*value, "merge")[:6]  # early records lack the command
    state = MergeState(**dict(zip(MergeState._fields, fields, strict=True)))
    state = state._replace(rows=tuple(map(_decode_conflict_row, state.rows)))
    texts = state.revision, state.branch, state.message, state.command
    if type(state.theirs) is not bytes or {*map(type, texts)} != {str}:
        raise ValueError("a field has a wrong type")
    for row in state.rows:
        blobs = row.base, row.ours, row.theirs, row.chosen
        if {type(row.path), type(row.reason), type(row.choice)} != {str}:
            raise ValueError("a field has a wrong type")
        if not all(type(blob) is bytes and len(blob) in (0, DIGEST_SIZE) for blob in blobs):
            raise ValueError("a blob id has a wrong length")
        paths.check_path(row.path)
    return state


def _decode_conflict_row(value: Any) -> ConflictRow:
    return ConflictRow(**dict(zip(ConflictRow._fields, value, strict=True)))
