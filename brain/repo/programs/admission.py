"""Decide which program may run: one that was admitted, and that this machine has tried.

A program is its exact bytes, whatever the skill is called and however they came. It may run if

1. a snapshot in the lineage of the head admits exactly these bytes,
2. each snapshot there that retires them has a later one that admits or reinstates them, and
3. this machine of this user has tried them.

In a proposal, 1 and 2 are about the head of the folder, for nobody has accepted the rest; only what
the open session itself had admitted runs there before. A clone, a pull or a merge brings 1, and
never 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...cache.decision_row import DecisionRow, program_key
from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...programs import PROGRAM_FILE
from ...programs.program import Program, id_of_files
from ...skills import skill_layout
from ...skills.slug import slugify
from ..core import working_copy
from ..open.session import Session
from ..read import lineage_cache, skill_lookup
from ..read.ancestor_set import AncestorSet
from ..read.decision_rows import read_decision_verdict
from ..read.skill_lookup import FoundSkill
from .find_program import find_program, list_program_entries
from .tried_programs import TriedProgram, list_own_places, read_tried_program


@dataclass(frozen=True, slots=True, kw_only=True)
class Runnable:
    """A program that may run, with its skill, and what was approved for it on this machine.

    `hidden` are places of the host that it does not see in an approved folder. `is_proposed` tells
    that nobody has accepted it.
    """

    program: Program
    skill: FoundSkill
    tried: TriedProgram
    hidden: tuple[str, ...] = ()
    is_proposed: bool = False


def find_runnable(session: Session, slug: str) -> Runnable:
    """Return the program of a skill, by its address, that may run.

    Raises `NotFound` (`no_skill`, `no_program`), `InvalidInput` (`bad_program`), or `Conflict`
    (`not_admitted`) if it may not run, `retired` for a retired skill.
    """
    bundle = session.bundle_of(session.head())
    skill = find_skill_or_retired(session, bundle, slug)
    program = require_program(session, bundle, skill)
    refuse_changed_files(session, bundle, skill)
    is_proposed = find_admission(session, session.folder_head(), program.id) is None
    if is_proposed:
        if find_admission(session, session.head(), program.id) is None:
            raise not_admitted_error(skill, "was not admitted")
        if program.id not in session.own_programs:
            raise not_admitted_error(skill, "is proposed, and nobody has accepted it")
    tried = read_tried_program(session, program.id)
    if tried is None:
        raise not_admitted_error(skill, "was not tried on this machine")
    hidden = list_own_places(session) if tried.folders else ()
    return Runnable(
        program=program, skill=skill, tried=tried, hidden=hidden, is_proposed=is_proposed
    )


def find_skill_or_retired(session: Session, bundle: Bundle, slug: str) -> FoundSkill:
    """Return a skill. Raises `NotFound` (`no_skill`) or `Conflict` (`retired`)."""
    skill = skill_lookup.find_skill_or_none(session, bundle, slug)
    if skill is not None:
        return skill
    retired = "" if "/" in slug else slugify(slug)
    main = f"{skill_layout.RETIRED_FOLDER}{retired}/{skill_layout.SKILL_FILES[0]}"
    if retired and bundles.has_entry(session.nodes, bundle, main):
        raise Conflict(
            f"{retired} is retired",
            code="retired",
            hint=f"bring it back with `brain evolve reinstate {retired}`",
        )
    raise skill_lookup.missing_skill_error(session, bundle, slug)


def require_program(session: Session, bundle: Bundle, skill: FoundSkill) -> Program:
    """Return the program of a skill. Raises `NotFound` (`no_program`) or `InvalidInput`."""
    program = find_program(session, bundle, skill)
    if program is None:
        raise NotFound(
            f"{skill.slug} has no {PROGRAM_FILE} to run",
            code="no_program",
            hint=f"read it with `brain skill view {skill.slug}`",
        )
    return program


def not_admitted_error(skill: FoundSkill, reason: str) -> Conflict:
    """Return the error for a program that may not run."""
    return Conflict(
        f"{PROGRAM_FILE} of {skill.slug} does not run: it {reason}",
        code="not_admitted",
        hint=f"have it tried and admitted with `brain evolve admit {skill.slug}`",
    )


def refuse_changed_files(session: Session, bundle: Bundle, skill: FoundSkill) -> None:
    """Refuse a program whose files in the folder are not the recorded ones.

    Raises `Conflict` (`not_admitted`).
    """
    if not session.has_folder:
        return
    for entry in list_program_entries(session, bundle, skill):
        try:
            content = working_copy.read_if_unchanged(session, bundle, entry.path)
        except InvalidInput:  # something else is there
            content = None
        if content is None:
            raise Conflict(
                f"{printable_text(entry.path)} was changed in the folder, so {skill.slug} does"
                " not run",
                code="not_admitted",
                hint=f"have the change tried and admitted with `brain evolve admit {skill.slug}`",
            )


def find_admission(session: Session, head: bytes, program: bytes) -> DecisionRow | None:
    """Return the last decision in the lineage of `head` that lets a program run, None without.

    Cost: the decisions about the program, each O(log n) in the number of snapshots.
    """
    rows = _list_decisions(session, head, program)
    if not _has_admission(session, rows):
        return None
    retired = [row for row in rows if row.kind == "retire"]
    for row in reversed(rows):
        if row.kind == "retire":
            continue
        before = AncestorSet(session, row.snapshot)
        if all(other.snapshot in before for other in retired):
            return row
    return None


def was_admitted(session: Session, head: bytes, program: bytes) -> bool:
    """Tell whether a snapshot in the lineage of `head` admits a program, retired since or not."""
    return _has_admission(session, _list_decisions(session, head, program))


def _list_decisions(session: Session, head: bytes, program: bytes) -> list[DecisionRow]:
    """Return the decisions about a program in the lineage of `head`, by generation."""
    inside = AncestorSet(session, head)
    rows = lineage_cache.read_decisions(session, program_key(program))
    return [row for row in rows if row.snapshot in inside]


def _has_admission(session: Session, rows: list[DecisionRow]) -> bool:
    return any(row.kind == "admit" and _has_proof(session, row) for row in rows)


def _has_proof(session: Session, row: DecisionRow) -> bool:
    """Tell whether the snapshot of an admission really names a verdict over its program."""
    verdict = read_decision_verdict(session, session.load_snapshot(row.snapshot))
    return (
        verdict is not None
        and id_of_files(verdict.files) == row.program
        and all(case.outcome == "pass" for case in verdict.cases)
    )
