"""Find snapshots with too few signatures, and sign them in one transaction."""

from __future__ import annotations

from ...results import Signature
from ...trust import ed25519, signature_verification
from ...trust.batch_verify import SignersBySnapshot, verify_in_background
from ...trust.rights_graph import RightsGraph
from ..lineage_cache import AncestorSet
from ..revisions import resolve_revision
from ..session import Session
from ..transaction import lock_for_writing, store_transaction
from .sign import sign_in_transaction
from .signature_policy import read_rights_graph


def find_unsigned(session: Session, rev: str = "@") -> list[str]:
    """Return the ancestors of a snapshot, and itself, with fewer signatures than the threshold.

    Oldest first, by the rights in force; none before there is a trust file.
    """
    return [
        here.hex()
        for here in signature_verification.find_below_threshold(
            *_read_rights_and_signers(session, resolve_revision(session, rev))
        )
    ]


def sign_missing(
    session: Session, rev: str = "@", *, key: bytes, excluded: AncestorSet | None = None
) -> list[Signature]:
    """Sign a snapshot and its ancestors where they lack a signature that this key may give.

    `key` is a private key of 32 bytes. Those have fewer signatures than the threshold and the
    key may sign, or they name the key as author. Snapshots in `excluded` are skipped. One
    transaction, oldest first. Raises as `sign`.
    """
    public = ed25519.public_key(key)
    with lock_for_writing(session):
        graph, signers = _read_rights_and_signers(session, resolve_revision(session, rev))
        missing = [
            here
            for here in signature_verification.find_missing_signatures(graph, signers, public)
            if not excluded or here not in excluded
        ]
        with store_transaction(session) as tx:
            return [sign_in_transaction(session, tx, here, key) for here in missing]


def _read_rights_and_signers(
    session: Session, head: bytes
) -> tuple[RightsGraph, SignersBySnapshot]:
    with verify_in_background(session.brain_id(), session.reader.stream_signatures()) as finish:
        graph = read_rights_graph(session, head)
        return graph, finish()
