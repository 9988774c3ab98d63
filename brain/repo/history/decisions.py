"""List the decisions about a skill, each with its verdict."""

from __future__ import annotations

from ...objects.operation import DECISION_KINDS
from ...objects.snapshot import Snapshot
from ...results import SkillDecision
from ...results.text_format import DECISION_WORDS
from ...util.utc_time import utc_time
from ...verdicts.read_verdicts import read_verdict_state
from ...verdicts.verdict_json import verdict_to_json
from ...verdicts.verdict_summary import summarize_verdict
from .. import lineage_cache
from ..derived_db import skill_key
from ..lineage_cache import AncestorSet
from ..open.session import Session
from ..revisions import list_rejected_refs

_UNREAD_VERDICTS = {
    "redacted": "its verdict was redacted",
    "missing": "its verdict is missing from the store",
    "foreign": "its verdict cannot be read",
}


def find_decisions(session: Session, slug: str) -> list[SkillDecision]:
    """Return the decisions about a skill in the lineage of the head, newest first."""
    inside = AncestorSet(session, session.head())
    rows = lineage_cache.read_decisions(session, skill_key(slug))
    return [
        read_decision(session, row.snapshot, session.load_snapshot(row.snapshot))
        for row in reversed(rows)
        if row.snapshot in inside
    ]


def find_rejections(session: Session, slug: str) -> list[SkillDecision]:
    """Return the rejected attempts at a skill that are kept, newest first."""
    found = [(here, session.load_snapshot(here)) for _, here in list_rejected_refs(session, slug)]
    return [
        read_decision(session, here, snapshot)
        for here, snapshot in found
        if _is_about(snapshot, slug)
    ]


def read_decision(session: Session, snapshot_id: bytes, snapshot: Snapshot) -> SkillDecision:
    """Return the decision of a snapshot, which is one."""
    kind, slug, from_version, to_version, blob = snapshot.operation
    state, verdict = read_verdict_state(session.reader, blob)
    if verdict is None:
        summary = f"{DECISION_WORDS[kind]}; {_UNREAD_VERDICTS[state]}"
    elif (verdict.decision, verdict.skill) != (kind, slug):
        summary = f"{DECISION_WORDS[kind]}; its verdict is about another decision"
    else:
        summary = summarize_verdict(verdict, to_version)
    return SkillDecision(
        decision=kind,
        from_version=from_version,
        to_version=to_version,
        snapshot=snapshot_id.hex(),
        time=utc_time(snapshot.time),
        author=snapshot.author,
        blob=blob.hex(),
        state=state,
        summary=summary,
        verdict=None if verdict is None else verdict_to_json(verdict),
    )


def _is_about(snapshot: Snapshot, slug: str) -> bool:
    return snapshot.operation[0] in DECISION_KINDS and snapshot.operation[1] == slug
