"""Resolve revisions: the ways to name a snapshot.

`@` is the head. The name of a branch is its head, that of a tag its snapshot. An id, or a
unique prefix of one of six digits or more, is that snapshot. `~N` behind any of these is its
N-th ancestor along first parents.
"""

from __future__ import annotations

from ..digest import is_hex
from ..errors import InvalidInput, NotFound, printable_text
from ..objects import lineage
from .session import Session, head_ref

MIN_ID_DIGITS = 6
TAG_REF_PREFIX = "tags/"
"""The prefix of the refs of tags."""


def resolve_revision(session: Session, revision: str) -> bytes:
    """Return the snapshot id that `revision` names.

    Raises `InvalidInput` (`bad_revision`, `ambiguous_id`) or `NotFound`
    (`no_revision`).
    """
    found = _resolve(session, revision)
    session.note_resolved(found)
    return found


def has_snapshot(session: Session, snapshot: str) -> bool:
    """Tell whether this brain has the snapshot of a full id, on any branch or none."""
    return (
        is_hex(snapshot) and len(snapshot) == 64 and bool(session.reader.find_snapshots(snapshot))
    )


def _resolve(session: Session, revision: str) -> bytes:
    base, tilde, steps_back = revision.partition("~")
    if tilde and not (steps_back.isascii() and steps_back.isdigit() and len(steps_back) <= 9):
        raise _bad_revision_error(revision)
    start = _resolve_base(session, base)
    if not tilde:
        return start
    depth = session.load_snapshot(start).jump.depth - int(steps_back)
    found = lineage.find_ancestor_at(session.load_snapshot, start, depth)
    if found is None:
        raise NotFound(
            f"{revision} goes back before the first snapshot",
            code="no_revision",
            hint="`brain log` lists the snapshots",
        )
    return found


def _resolve_base(session: Session, base: str) -> bytes:
    if base == "@":
        return session.head()
    if not is_hex(base) or not MIN_ID_DIGITS <= len(base) <= 64:
        read_ref = session.reader.read_ref
        named = (read_ref(head_ref(base)) or read_ref(TAG_REF_PREFIX + base)) if base else None
        if named is None:
            raise _bad_revision_error(base)
        return named  # no branch or tag looks like an id, see `check_branch_name`
    found = session.reader.find_snapshots(base)
    if len(found) > 1:
        raise InvalidInput(
            f"{base} is the start of more than one id",
            code="ambiguous_id",
            hint="give more digits",
        )
    if not found:
        raise NotFound(
            f"there is no snapshot, branch or tag {base}",
            code="no_revision",
            hint="`brain log`, `brain branch` and `brain tag --list` list them",
        )
    return found[0][1]


def _bad_revision_error(text: str) -> InvalidInput:
    return InvalidInput(
        f"'{printable_text(text, 80)}' is not a revision",
        code="bad_revision",
        hint="a revision is @, @~N, a branch, a tag, or six or more hex digits of an id",
    )


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
