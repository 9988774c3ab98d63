"""Create, delete, list and switch branches."""

from __future__ import annotations

import re

from ... import limits
from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...objects import bundle as bundles
from ...results import Branch, Branches, Switched
from ...util.progress import Progress, no_progress
from ..core import working_copy
from ..core.path_collisions import refuse_invalid_bundle
from ..core.transaction import lock_for_writing, log_operation, store_transaction, write_transaction
from ..core.working_copy import find_redacted_paths
from ..open.session import Session, head_ref
from ..read.ancestor_set import AncestorSet
from ..read.revisions import resolve_revision
from . import merge_state

_BRANCH_NAME = re.compile(r"[^\W_][\w.+-]*(?:/[^\W_][\w.+-]*)*")
_ID_LIKE = re.compile(r"[0-9a-f]{6,64}")
_BRANCH_REF_PREFIX = head_ref("")
PROPOSAL_REF_PREFIX = head_ref("proposed/")
"""What the refs of proposals begin with; see `proposing`."""


def check_branch_name(name: str) -> str:
    """Return a name that a branch may have.

    Letters, digits and `_.+-` in parts divided by `/`, each part beginning with a
    letter or digit; nothing that reads as an id, ends in `.lock` or has `..`.
    Raises `InvalidInput` (`bad_branch`).
    """
    odd = (
        ".." in name
        or name.endswith((".lock", "."))
        or len(name.encode()) > limits.MAX_BRANCH_BYTES
    )
    if odd or not _BRANCH_NAME.fullmatch(name) or _ID_LIKE.fullmatch(name):
        raise InvalidInput(
            f"not a name for a branch: {printable_text(name, 80)!r}",
            code="bad_branch",
            hint="use letters, digits, '-', '.' and '/', and nothing that looks like an id",
        )
    return name


def summarize_branches(session: Session) -> Branches:
    """Return where all branches stand."""
    return Branches(
        session.head().hex(), list_branches(session), merge_state.list_conflicts(session)
    )


def list_branches(session: Session) -> list[Branch]:
    """Return all branches by name."""
    current = session.current_branch()
    return [
        Branch(name.removeprefix(_BRANCH_REF_PREFIX), head.hex(), name == head_ref(current))
        for name, head in session.reader.list_refs().items()
        if name.startswith(_BRANCH_REF_PREFIX)
    ]


def create_branch(session: Session, name: str, revision: str = "@") -> Branch:
    """Make a branch that stands at a revision.

    Raises `InvalidInput` (`bad_branch`) or `Conflict` (`branch_exists`).
    """
    ref = head_ref(check_branch_name(name))
    with lock_for_writing(session), store_transaction(session) as tx:
        _refuse_name_collision(session, name)
        at = resolve_revision(session, revision)
        tx.update_ref(ref, None, at)
        log_operation(session, tx, "branch", f"branch {name}", [(ref, b"", at)])
    return Branch(name, at.hex(), False)


def delete_branch(session: Session, name: str) -> Branch:
    """Remove a branch whose work another one holds.

    Raises `NotFound` (`no_branch`), or `Conflict` (`current_branch`, `not_merged`).
    """
    with lock_for_writing(session), store_transaction(session) as tx:
        at = _require_branch_head(session, name)
        if name == session.current_branch():
            raise Conflict(
                f"{printable_text(name)} is the current branch",
                code="current_branch",
                hint="switch to another one first",
            )
        ref = head_ref(name)
        others = [head for other, head in session.reader.list_refs().items() if other != ref]
        if not any(at in AncestorSet(session, head) for head in others):
            raise Conflict(
                f"{printable_text(name)} holds snapshots that no other branch has",
                code="not_merged",
                hint=f"merge it, or keep its work under another name: {at.hex()[:12]}",
            )
        tx.update_ref(ref, at, None)
        log_operation(session, tx, "branch", f"delete branch {name}", [(ref, at, b"")])
    return Branch(name, at.hex(), False)


def switch_branch(session: Session, name: str, progress: Progress = no_progress) -> Switched:
    """Go on with another branch, and make the folder what it holds.

    What would be overwritten unrecorded is recorded first, on the branch that is
    left; other changes of the folder stay, and redacted files are left out. Raises
    `NotFound` (`no_branch`), or `Conflict` (`merging`) in the midst of a merge.
    """
    redacted: set[str] = set()
    with lock_for_writing(session):
        merge_state.refuse_during_merge(session)
        with write_transaction(session, "switch", f"switch to {name}", progress) as txn:
            at = _require_branch_head(session, name)
            if name != txn.branch:
                target = session.bundle_of(at)
                refuse_invalid_bundle(session, txn.bundle, target)
                differing = [
                    d.path for d in bundles.diff_bundles(session.nodes, txn.bundle, target)
                ]
                txn.record_manual_edits(
                    working_copy.store_edits_at(session, txn.store_tx, txn.bundle, differing)
                )
                differences = bundles.diff_bundles(session.nodes, txn.bundle, target)
                txn.writes = {path: now for path, _, now in differences}
                redacted = find_redacted_paths(session, txn.writes.values())
                txn.writes.update(dict.fromkeys(redacted))
                txn.switch_branch(name)
    written = sorted(path for path, entry in txn.writes.items() if entry is not None)
    removed = sorted(txn.writes.keys() - {*written, *redacted})
    return Switched(name, at.hex(), written, removed, sorted(redacted), [])


def _require_branch_head(session: Session, name: str) -> bytes:
    at = session.reader.read_ref(head_ref(name))
    if at is None:
        raise NotFound(
            f"no branch {printable_text(name)}", code="no_branch", hint="see `brain branch`"
        )
    return at


def _refuse_name_collision(session: Session, name: str) -> None:
    """A branch `a` and a branch `a/b` cannot stand side by side where refs are files."""
    for branch in list_branches(session):
        if (
            name == branch.name
            or (name + "/").startswith(branch.name + "/")
            or (branch.name.startswith(name + "/"))
        ):
            raise Conflict(
                f"there is a branch {printable_text(branch.name)}",
                code="branch_exists",
                hint="choose another name, or go to it with `brain switch`",
            )
