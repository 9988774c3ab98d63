"""Build evidence that a snapshot, or a file in it, is committed to a ledger."""

from __future__ import annotations

from ...chain.ledger_protocol import Commitment, Ledger
from ...errors import NotFound
from ..history import prove
from ..open.session import Session
from ..read.ancestor_set import AncestorSet
from ..read.revisions import resolve_revision


def build_commit_evidence(
    session: Session, ledger: Ledger, revision: str = "@", path: str = ""
) -> bytes:
    """Return the evidence as a document of JSON; see `chain.evidence`.

    The first commitment of the revision, or of what descends from it, is shown. Raises
    `NotFound` (`not_committed`, `no_path`), or `LedgerError`.
    """
    from ...chain.evidence.evidence_builder import build_evidence

    brain, snapshot = session.brain_id(), resolve_revision(session, revision)
    covering = _find_covering_commitment(session, ledger, snapshot)
    path_proof = prove.prove_path(session, path, snapshot.hex()) if path else b""
    descent_proof = b""
    if covering.snapshot != snapshot:
        descent_proof = prove.prove_descent(session, snapshot.hex(), covering.snapshot.hex())
    part = ledger.evidence(brain, covering.snapshot)
    return build_evidence(covering, part, snapshot, path=path_proof, descent=descent_proof)


def _find_covering_commitment(session: Session, ledger: Ledger, snapshot: bytes) -> Commitment:
    for commitment in ledger.history(session.brain_id()):
        if commitment.snapshot == snapshot or _is_ancestor(session, snapshot, commitment.snapshot):
            return commitment
    raise NotFound(
        f"{snapshot.hex()[:12]} is not committed to {ledger.name}, nor is what descends from it",
        code="not_committed",
        hint=f"commit it with `brain chain commit --ledger {ledger.name}`",
    )


def _is_ancestor(session: Session, snapshot: bytes, committed: bytes) -> bool:
    try:
        return snapshot in AncestorSet(session, committed)
    except NotFound:  # a snapshot of another copy of this brain
        return False
