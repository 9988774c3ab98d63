"""The files a writer is about to write: announced in the store, then written.

The list survives a crash, so the next writer goes on with it. A file that somebody
touched in between is left alone: it is then an edit like any other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..digest import EMPTY
from ..objects.entry import Entry
from ..session import Session
from ..store.protocol import Pending, Transaction
from ..worktree.stats import fingerprint
from . import files
from .files import NOTHING, Progress, no_progress


def announce(session: Session, tx: Transaction, writes: Mapping[str, Entry | None]) -> None:
    """Put the files to be written on the list that survives a crash."""
    tx.set_pending(
        [
            Pending(
                path,
                entry.kind if entry else 0,
                entry.blob if entry else EMPTY,
                _fingerprint_of(session, path),
            )
            for path, entry in writes.items()
        ]
    )


def apply(
    session: Session,
    writes: Mapping[str, Entry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NOTHING,
) -> None:
    """Write files that were announced, and take them off the list."""
    if writes:
        files.write(session, writes, progress, contents)
        session.store.settle()


def finish(session: Session, rows: list[Pending]) -> None:
    """Write what a killed writer had recorded but not written."""
    left: dict[str, Entry | None] = {}
    for row in rows:
        now = _fingerprint_of(session, row.path)
        if not row.blob and now in (row.before, EMPTY):  # its folders may still be there
            left[row.path] = None
        elif row.blob and now == row.before:
            left[row.path] = Entry(row.path, row.kind, row.blob, session.store.blob_size(row.blob))
    files.write(session, left)
    session.store.settle()


def _fingerprint_of(session: Session, path: str) -> bytes:
    """Return the fingerprint of a file of the folder, empty if there is none."""
    try:
        return fingerprint(os.lstat(os.path.join(session.root, path)))
    except (FileNotFoundError, NotADirectoryError):
        return EMPTY
