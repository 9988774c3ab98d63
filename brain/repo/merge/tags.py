"""Tags: names of snapshots that never move.

A tag is a ref `tags/NAME`, so garbage collection keeps its snapshot, and the operation log has
it. Where new snapshots are signed, the snapshot that a tag names is signed too; the name itself
is local, as a branch is.
"""

from __future__ import annotations

from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...results import Tag
from ...util.utc_time import utc_time
from ..core.transaction import lock_for_writing, log_operation, sign_new_snapshot, store_transaction
from ..open.session import Session
from ..read.revisions import TAG_REF_PREFIX, resolve_revision
from ..signing.sign import read_valid_signatures
from . import branches


def list_tags(session: Session) -> list[Tag]:
    """Return all tags by name."""
    return [
        _describe_tag(session, name.removeprefix(TAG_REF_PREFIX), snapshot_id)
        for name, snapshot_id in sorted(session.reader.list_refs().items())
        if name.startswith(TAG_REF_PREFIX)
    ]


def create_tag(session: Session, name: str, revision: str = "@") -> Tag:
    """Name the snapshot of a revision; sign it if the session has a key.

    Raises `InvalidInput` (`bad_tag`), or `Conflict` (`tag_exists`, `branch_exists`).
    """
    ref = TAG_REF_PREFIX + _check_tag_name(name)
    with lock_for_writing(session), store_transaction(session) as tx:
        known = tx.read_ref(ref)
        if known is not None:
            raise Conflict(
                f"the tag {printable_text(name)} is at {known.hex()[:12]}; tags do not move",
                code="tag_exists",
                hint=f"choose another name, or delete it with `brain tag --delete {name}`",
            )
        branches.refuse_name_collision(session, name)
        snapshot_id = resolve_revision(session, revision)
        tx.update_ref(ref, None, snapshot_id)
        sign_new_snapshot(session, tx, snapshot_id, session.load_snapshot(snapshot_id))
        log_operation(session, tx, "tag", f"tag {name}", [(ref, b"", snapshot_id)])
    return _describe_tag(session, name, snapshot_id)


def delete_tag(session: Session, name: str) -> Tag:
    """Delete a tag; its snapshot and its signatures stay. Raises `NotFound` (`no_tag`)."""
    ref = TAG_REF_PREFIX + name
    with lock_for_writing(session), store_transaction(session) as tx:
        snapshot_id = tx.read_ref(ref)
        if snapshot_id is None:
            raise NotFound(
                f"there is no tag {printable_text(name)}",
                code="no_tag",
                hint="`brain tag --list` lists the tags",
            )
        tx.update_ref(ref, snapshot_id, None)
        log_operation(session, tx, "tag", f"delete tag {name}", [(ref, snapshot_id, b"")])
    return _describe_tag(session, name, snapshot_id)


def _check_tag_name(name: str) -> str:
    """Return a name that a branch could have. Raises `InvalidInput` (`bad_tag`)."""
    try:
        return branches.check_branch_name(name)
    except InvalidInput as error:
        raise InvalidInput(
            f"{printable_text(name, 80)!r} is not a valid name of a tag",
            code="bad_tag",
            hint=error.hint,
        ) from None


def _describe_tag(session: Session, name: str, snapshot_id: bytes) -> Tag:
    snapshot = session.load_snapshot(snapshot_id)
    return Tag(
        name=name,
        snapshot=snapshot_id.hex(),
        time=utc_time(snapshot.time),
        message=snapshot.message,
        signed_by=[signature.key for signature in read_valid_signatures(session, snapshot_id)],
    )
