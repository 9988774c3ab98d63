"""Build evidence that a snapshot, or a file in it, is committed to a ledger."""

from __future__ import annotations

from collections.abc import Sequence

from ...chain.ledger_protocol import Commitment, Ledger
from ...errors import Conflict, NotFound
from .. import prove
from ..session import Session
from .commit import is_covered, read_checked_history


def build_commit_evidence(
    session: Session, ledger: Ledger, rev: str = "@", path: str = ""
) -> bytes:
    """Return evidence that a revision, or the file at `path` in it, is committed, as JSON text.

    See `check_evidence`. If the revision itself was not committed, it has the first later
    commitment and a proof of descent. Raises `NotFound` (`not_committed`,
    `no_path`), `VerificationFailed` (`rolled_back`), or `LedgerError`.
    """
    from ...chain.evidence.evidence_builder import build_evidence, read_proven_seq

    brain, snapshot = session.brain_id(), session.resolve(rev)
    history = read_checked_history(session, ledger, brain)
    covering = _first_covering_commitment(session, ledger, history, snapshot)
    path_proof = prove.prove_file(session, path, snapshot.hex()) if path else b""
    descent_proof = b""
    if covering.snapshot != snapshot:
        descent_proof = prove.prove_descent(session, snapshot.hex(), covering.snapshot.hex())
    part = ledger.evidence(brain, covering.snapshot)
    # A snapshot may be committed again, after others were disowned: either one may be proven.
    seq = read_proven_seq(part) or covering.seq
    proven = covering if seq == covering.seq else history[seq - 1]
    if proven.disowned_by:
        raise _disowned_error(ledger, proven)
    return build_evidence(
        proven,
        part,
        snapshot,
        path=path_proof,
        descent=descent_proof,
    )


def _first_covering_commitment(
    session: Session, ledger: Ledger, history: Sequence[Commitment], snapshot: bytes
) -> Commitment:
    covering = [
        commitment
        for commitment in history
        if commitment.snapshot == snapshot or is_covered(session, snapshot, commitment.snapshot)
    ]
    for commitment in covering:
        if not commitment.disowned_by:
            return commitment
    for commitment in covering:
        raise _disowned_error(ledger, commitment)
    raise NotFound(
        f"neither {snapshot.hex()[:12]} nor a descendant of it is committed to {ledger.name}",
        code="not_committed",
        hint=f"commit it with `brain chain commit --ledger {ledger.name}`",
    )


def _disowned_error(ledger: Ledger, commitment: Commitment) -> Conflict:
    return Conflict(
        f"the owner disowned commitment {commitment.seq} of {commitment.snapshot.hex()[:12]}"
        f" in {ledger.name}, with commitment {commitment.disowned_by}",
        code="disowned",
        hint="name a snapshot that a later commitment covers; see `brain chain status`",
    )
