"""Derive what the lineage cache holds of a snapshot that decides about a skill."""

from __future__ import annotations

from ...cache.decision_row import DecisionRow
from ...digest import NO_DIGEST
from ...errors import BrainError
from ...objects import operation as operations
from ...objects.snapshot import Snapshot
from ...verdicts.verdict_types import Verdict
from ..open.session import Session

_DECISIONS_IN_FORCE = ("admit", "retire", "reinstate")
"""Decisions that say which program may run; a rejected one is not part of the brain."""


def derive_decision(session: Session, here: bytes, snapshot: Snapshot) -> DecisionRow | None:
    """Return the decision of a snapshot, None if it decides nothing about what may run.

    It has no program if its verdict has none, is missing, or is about something else.
    """
    kind = snapshot.operation[0]
    if kind not in _DECISIONS_IN_FORCE:
        return None
    _, slug, _, version, _ = snapshot.operation
    verdict = read_decision_verdict(session, snapshot)
    return DecisionRow(
        kind=kind,
        slug=slug,
        version=version,
        program=_program_of(verdict),
        snapshot=here,
        generation=snapshot.generation,
        is_provisional=verdict is not None and _lets_live(verdict),
    )


def _lets_live(verdict: Verdict) -> bool:
    from ...verdicts.verdict_rules import is_provisional

    return verdict.provisional != "" and is_provisional(verdict)


def _program_of(verdict: Verdict | None) -> bytes:
    if verdict is None or not verdict.files:
        return NO_DIGEST
    from ...programs.program import id_of_files

    return id_of_files(verdict.files)


def read_decision_verdict(session: Session, snapshot: Snapshot) -> Verdict | None:
    """Return the verdict of the decision of a snapshot, None if it is missing or not about it."""
    from .read_verdicts import read_verdict

    if not (evidence := operations.evidence_blob(snapshot.operation)):
        return None
    kind, slug, *_ = snapshot.operation
    try:
        verdict = read_verdict(session.reader, evidence)
    except BrainError:  # reported by `brain verify`
        return None
    return verdict if (verdict.decision, verdict.skill) == (kind, slug) else None


def verdict_id(session: Session, here: bytes) -> bytes:
    """Return the blob id of the verdict of a decision, empty if the snapshot decides nothing."""
    return operations.evidence_blob(session.load_snapshot(here).operation)
