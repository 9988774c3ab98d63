"""Which skills no rule rolls back or retires: those that a person pinned or wrote.

A skill is pinned if manifest.yaml says so. A person wrote it if the last snapshot that changed its
text carries no receipt: the tools of agents write as part of a run, which leaves a receipt, while
commands and editors do not. A program that a person's verdict admitted counts as a person's, too.
A decision to retire or reinstate a skill changes nothing about who wrote it.
"""

from __future__ import annotations

from ...cache.decision_row import skill_key
from ...digest import NO_DIGEST
from ...errors import InvalidInput
from ...objects.bundle import Bundle
from ..history import log
from ..open.manifest import load_manifest
from ..open.session import Session
from ..read import lineage_cache
from ..read.ancestor_set import AncestorSet
from ..read.decision_rows import read_decision_verdict
from ..read.skill_lookup import FoundSkill
from .find_program import list_program_entries
from .pinned import is_pinned

PINNED = "pinned"
WRITTEN_BY_PERSON = "written by a person"

_KEEPS_AUTHOR = ("retire", "reinstate")


def find_protection(session: Session, bundle: Bundle, skill: FoundSkill) -> str:
    """Return why no rule may change a skill, "" if one may.

    A manifest that cannot be read protects every skill.
    """
    try:
        if is_pinned(load_manifest(session).pinned, skill):
            return PINNED
    except InvalidInput as error:
        return error.message
    is_by_person = _was_written_by_person(session, skill) or (
        bool(list_program_entries(session, bundle, skill))
        and _was_admitted_by_person(session, skill)
    )
    return WRITTEN_BY_PERSON if is_by_person else ""


def _was_written_by_person(session: Session, skill: FoundSkill) -> bool:
    for row in reversed(log.find_skill_changes(session, session.head(), skill.path)):
        snapshot = session.load_snapshot(row.snapshot)
        if snapshot.operation[0] not in _KEEPS_AUTHOR:
            return snapshot.receipt == NO_DIGEST
    return True


def _was_admitted_by_person(session: Session, skill: FoundSkill) -> bool:
    """Tell whether a person decided the last admission; without one nobody did."""
    inside = AncestorSet(session, session.head())
    rows = lineage_cache.read_decisions(session, skill_key(skill.slug))
    admissions = [row for row in rows if row.kind == "admit" and row.snapshot in inside]
    if not admissions:
        return False
    verdict = read_decision_verdict(session, session.load_snapshot(admissions[-1].snapshot))
    return verdict is not None and verdict.decider == "person"
