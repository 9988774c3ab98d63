"""Compare the list of pending writes with the head."""

from __future__ import annotations

from typing import NamedTuple

from ...digest import NO_DIGEST
from ...objects import bundle as bundles
from ...objects.tree_entry import TreeEntry
from ...store.protocol import PendingWrite
from ..open.session import Session


class CheckedPendingWrites(NamedTuple):
    """A list of files to be written, held against the head.

    `writes` are notes with what the head has at their paths, and `foreign` the paths of
    those of which the head says otherwise.
    """

    writes: list[tuple[PendingWrite, TreeEntry | None]]
    not_in_head: list[str]


def check_against_head(
    session: Session, rows: list[PendingWrite], head: bytes = NO_DIGEST
) -> CheckedPendingWrites:
    """Hold a list against the head that the folder is of: no store can add a file to it.

    `head` is that snapshot, if the caller has it.
    """
    writes: list[tuple[PendingWrite, TreeEntry | None]] = []
    foreign: list[str] = []
    bundle = session.bundle_of(head or session.folder_head()) if rows else bundles.EMPTY_BUNDLE
    for row in rows:
        entry = bundles.get_entry(session.nodes, bundle, row.path)
        said = (entry.kind, entry.blob) if entry else (0, NO_DIGEST)
        if said == (row.kind, row.blob):
            writes.append((row, entry))
        else:
            foreign.append(row.path)
    return CheckedPendingWrites(writes, foreign)
