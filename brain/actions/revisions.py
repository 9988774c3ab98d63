"""Revisions: how people name a snapshot.

`@` is the head, `NAME` a branch, an id or a unique prefix of it of six digits or
more a snapshot; each may be followed by `~N`, the N-th ancestor along first
parents.
"""

from __future__ import annotations

from ..errors import InvalidInput, NotFound, printable
from ..objects import lineage
from ..session import Session, head_ref

FEWEST_DIGITS = 6
_HEX = frozenset("0123456789abcdef")


def resolve(session: Session, revision: str) -> bytes:
    """Return the snapshot id that `revision` names.

    Raises `InvalidInput` (`bad_revision`, `ambiguous_id`) or `NotFound`
    (`no_revision`).
    """
    found = _resolved(session, revision)
    session.ask_about(found)
    return found


def _resolved(session: Session, revision: str) -> bytes:
    base, tilde, back = revision.partition("~")
    if tilde and not (back.isascii() and back.isdigit() and len(back) <= 9):
        raise _bad(revision)
    start = _base(session, base)
    if not tilde:
        return start
    depth = session.load(start).jump.depth - int(back)
    found = lineage.ancestor_at(session.load, start, depth)
    if found is None:
        raise NotFound(
            f"{printable(revision)} lies before the first snapshot",
            code="no_revision",
            hint="see `brain log`",
        )
    return found


def _base(session: Session, base: str) -> bytes:
    if base == "@":
        return session.head()
    if not base or set(base) - _HEX or not FEWEST_DIGITS <= len(base) <= 64:
        branch = session.reader.ref(head_ref(base)) if base else None
        if branch is None:
            raise _bad(base)
        return branch  # whose name never looks like an id, lest it stand for another snapshot
    found = session.reader.find(base)
    if len(found) > 1:
        raise InvalidInput(
            f"{base} is the start of more than one id",
            code="ambiguous_id",
            hint="give more digits",
        )
    if not found:
        raise NotFound(f"no snapshot {base}", code="no_revision", hint="see `brain log`")
    return found[0][1]


def _bad(text: str) -> InvalidInput:
    return InvalidInput(
        f"not a revision: {printable(text, 80)!r}",
        code="bad_revision",
        hint="a revision is @, @~N, a branch, or six or more hex digits of an id",
    )
