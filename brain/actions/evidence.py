"""Evidence that a snapshot, or a file in it, is committed to a ledger."""

from __future__ import annotations

from ..chain.protocol import Commitment, Ledger
from ..errors import NotFound
from ..session import Session
from . import proving
from .revisions import resolve
from .within import Within


def evidence(session: Session, ledger: Ledger, revision: str = "@", path: str = "") -> bytes:
    """Return the evidence as a document of JSON; see `chain.evidence`.

    The first commitment of the revision, or of what descends from it, is shown. Raises
    `NotFound` (`not_committed`, `no_path`), or `LedgerError`.
    """
    from ..chain.evidence.build import assemble

    brain, snapshot = session.brain_id(), resolve(session, revision)
    covering = _covering(session, ledger, snapshot)
    inside = proving.path(session, path, snapshot.hex()) if path else b""
    descent = b""
    if covering.snapshot != snapshot:
        descent = proving.descent(session, snapshot.hex(), covering.snapshot.hex())
    part = ledger.evidence(brain, covering.snapshot)
    return assemble(covering, part, snapshot, path=inside, descent=descent)


def _covering(session: Session, ledger: Ledger, snapshot: bytes) -> Commitment:
    for commitment in ledger.history(session.brain_id()):
        if commitment.snapshot == snapshot or _is_behind(session, snapshot, commitment.snapshot):
            return commitment
    raise NotFound(
        f"{snapshot.hex()[:12]} is not committed to {ledger.name}, nor is what descends from it",
        code="not_committed",
        hint=f"commit it with `brain chain commit --ledger {ledger.name}`",
    )


def _is_behind(session: Session, snapshot: bytes, committed: bytes) -> bool:
    try:
        return snapshot in Within(session, committed)
    except NotFound:  # a snapshot of another copy of this brain
        return False
