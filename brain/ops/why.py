"""Explain which run made each version of a skill, and how it was decided."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from operator import attrgetter

from ..errors import BrainError, NotFound, printable_text
from ..receipts.receipt import receipt_to_json
from ..repo import derive
from ..repo.find_skill import Skills
from ..repo.read_receipts import (
    ReceiptPart,
    find_closing_snapshots,
    iter_parts,
    read_part,
    read_receipt_state,
    sum_tokens,
)
from ..repo.session import Session
from ..results import RunSummary, SkillReasons, VersionReason
from ..skills.skill_layout import split_version
from . import log


def why(session: Session, slug: str) -> SkillReasons:
    """Return the run behind each version of a skill: SLUG, or SLUG@VERSION for one version.

    The decisions about it, or about that version, are with them. Raises `NotFound` (`no_skill`,
    `no_version`).
    """
    name, wanted = split_version(slug)
    try:
        versions = log.read_skill_history(session, name)
    except NotFound:  # all that there is may be rejected attempts
        attempts = log.find_rejections(session, name)
        if not attempts or wanted:
            raise
        return SkillReasons(slug=name, versions=[], decisions=attempts)
    chosen = [each for each in versions if not wanted or wanted in (str(each.version), each.name)]
    if not chosen:
        raise NotFound(
            f"{name} has no version {wanted}",
            code="no_version",
            hint=f"see `brain log {printable_text(name)}`",
        )
    loaded = [session.load_snapshot(bytes.fromhex(version.snapshot)) for version in chosen]
    receipts = [
        read_receipt_state(session, snapshot, bytes.fromhex(version.snapshot))
        for version, snapshot in zip(chosen, loaded, strict=True)
    ]
    open_runs = {part.receipt.run for _, part in receipts if part and not part.receipt.is_closed}
    oldest = min(snapshot.generation for snapshot in loaded)
    closed = find_closing_snapshots(session, session.head(), open_runs, oldest)
    reasons = []
    for version, snapshot, (state, part) in zip(chosen, loaded, receipts, strict=True):
        end = closed.get(part.receipt.run) if part else None
        reasons.append(
            VersionReason(
                *version[:5],  # version, snapshot, time, author, change
                message=version.message,
                receipt=snapshot.receipt.hex() or None,
                state=state,
                work=_summarize_run(session, part, end[0] if end else b"") if part else None,
                name=version.name,
            )
        )
    current = Skills(session.at()).find_or_none(name)
    slug = current.slug if current else derive.slug_from_full_path(versions[0].path)
    found = [*log.find_decisions(session, slug), *log.find_rejections(session, slug)]
    found.sort(key=attrgetter("time"), reverse=True)
    return SkillReasons(
        slug=current.slug if current else name,
        versions=reasons,
        decisions=[one for one in found if not wanted or one.to_version == wanted],
    )


def _summarize_run(session: Session, part: ReceiptPart, end: bytes) -> RunSummary:
    """Summarize a run; `end` is the snapshot that closed it, empty if that is of this part."""
    receipt = part.receipt
    parts: list[ReceiptPart] = []
    with suppress(BrainError):  # a part of it may be unreadable
        parts.extend(iter_parts(session, part))
    steps = tuple(step for each in reversed(parts or [part]) for step in each.receipt.steps)
    joined = receipt._replace(steps=steps)
    outcome, reason = receipt.outcome, receipt.reason
    if end:
        outcome, reason = str(session.load_snapshot(end).operation[2]), ""
        with suppress(BrainError):
            reason = read_part(session, end).receipt.reason
    tokens_in, tokens_out = sum_tokens(steps)
    return RunSummary(
        run=receipt.run,
        task=receipt.task,
        agent=receipt.agent,
        model=receipt.model,
        started=receipt.started,
        outcome=outcome,
        reason=reason,
        end=end.hex(),
        steps=dict(Counter(step.kind for step in steps)),
        errors=sum(bool(step.error) for step in steps),
        tools=joined.tools,
        skills_loaded=joined.skills_loaded,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        source=receipt_to_json(receipt).get("source"),
    )
