"""Notice a recorded snapshot that will not verify; cheap in a brain without a trust file."""

from __future__ import annotations

from ...errors import InvalidInput, NotFound
from ...objects import bundle as bundles
from ...trust import POLICY_PATH
from ..session import Session


def find_unverifiable(session: Session) -> str | None:
    """Return the id of the snapshot that this brain recorded last, if it will not verify.

    It lacks signatures of trusted keys. None if no trust file is in force, if it cannot be read,
    or if nothing was recorded. A proposal is signed when it is accepted.
    """
    snapshot_id = session.last_recorded
    if snapshot_id is None or not session.has_folder:
        return None
    try:
        if not _has_trust_file(session, snapshot_id):
            return None
        from .signature_policy import has_enough_signatures

        return None if has_enough_signatures(session, snapshot_id) else snapshot_id.hex()
    except (NotFound, InvalidInput):
        return None


def _has_trust_file(session: Session, snapshot_id: bytes) -> bool:
    snapshot = session.load_snapshot(snapshot_id)
    near = (snapshot, *map(session.load_snapshot, snapshot.parents))
    trees = map(session.load_bundle, {one.bundle for one in near})
    return any(bundles.get_entry(session.nodes, tree, POLICY_PATH) for tree in trees)
