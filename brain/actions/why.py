"""Which work made each version of a skill."""

from __future__ import annotations

from collections import Counter

from ..errors import BrainError, NotFound, printable
from ..receipts import Receipt, Step
from ..receipts.document import as_json
from ..results import Reason, SkillVersion, Why, Work
from ..session import Session
from . import find, history
from .receipts import Part, at, back, ends, state_of, tokens

_Found = tuple[SkillVersion, str, Part | None]


def why(session: Session, text: str) -> Why:
    """Return why a skill is as it is; `text` is SLUG, or SLUG@VERSION for one version.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    name, at_sign, wanted = text.rpartition("@")
    if not at_sign or not name:
        name, wanted = text, ""
    versions = history.skill_history(session, name)
    chosen = [one for one in versions if not wanted or str(one.version) == wanted]
    if not chosen:
        raise NotFound(
            f"{printable(name)} has no version {printable(wanted)}",
            code="no_version",
            hint=f"see `brain skill history {printable(name)}`",
        )
    found = [_found(session, one) for one in chosen]
    open_runs = {part.receipt.run for _, _, part in found if part and not part.receipt.closed}
    oldest = min(session.load(bytes.fromhex(one.snapshot)).generation for one in chosen)
    closed = ends(session, session.head(), open_runs, oldest)
    current = find.maybe(session, session.bundle_of(session.head()), name)
    reasons = []
    for one, state, part in found:
        work = None
        if part is not None:
            end = closed.get(part.receipt.run)
            work = _work(session, part, end[0] if end else b"")
        snapshot = session.load(bytes.fromhex(one.snapshot))
        about = (one.version, one.snapshot, one.time, one.author, one.change, one.message)
        reasons.append(Reason(*about, snapshot.receipt.hex() or None, state, work))
    return Why(current.slug if current else name, reasons)


def _found(session: Session, one: SkillVersion) -> _Found:
    snapshot_id = bytes.fromhex(one.snapshot)
    return one, *state_of(session, session.load(snapshot_id), snapshot_id)


def _work(session: Session, part: Part, end: bytes) -> Work:
    receipt, steps = part.receipt, _steps(session, part)
    outcome, reason = _ending(session, receipt, end)
    return Work(
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
        *tokens(steps),
        as_json(receipt).get("source"),
    )


def _steps(session: Session, part: Part) -> tuple[Step, ...]:
    """Return the steps of a run up to a part; those of parts that are gone are left out."""
    parts: list[Part] = []
    try:
        parts.extend(back(session, part))
    except BrainError:
        parts = parts or [part]
    return tuple(step for one in reversed(parts) for step in one.receipt.steps)


def _ending(session: Session, receipt: Receipt, end: bytes) -> tuple[str, str]:
    """Return how a run ended; the reason is told by the last receipt, if that is kept."""
    if not end:
        return receipt.outcome, receipt.reason
    try:
        return str(session.load(end).operation[2]), at(session, end).receipt.reason
    except BrainError:
        return str(session.load(end).operation[2]), ""
