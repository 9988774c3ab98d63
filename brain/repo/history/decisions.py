"""List the decisions about a skill, each with its verdict."""

from __future__ import annotations

from collections.abc import Iterator

from ...objects import lineage
from ...objects.operation import DECISION_KINDS
from ...objects.snapshot import Snapshot
from ...results import SkillDecision
from ...results.text_format import DECISION_WORDS
from ...util.utc_time import utc_time
from ...verdicts.verdict_json import verdict_to_json
from ...verdicts.verdict_summary import summarize_verdict
from ..open.session import Session
from ..read.read_verdicts import read_verdict_state

REJECTED_REFS = "rejected/"
"""Refs of rejected attempts: this, the slug, `/`, and part of the id of the snapshot."""
_UNREAD_VERDICTS = {
    "redacted": "its verdict was redacted",
    "missing": "its verdict is missing from the store",
    "foreign": "its verdict cannot be read",
}


def find_decisions(session: Session, slug: str, since: int) -> Iterator[SkillDecision]:
    """Yield the decisions about a skill in the lineage of the head, newest first.

    Those before generation `since` are left out.
    """
    for here, snapshot in lineage.walk_ancestors(session.load_snapshot, session.head()):
        if snapshot.generation < since:
            return
        if _is_about(snapshot, slug):
            yield read_decision(session, here, snapshot)


def find_rejections(session: Session, slug: str) -> list[SkillDecision]:
    """Return the rejected attempts at a skill that are kept, newest first."""
    prefix = f"{REJECTED_REFS}{slug}/"
    ids = {here for name, here in session.reader.list_refs().items() if name.startswith(prefix)}
    found = [(session.load_snapshot(here), here) for here in ids]
    found.sort(key=lambda row: (row[0].time, row[1]), reverse=True)
    return [
        read_decision(session, here, snapshot)
        for snapshot, here in found
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
