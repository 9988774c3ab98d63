"""Create, delete, list and switch branches; create, delete and list tags.

A tag is a ref `tags/NAME` that never moves, so garbage collection keeps its snapshot, and the
operation log has it. Where new snapshots are signed, the snapshot that a tag names is signed
too; the name itself is local, as a branch is.
"""

from __future__ import annotations

import re

from .. import limits
from ..errors import Conflict, InvalidInput, NotFound, printable_text
from ..objects.collisions import require_portable
from ..repo.lineage_cache import AncestorSet
from ..repo.session import TAG_REF_PREFIX, Session, head_ref
from ..repo.signing.sign import read_valid_signatures
from ..repo.transaction import (
    lock_for_writing,
    log_operation,
    sign_new_snapshot,
    store_transaction,
    write_transaction,
)
from ..repo.working_copy import find_redacted_paths
from ..results import Branch, Branches, Switched, Tag
from ..util.progress import Progress, no_progress
from ..util.utc_time import utc_time
from . import merge_state

_BRANCH_NAME = re.compile(r"[^\W_][\w.+-]*(?:/[^\W_][\w.+-]*)*")
_ID_LIKE = re.compile(r"[0-9a-f]{6,64}")
_BRANCH_REF_PREFIX = head_ref("")
PROPOSAL_REF_PREFIX = head_ref("proposed/")
"""The prefix of the refs of proposals; see `proposals`."""


def check_branch_name(name: str, kind: str = "branch") -> str:
    """Return `name` if it is a valid one of a branch or a tag, the `kind`.

    It consists of parts separated by `/`, each of letters, digits and `_.+-`, starting with
    a letter or digit. It does not look like an id, end in `.lock` or contain `..`. Raises
    `InvalidInput` (`bad_branch`, `bad_tag`).
    """
    is_reserved = (
        ".." in name
        or name.endswith((".lock", "."))
        or len(name.encode()) > limits.MAX_BRANCH_BYTES
    )
    if is_reserved or not _BRANCH_NAME.fullmatch(name) or _ID_LIKE.fullmatch(name):
        raise InvalidInput(
            f"'{printable_text(name, 80)}' is not a valid name of a {kind}",
            code="bad_tag" if kind == "tag" else "bad_branch",
            hint="use letters, digits, '-', '.' and '/', but not the form of an id",
        )
    return name


def list_branches(session: Session) -> Branches:
    """Return all branches with their heads, and the conflicts of the pending merge."""
    current = session.current_branch()
    return Branches(
        session.head().hex(),
        [
            Branch(name, head.hex(), name == current)
            for name, head in _list_refs(session, _BRANCH_REF_PREFIX).items()
        ],
        merge_state.list_conflicts(session),
    )


def create_branch(session: Session, name: str, rev: str = "@") -> Branch:
    """Create a branch at a revision.

    Raises `InvalidInput` (`bad_branch`) or `Conflict` (`branch_exists`, `tag_exists`).
    """
    return Branch(name, _create_ref(session, "branch", name, rev).hex(), False)


def _create_ref(session: Session, kind: str, name: str, rev: str) -> bytes:
    """Give a snapshot a name, as a branch or a tag; return the snapshot.

    As in git, there is no branch beside one of that name, and no `a/b` beside `a`.
    """
    check_branch_name(name, kind)
    ref = head_ref(name) if kind == "branch" else TAG_REF_PREFIX + name
    with lock_for_writing(session), store_transaction(session) as tx:
        tagged = tx.read_ref(TAG_REF_PREFIX + name)
        if tagged is not None:
            raise Conflict(
                f"the tag {name} is at {tagged.hex()[:12]}; tags do not move",
                code="tag_exists",
                hint=f"choose another name, or delete it with `brain tag --delete {name}`",
            )
        for branch in _list_refs(session, _BRANCH_REF_PREFIX):
            if f"{name}/".startswith(f"{branch}/") or branch.startswith(f"{name}/"):
                raise Conflict(
                    f"there is already a branch {branch}",
                    code="branch_exists",
                    hint="choose another name, or switch to it with `brain switch`",
                )
        snapshot_id = session.resolve(rev)
        tx.update_ref(ref, None, snapshot_id)
        if kind == "tag":
            sign_new_snapshot(session, tx, snapshot_id, session.load_snapshot(snapshot_id))
        log_operation(session, tx, kind, f"{kind} {name}", [(ref, b"", snapshot_id)])
    return snapshot_id


def delete_branch(session: Session, name: str) -> Branch:
    """Delete a branch that is merged into another one, or held by a tag.

    Raises `NotFound` (`no_branch`), or `Conflict` (`current_branch`, `not_merged`).
    """
    with lock_for_writing(session), store_transaction(session) as tx:
        head = _require_branch_head(session, name)
        if name == session.current_branch():
            raise Conflict(
                f"{name} is the current branch",
                code="current_branch",
                hint="switch to another branch first",
            )
        ref = head_ref(name)
        others = [at for other, at in session.reader.list_refs().items() if other != ref]
        if not any(head in AncestorSet(session, other) for other in others):
            raise Conflict(
                f"{name} has snapshots that no other branch has",
                code="not_merged",
                hint=f"merge it, or create another branch at {head.hex()[:12]}",
            )
        tx.update_ref(ref, head, None)
        log_operation(session, tx, "branch", f"delete branch {name}", [(ref, head, b"")])
    return Branch(name, head.hex(), False)


def switch_branch(session: Session, name: str, progress: Progress | None = None) -> Switched:
    """Make another branch current and its files those of the folder.

    Unrecorded changes that would be overwritten are first recorded on the old branch; other
    changes of the folder stay. Redacted files are left out. Raises `NotFound` (`no_branch`),
    or `Conflict` (`merging`) if a merge is pending.
    """
    redacted: set[str] = set()
    with lock_for_writing(session):
        merge_state.refuse_during_merge(session)
        with write_transaction(
            session, "switch", f"switch to {name}", progress or no_progress
        ) as txn:
            head = _require_branch_head(session, name)
            if name != txn.branch:
                target = session.state_of(head)
                require_portable(session.reader, txn.state, target)
                txn.record_edits_at(path for path, _, _ in txn.state.diff(target))
                txn.writes = {path: now for path, _, now in txn.state.diff(target)}
                redacted = find_redacted_paths(session, txn.writes.values())
                txn.writes.update(dict.fromkeys(redacted))
                txn.store_tx.write_meta("branch", name.encode())
                txn.entered_branch = name  # the writes are then its files
    written = sorted(path for path, entry in txn.writes.items() if entry is not None)
    removed = sorted(txn.writes.keys() - {*written, *redacted})
    return Switched(
        branch=name,
        snapshot=head.hex(),
        written=written,
        removed=removed,
        redacted=sorted(redacted),
        conflicts=[],
    )


def _require_branch_head(session: Session, name: str) -> bytes:
    head = session.reader.read_ref(head_ref(name))
    if head is None:
        raise NotFound(
            f"there is no branch {name}",
            code="no_branch",
            hint="`brain branch` lists the branches",
        )
    return head


def list_proposal_tips(session: Session) -> dict[str, bytes]:
    """Return the last snapshot of each proposal, by its name."""
    return _list_refs(session, PROPOSAL_REF_PREFIX)


def _list_refs(session: Session, prefix: str) -> dict[str, bytes]:
    return {
        ref.removeprefix(prefix): snapshot_id
        for ref, snapshot_id in sorted(session.reader.list_refs().items())
        if ref.startswith(prefix)
    }


def list_tags(session: Session) -> list[Tag]:
    """Return all tags by name."""
    return [
        _describe_tag(session, name, snapshot_id)
        for name, snapshot_id in _list_refs(session, TAG_REF_PREFIX).items()
    ]


def create_tag(session: Session, name: str, rev: str = "@") -> Tag:
    """Name the snapshot of a revision; sign it if the session has a key.

    Raises `InvalidInput` (`bad_tag`), or `Conflict` (`tag_exists`, `branch_exists`).
    """
    return _describe_tag(session, name, _create_ref(session, "tag", name, rev))


def delete_tag(session: Session, name: str) -> Tag:
    """Delete a tag; its snapshot and its signatures stay. Raises `NotFound` (`no_tag`)."""
    ref = TAG_REF_PREFIX + name
    with lock_for_writing(session), store_transaction(session) as tx:
        snapshot_id = tx.read_ref(ref)
        if snapshot_id is None:
            raise NotFound(
                f"there is no tag {name}",
                code="no_tag",
                hint="`brain tag --list` lists the tags",
            )
        tx.update_ref(ref, snapshot_id, None)
        log_operation(session, tx, "tag", f"delete tag {name}", [(ref, snapshot_id, b"")])
    return _describe_tag(session, name, snapshot_id)


def _describe_tag(session: Session, name: str, snapshot_id: bytes) -> Tag:
    snapshot = session.load_snapshot(snapshot_id)
    return Tag(
        name=name,
        snapshot=snapshot_id.hex(),
        time=utc_time(snapshot.time),
        message=snapshot.message,
        signed_by=[signature.key for signature in read_valid_signatures(session, snapshot_id)],
    )
