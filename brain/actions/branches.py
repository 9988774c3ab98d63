"""Branches: lines of work with a name, each standing at a snapshot."""

from __future__ import annotations

import re

from .. import limits
from ..errors import Conflict, InvalidInput, NotFound, printable
from ..objects import bundle as bundles
from ..results import Branch, Branches, Switched
from ..session import Session, head_ref
from . import folder, midst
from .byhand import record_by_hand
from .files import Progress, no_progress
from .holdable import refuse_target
from .redacted import left_out
from .revisions import resolve
from .turn import locked, log_operation, recording, transaction
from .within import Within

_NAME = re.compile(r"[^\W_][\w.+-]*(?:/[^\W_][\w.+-]*)*")
_LIKE_AN_ID = re.compile(r"[0-9a-f]{6,64}")
_PREFIX = head_ref("")
PROPOSALS = head_ref("proposed/")
"""What the refs of proposals begin with; see `proposing`."""


def check_name(name: str) -> str:
    """Return a name that a branch may have.

    Letters, digits and `_.+-` in parts divided by `/`, each part beginning with a
    letter or digit; nothing that reads as an id, ends in `.lock` or has `..`.
    Raises `InvalidInput` (`bad_branch`).
    """
    odd = ".." in name or name.endswith((".lock", ".")) or len(name.encode()) > limits.MAX_BRANCH
    if odd or not _NAME.fullmatch(name) or _LIKE_AN_ID.fullmatch(name):
        raise InvalidInput(
            f"not a name for a branch: {printable(name, 80)!r}",
            code="bad_branch",
            hint="use letters, digits, '-', '.' and '/', and nothing that looks like an id",
        )
    return name


def overview(session: Session) -> Branches:
    """Return where all branches stand."""
    return Branches(session.head().hex(), branches(session), midst.conflicts(session))


def branches(session: Session) -> list[Branch]:
    """Return all branches by name."""
    current = session.branch()
    return [
        Branch(name.removeprefix(_PREFIX), head.hex(), name == head_ref(current))
        for name, head in session.reader.refs().items()
        if name.startswith(_PREFIX)
    ]


def create(session: Session, name: str, revision: str = "@") -> Branch:
    """Make a branch that stands at a revision.

    Raises `InvalidInput` (`bad_branch`) or `Conflict` (`branch_exists`).
    """
    ref = head_ref(check_name(name))
    with locked(session), transaction(session) as tx:
        _refuse_taken(session, name)
        at = resolve(session, revision)
        tx.set_ref(ref, None, at)
        log_operation(session, tx, "branch", f"branch {name}", [(ref, b"", at)])
    return Branch(name, at.hex(), False)


def delete(session: Session, name: str) -> Branch:
    """Remove a branch whose work another one holds.

    Raises `NotFound` (`no_branch`), or `Conflict` (`current_branch`, `not_merged`).
    """
    with locked(session), transaction(session) as tx:
        at = _standing(session, name)
        if name == session.branch():
            raise Conflict(
                f"{printable(name)} is the current branch",
                code="current_branch",
                hint="switch to another one first",
            )
        ref = head_ref(name)
        others = [head for other, head in session.reader.refs().items() if other != ref]
        if not any(at in Within(session, head) for head in others):
            raise Conflict(
                f"{printable(name)} holds snapshots that no other branch has",
                code="not_merged",
                hint=f"merge it, or keep its work under another name: {at.hex()[:12]}",
            )
        tx.set_ref(ref, at, None)
        log_operation(session, tx, "branch", f"delete branch {name}", [(ref, at, b"")])
    return Branch(name, at.hex(), False)


def switch(session: Session, name: str, progress: Progress = no_progress) -> Switched:
    """Go on with another branch, and make the folder what it holds.

    What would be overwritten unrecorded is recorded first, on the branch that is
    left; other changes of the folder stay, and redacted files are left out. Raises
    `NotFound` (`no_branch`), or `Conflict` (`merging`) in the midst of a merge.
    """
    redacted: set[str] = set()
    with locked(session):
        midst.refuse(session)
        with recording(session, "switch", f"switch to {name}", progress) as mine:
            at = _standing(session, name)
            if name != mine.branch:
                target = session.bundle_of(at)
                refuse_target(session, mine.bundle, target)
                differing = [d.path for d in bundles.compare(session.nodes, mine.bundle, target)]
                record_by_hand(mine, folder.edits_at(session, mine.tx, mine.bundle, differing))
                found = bundles.compare(session.nodes, mine.bundle, target)
                mine.writes = {path: now for path, _, now in found}
                redacted = left_out(session, mine.writes.values())
                mine.writes.update(dict.fromkeys(redacted))
                mine.leave_for(name)
    written = sorted(path for path, entry in mine.writes.items() if entry is not None)
    removed = sorted(mine.writes.keys() - {*written, *redacted})
    return Switched(name, at.hex(), written, removed, sorted(redacted), [])


def _standing(session: Session, name: str) -> bytes:
    at = session.reader.ref(head_ref(name))
    if at is None:
        raise NotFound(f"no branch {printable(name)}", code="no_branch", hint="see `brain branch`")
    return at


def _refuse_taken(session: Session, name: str) -> None:
    """A branch `a` and a branch `a/b` cannot stand side by side where refs are files."""
    for branch in branches(session):
        if (
            name == branch.name
            or (name + "/").startswith(branch.name + "/")
            or (branch.name.startswith(name + "/"))
        ):
            raise Conflict(
                f"there is a branch {printable(branch.name)}",
                code="branch_exists",
                hint="choose another name, or go to it with `brain switch`",
            )
