"""Compare the list of pending writes with the head."""

from __future__ import annotations

from typing import NamedTuple

from ...digest import NO_DIGEST
from ...objects import bundle as bundles
from ...objects.tree_entry import TreeEntry
from ...store.protocol import PendingWrite
from ..open.session import Session


class CheckedPendingWrites(NamedTuple):
    """Pending writes, compared with the head.

    `writes` are those that agree, each with the head's entry; `not_in_head` are the paths
    of the others.
    """

    writes: list[tuple[PendingWrite, TreeEntry | None]]
    not_in_head: list[str]


def check_against_head(
    session: Session, rows: list[PendingWrite], head: bytes = NO_DIGEST
) -> CheckedPendingWrites:
    """Compare pending writes with the head of the folder, so that no row adds another file.

    `head` is that snapshot if the caller has it, else it is looked up.
    """
    writes: list[tuple[PendingWrite, TreeEntry | None]] = []
    not_in_head: list[str] = []
    bundle = session.bundle_of(head or session.folder_head()) if rows else bundles.EMPTY_BUNDLE
    for row in rows:
        entry = bundles.get_entry(session.nodes, bundle, row.path)
        recorded = (entry.kind, entry.blob) if entry else (0, NO_DIGEST)
        if recorded == (row.kind, row.blob):
            writes.append((row, entry))
        else:
            not_in_head.append(row.path)
    return CheckedPendingWrites(writes, not_in_head)
