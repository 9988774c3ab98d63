"""Which skills no rule rolls back or retires: those that a person pinned or wrote.

A skill is pinned if manifest.yaml says so. A person wrote

- a skill with a program, if the verdict that admitted the program was a person's;
- any other skill, if the last snapshot that changed its text carries no receipt: the tools of
  agents write as part of a run, which leaves one, and commands and editors do not.

A decision to retire or reinstate changes nothing about who wrote a skill.
"""

from __future__ import annotations

from ...cache.derived_cache import skill_key
from ...digest import NO_DIGEST
from ...errors import InvalidInput
from ...objects.bundle import Bundle
from ..history import log
from ..open.session import Session
from ..read import lineage_cache
from ..read.ancestor_set import AncestorSet
from ..read.decision_rows import read_verdict
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
        if is_pinned(session, skill):
            return PINNED
    except InvalidInput as error:
        return error.message
    has_program = bool(list_program_entries(session, bundle, skill))
    is_by_person = _was_admitted_by_person if has_program else _was_written_by_person
    return WRITTEN_BY_PERSON if is_by_person(session, skill) else ""


def _was_admitted_by_person(session: Session, skill: FoundSkill) -> bool:
    """Return who decided the last admission; a program without one counts as a person's."""
    inside = AncestorSet(session, session.head())
    rows = lineage_cache.read_decisions(session, skill_key(skill.slug))
    for row in reversed(rows):
        if row.kind == "admit" and row.snapshot in inside:
            verdict = read_verdict(session, session.load_snapshot(row.snapshot))
            return verdict is None or verdict.decider == "person"
    return True


def _was_written_by_person(session: Session, skill: FoundSkill) -> bool:
    for row in reversed(log.find_skill_changes(session, session.head(), skill.path)):
        snapshot = session.load_snapshot(row.snapshot)
        if snapshot.operation[0] not in _KEEPS_AUTHOR:
            return snapshot.receipt == NO_DIGEST
    return True
