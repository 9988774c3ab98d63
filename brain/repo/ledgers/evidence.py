"""Build evidence that a snapshot, or a file in it, is committed to a ledger."""

from __future__ import annotations

from ...chain.ledger_protocol import Commitment, Ledger
from ...errors import NotFound
from ..history import prove
from ..open.session import Session
from ..read.revisions import resolve_revision
from .commit import is_covered, read_checked_history


def build_commit_evidence(
    session: Session, ledger: Ledger, revision: str = "@", path: str = ""
) -> bytes:
    """Return evidence of the first commitment that covers a revision, as JSON text.

    With a `path`, it also proves the file at that path. Raises
    `NotFound` (`not_committed`, `no_path`), `VerificationFailed` (`rolled_back`), or
    `LedgerError`.
    """
    from ...chain.evidence.evidence_builder import build_evidence

    brain, snapshot = session.brain_id(), resolve_revision(session, revision)
    covering = _first_covering_commitment(session, ledger, snapshot)
    path_proof = prove.prove_path(session, path, snapshot.hex()) if path else b""
    descent_proof = b""
    if covering.snapshot != snapshot:
        descent_proof = prove.prove_descent(session, snapshot.hex(), covering.snapshot.hex())
    part = ledger.evidence(brain, covering.snapshot)
    return build_evidence(covering, part, snapshot, path=path_proof, descent=descent_proof)


def _first_covering_commitment(session: Session, ledger: Ledger, snapshot: bytes) -> Commitment:
    for commitment in read_checked_history(session, ledger, session.brain_id()):
        if commitment.snapshot == snapshot or is_covered(session, snapshot, commitment.snapshot):
            return commitment
    raise NotFound(
        f"neither {snapshot.hex()[:12]} nor a descendant of it is committed to {ledger.name}",
        code="not_committed",
        hint=f"commit it with `brain chain commit --ledger {ledger.name}`",
    )
