"""Rejected attempts at skills: each is a snapshot on a ref of its own, which nothing merges."""

from __future__ import annotations

from ...errors import NotFound, printable_text
from ...results import Attempt, AttemptView
from ...util.utc_time import utc_time
from ..open.session import Session
from ..read import skill_lookup
from ..read.case_paths import slug_of_case
from ..read.decision_rows import read_decision_verdict
from ..read.rejected_refs import REJECTED_REF_PREFIX, list_rejected_refs


def list_attempts(session: Session, slug: str = "") -> list[Attempt]:
    """Return the rejected attempts, all or at the skill of a slug, newest first."""
    return [
        _describe(session, ref, snapshot) for ref, snapshot in list_rejected_refs(session, slug)
    ]


def read_attempt(session: Session, attempt: str) -> AttemptView:
    """Return an attempt with its files and its verdict. Raises `NotFound` (`no_attempt`)."""
    from ...verdicts.verdict_json import verdict_to_json

    ref = REJECTED_REF_PREFIX + attempt
    snapshot_id = session.reader.read_ref(ref)
    if snapshot_id is None:
        raise NotFound(
            f"there is no rejected attempt {printable_text(attempt)}",
            code="no_attempt",
            hint="only the newest ones are kept; `brain evolve attempts` lists them",
        )
    summary = _describe(session, ref, snapshot_id)
    verdict = read_decision_verdict(session, session.load_snapshot(snapshot_id))
    return AttemptView(
        attempt=summary.attempt,
        slug=summary.slug,
        snapshot=summary.snapshot,
        time=summary.time,
        author=summary.author,
        reason=summary.reason,
        verdict={} if verdict is None else verdict_to_json(verdict),
        files=_read_files(session, snapshot_id, summary.slug),
    )


def _describe(session: Session, ref: str, snapshot_id: bytes) -> Attempt:
    snapshot = session.load_snapshot(snapshot_id)
    verdict = read_decision_verdict(session, snapshot)
    return Attempt(
        attempt=ref.removeprefix(REJECTED_REF_PREFIX),
        slug=snapshot.operation[1],
        snapshot=snapshot_id.hex(),
        time=utc_time(snapshot.time),
        author=snapshot.author,
        reason=verdict.reason if verdict else "",
        failed=[case.name for case in verdict.cases if case.outcome == "fail"] if verdict else [],
    )


def _read_files(session: Session, snapshot_id: bytes, slug: str) -> dict[str, bytes]:
    """Return the files of a skill at a snapshot, by path in its folder, without its cases."""
    bundle = session.bundle_of(snapshot_id)
    skill = skill_lookup.find_skill(session, bundle, slug)
    start = len(skill.folder or skill.path.rpartition("/")[0] + "/")
    entries = [
        entry
        for entry in skill_lookup.list_skill_entries(session, bundle, skill)
        if not slug_of_case(entry.path)
    ]
    redacted = session.reader.find_redactions([entry.blob for entry in entries])
    return {
        entry.path[start:]: session.reader.read_blob(entry.blob, entry.size)
        for entry in entries
        if entry.blob not in redacted
    }
