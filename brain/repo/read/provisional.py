"""Which skills are as a provisional change made them: shown to help the cases it was tried on."""

from __future__ import annotations

from ...cache.decision_row import DecisionRow, skill_key
from ...cache.derived_cache import DerivedCache
from ...errors import InvalidInput
from ...objects.operation import evidence_blob
from ...verdicts.verdict_rules import is_provisional
from ...verdicts.verdict_types import Verdict
from ..open.session import Session
from . import lineage_cache, skill_lookup
from .ancestor_set import AncestorSet
from .decision_rows import read_decision_verdict
from .read_verdicts import read_verdict


def list_provisional(session: Session, head: bytes) -> list[tuple[DecisionRow, Verdict, str]]:
    """Return the last decision about each such skill at `head`, its verdict, and the path.

    Cost: one verdict for each skill whose last decision admits it.
    """
    inside = AncestorSet(session, head)
    last: dict[str, DecisionRow] = {}
    for key, row in lineage_cache.query_cache(session, DerivedCache.list_decisions):
        is_later = row.slug not in last or last[row.slug].generation < row.generation
        if key == skill_key(row.slug) and is_later and row.snapshot in inside:
            last[row.slug] = row
    found = []
    for slug, row in sorted(last.items()):
        if row.kind != "admit":
            continue
        verdict = read_decision_verdict(session, session.load_snapshot(row.snapshot))
        if verdict is None or not is_provisional(verdict):
            continue
        try:
            skill = skill_lookup.find_skill_or_none(session, session.bundle_of(head), slug)
        except InvalidInput:  # the slug names several
            continue
        if skill is not None and skill.blob == verdict.text:  # else it was edited since
            found.append((row, verdict, skill.path))
    return found


def find_first(session: Session, here: bytes, verdict: Verdict) -> bytes:
    """Return the snapshot that made a change; the verdict of `here` may go on with earlier ones."""
    inside = AncestorSet(session, here)
    rows = lineage_cache.read_decisions(session, skill_key(verdict.skill))
    decided = {
        evidence_blob(session.load_snapshot(row.snapshot).operation): row.snapshot
        for row in rows
        if row.snapshot in inside
    }
    while verdict.continues in decided:
        here = decided[verdict.continues]
        verdict = read_verdict(session.reader, verdict.continues)
    return here
