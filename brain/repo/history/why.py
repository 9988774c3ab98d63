"""Explain which run made each version of a skill."""

from __future__ import annotations

from collections import Counter

from ...errors import BrainError, NotFound, printable_text
from ...receipts import Receipt, RunStep
from ...receipts.receipt_json import receipt_to_json
from ...results import RunSummary, SkillReasons, SkillVersion, VersionReason
from ..open.session import Session
from ..read import skill_lookup
from ..read.read_receipts import (
    ReceiptPart,
    find_closing_snapshots,
    iter_parts,
    read_part,
    read_receipt_state,
    sum_tokens,
)
from . import log

_VersionReceipt = tuple[SkillVersion, str, ReceiptPart | None]


def explain_skill(session: Session, skill_ref: str) -> SkillReasons:
    """Return why a skill is as it is; `text` is SLUG, or SLUG@VERSION for one version.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    name, at_sign, wanted = skill_ref.rpartition("@")
    if not at_sign or not name:
        name, wanted = skill_ref, ""
    versions = log.read_skill_history(session, name)
    chosen = [one for one in versions if not wanted or str(one.version) == wanted]
    if not chosen:
        raise NotFound(
            f"{printable_text(name)} has no version {printable_text(wanted)}",
            code="no_version",
            hint=f"see `brain skill history {printable_text(name)}`",
        )
    version_receipts = [_read_version_receipt(session, one) for one in chosen]
    open_runs = {
        part.receipt.run for _, _, part in version_receipts if part and not part.receipt.is_closed
    }
    oldest = min(session.load_snapshot(bytes.fromhex(one.snapshot)).generation for one in chosen)
    closed = find_closing_snapshots(session, session.head(), open_runs, oldest)
    current = skill_lookup.find_skill_or_none(session, session.bundle_of(session.head()), name)
    reasons = []
    for one, state, part in version_receipts:
        work = None
        if part is not None:
            end = closed.get(part.receipt.run)
            work = _summarize_run(session, part, end[0] if end else b"")
        snapshot = session.load_snapshot(bytes.fromhex(one.snapshot))
        about = (one.version, one.snapshot, one.time, one.author, one.change, one.message)
        reasons.append(VersionReason(*about, snapshot.receipt.hex() or None, state, work))
    return SkillReasons(current.slug if current else name, reasons)


def _read_version_receipt(session: Session, one: SkillVersion) -> _VersionReceipt:
    snapshot_id = bytes.fromhex(one.snapshot)
    return one, *read_receipt_state(session, session.load_snapshot(snapshot_id), snapshot_id)


def _summarize_run(session: Session, part: ReceiptPart, end: bytes) -> RunSummary:
    receipt, steps = part.receipt, _read_steps(session, part)
    outcome, reason = _read_outcome(session, receipt, end)
    return RunSummary(
        receipt.run,
        receipt.task,
        receipt.agent,
        receipt.model,
        receipt.started,
        outcome,
        reason,
        end.hex(),
        dict(Counter(step.kind for step in steps)),
        sum(bool(step.error) for step in steps),
        receipt._replace(steps=steps).tools,
        receipt._replace(steps=steps).skills_loaded,
        *sum_tokens(steps),
        receipt_to_json(receipt).get("source"),
    )


def _read_steps(session: Session, part: ReceiptPart) -> tuple[RunStep, ...]:
    """Return the steps of a run up to a part; those of parts that are gone are left out."""
    parts: list[ReceiptPart] = []
    try:
        parts.extend(iter_parts(session, part))
    except BrainError:
        parts = parts or [part]
    return tuple(step for one in reversed(parts) for step in one.receipt.steps)


def _read_outcome(session: Session, receipt: Receipt, end: bytes) -> tuple[str, str]:
    """Return how a run ended; the reason is told by the last receipt, if that is kept."""
    if not end:
        return receipt.outcome, receipt.reason
    try:
        return str(session.load_snapshot(end).operation[2]), read_part(session, end).receipt.reason
    except BrainError:
        return str(session.load_snapshot(end).operation[2]), ""
