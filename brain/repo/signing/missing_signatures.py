"""Find snapshots with too few signatures, and sign them in one transaction.

Each write asks `find_unverifiable`, so only the others load what verifies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InvalidInput, NotFound
from ...trust import POLICY_PATH
from ..session import Session
from ..transaction import lock_for_writing, store_transaction

if TYPE_CHECKING:
    from ...results import Signature
    from ...trust.rights import RightsGraph, SignersBySnapshot
    from ..lineage_cache import AncestorSet


def find_unsigned(session: Session, rev: str = "@") -> list[str]:
    """Return the ancestors of a snapshot, and itself, with fewer signatures than the threshold.

    Oldest first, by the rights in force; none before there is a trust file.
    """
    from ...trust import rights

    return [
        here.hex()
        for here in rights.find_below_threshold(
            *_read_rights_and_signers(session, session.resolve(rev))
        )
    ]


def sign_missing(session: Session, rev: str = "@", *, key: bytes) -> list[Signature]:
    """Sign a snapshot and its ancestors where they lack a signature that this key may give.

    `key` is a private key of 32 bytes. Those have fewer signatures than the threshold and the
    key may sign, or they name the key as author. One transaction, oldest first. Raises as `sign`.
    """
    return sign_missing_but(session, session.resolve(rev), key, frozenset())


def sign_missing_but(
    session: Session, head: bytes, key: bytes, excluded: AncestorSet | frozenset[bytes]
) -> list[Signature]:
    """Sign a snapshot and its ancestors as `sign_missing`, but for those in `excluded`."""
    from ...trust import ed25519, rights
    from .sign import sign_in_transaction

    public = ed25519.public_key(key)
    with lock_for_writing(session):
        graph, signers = _read_rights_and_signers(session, head)
        missing = [
            here
            for here in rights.find_missing_signatures(graph, signers, public)
            if here not in excluded
        ]
        with store_transaction(session) as tx:
            return [sign_in_transaction(session, tx, here, key) for here in missing]


def _read_rights_and_signers(
    session: Session, head: bytes
) -> tuple[RightsGraph, SignersBySnapshot]:
    from ...trust.rights import verify_in_background
    from .rights import read_rights_graph

    with verify_in_background(session.brain_id(), session.reader.stream_signatures()) as finish:
        graph = read_rights_graph(session, head)
        return graph, finish()


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
        from .rights import has_enough_signatures

        return None if has_enough_signatures(session, snapshot_id) else snapshot_id.hex()
    except (NotFound, InvalidInput):
        return None


def _has_trust_file(session: Session, snapshot_id: bytes) -> bool:
    snapshot = session.load_snapshot(snapshot_id)
    near = (snapshot, *map(session.load_snapshot, snapshot.parents))
    trees = map(session.load_state, {one.bundle for one in near})
    return any(tree.get(POLICY_PATH) for tree in trees)
