"""Which skills are as a provisional change made them: shown to help the cases it was tried on."""

from __future__ import annotations

from ..errors import InvalidInput
from ..gating.case_paths import slug_of_case
from ..objects.operation import evidence_blob
from ..objects.tree_node import TreeEntry
from ..verdicts.verdict import Verdict, read_verdict_state
from . import lineage_cache
from .derive import read_decision_verdict
from .derived_db import PROVISIONAL_KEY, DecisionRow, skill_key
from .find_skill import FoundSkill, Skills
from .lineage_cache import AncestorSet
from .session import BrainState, Session


def list_provisional(session: Session, head: bytes) -> list[tuple[DecisionRow, Verdict, str]]:
    """Return the last decision about each such skill at `head`, its verdict, and the path.

    Cost: the decisions about the skills that ever were provisional.
    """
    found = []
    for slug in sorted(
        {row.slug for row in lineage_cache.read_decisions(session, PROVISIONAL_KEY)}
    ):
        row = find_last_decision(session, head, slug)
        if row is None or not row.is_provisional:
            continue
        verdict = read_decision_verdict(session, session.load_snapshot(row.snapshot))
        try:
            skill = Skills(session.state_of(head)).find_or_none(slug)
        except InvalidInput:  # the slug names several
            continue
        if verdict and skill and is_as_decided(session.state_of(head), row, skill):
            found.append((row, verdict, skill.path))
    return found


def find_last_decision(session: Session, head: bytes, slug: str) -> DecisionRow | None:
    """Return the last decision about a skill in the lineage of `head`, as `verify` finds it."""
    inside = AncestorSet(session, head)
    rows = lineage_cache.read_decisions(session, skill_key(slug))
    return next((row for row in reversed(rows) if row.snapshot in inside), None)


def is_as_decided(state: BrainState, row: DecisionRow, skill: FoundSkill) -> bool:
    """Tell whether the files of a skill, but for its cases, are as a decision about it left them.

    Then nobody has edited what was tried, and nothing is lost if the change is taken back.
    """
    now = _list_files(state, skill)
    return now == _list_files(state.session.state_of(row.snapshot), skill)


def _list_files(state: BrainState, skill: FoundSkill) -> list[TreeEntry]:
    return [entry for entry in Skills(state).entries(skill) if not slug_of_case(entry.path)]


def find_first(session: Session, here: bytes, verdict: Verdict) -> bytes:
    """Return the snapshot that made a change; the verdict of `here` may go on with earlier ones.

    Of verdicts that cannot be read, it is the first snapshot that is known.
    """
    inside = AncestorSet(session, here)
    rows = lineage_cache.read_decisions(session, skill_key(verdict.skill))
    decided = {
        evidence_blob(session.load_snapshot(row.snapshot).operation): row.snapshot
        for row in rows
        if row.snapshot in inside
    }
    known: Verdict | None = verdict
    while known is not None and known.continues in decided:
        here = decided[known.continues]
        known = read_verdict_state(session.reader, known.continues)[1]
    return here
