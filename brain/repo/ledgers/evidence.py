"""Build evidence that a snapshot, or a file in it, is committed to a ledger."""

from __future__ import annotations

from collections.abc import Sequence

from ...chain.ledger_protocol import Commitment, Ledger
from ...errors import Conflict, InvalidInput, NotFound
from ...proofs import proof_builder
from ...proofs.proof_json import render_proof
from ...trust import ACCOUNTS_PATH
from .. import account_file
from ..session import Session
from .commit import is_covered, read_checked_history


def build_commit_evidence(
    session: Session, ledger: Ledger, rev: str = "@", path: str = ""
) -> bytes:
    """Return evidence that a revision, or the file at `path` in it, is committed, as JSON text.

    See `check_evidence`. If the revision itself was not committed, it has the first later
    commitment and a proof of descent. Evidence of a chain shows the statements
    of the revision that bind keys to accounts, if all are signed by both. Raises
    `NotFound` (`not_committed`, `no_path`), `VerificationFailed` (`rolled_back`), or
    `LedgerError`.
    """
    from ...chain.evidence.evidence_builder import build_evidence, read_proven_seq

    brain, snapshot = session.brain_id(), session.resolve(rev)
    history = read_checked_history(session, ledger, brain)
    covering = _first_covering_commitment(session, ledger, history, snapshot)
    path_proof = _prove_file(session, path, snapshot) if path else b""
    descent_proof = b""
    if covering.snapshot != snapshot:
        descent_proof = render_proof(
            proof_builder.build_descent_proof(session.load_snapshot, snapshot, covering.snapshot)
        )
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
        accounts=_prove_statements(session, snapshot) if part["chain"] else None,
    )


def _prove_statements(session: Session, snapshot: bytes) -> tuple[bytes, bytes] | None:
    """Return accounts.json and the proof of its path; None if it binds no key of this brain.

    A file with a bad signature would make the evidence invalid; `brain verify` reports it.
    """
    content = account_file.read_accounts_file(session, snapshot)
    if content is None:
        return None
    from ...chain import account_statement as statements

    try:
        found = statements.parse_statements(content)
    except InvalidInput:
        return None
    brain, now = session.brain_id(), session.timestamp_ms() // 1000
    standings = {statements.verify_statement(each, brain, now) for each in found}
    if standings & {statements.BAD_KEY_SIGNATURE, statements.BAD_ACCOUNT_SIGNATURE}:
        return None
    if standings == {statements.OTHER_BRAIN}:
        return None
    return content, _prove_file(session, ACCOUNTS_PATH, snapshot)


def _prove_file(session: Session, path: str, snapshot: bytes) -> bytes:
    state = session.state_of(snapshot), session.load_snapshot(snapshot)
    return render_proof(proof_builder.build_path_proof(*state, path))


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
