"""The refs of rejected attempts at skills: `rejected/SLUG/ID`, apart from branches and tags."""

from __future__ import annotations

from ..open.session import Session

REJECTED_REF_PREFIX = "rejected/"
MAX_REJECTED = 20
"""Rejected attempts of a brain that garbage collection keeps, the newest ones."""
DROP_KIND = "gc"
"""The kind of the operation by which garbage collection drops refs; undo passes over it."""


def list_rejected_refs(session: Session, slug: str = "") -> list[tuple[str, bytes]]:
    """Return ref and snapshot of the rejected attempts, all or of a slug, newest first."""
    prefix = f"{REJECTED_REF_PREFIX}{slug}/" if slug else REJECTED_REF_PREFIX
    refs = session.reader.list_refs().items()
    found = [(name, snapshot) for name, snapshot in refs if name.startswith(prefix)]
    times = {snapshot: session.load_snapshot(snapshot) for _, snapshot in found}
    found.sort(key=lambda row: (times[row[1]].time, times[row[1]].generation, row), reverse=True)
    return found
