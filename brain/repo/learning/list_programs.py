"""List the programs of a brain, and say which of them may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from ...errors import Conflict, InvalidInput, NotFound, StoreError
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...programs import PROGRAM_FILE
from ...results import ProposedProgram, SkillProgram
from ...skills import skill_layout
from ...skills.skill_version import version_value
from ..history.decisions import read_decision
from ..open.session import Session
from ..read import skill_lookup, skill_rows
from ..read.skill_lookup import FoundSkill
from . import admission
from .admission import find_program, read_tried_program

RUNNABLE = "runnable"
"""The status of a program that may run."""
_CODE_SUFFIX = f"/{PROGRAM_FILE}"


def list_programs(session: Session) -> list[SkillProgram]:
    """Return the programs of all skills at the head, by path."""
    bundle = session.bundle_of(session.head())
    return [_describe(session, bundle, skill) for skill in _iter_skills(session, bundle)]


def list_runnable_programs(session: Session) -> list[SkillProgram]:
    """Return the programs that may run, most used first, then by path.

    A damaged file of uses, which `brain doctor` and `brain evolve stats` report, leaves the
    order to the paths: tools are offered all the same.
    """
    uses: Counter[str] = Counter()
    with suppress(StoreError):
        for counts in session.usage.list_usage():
            uses[counts.path] += counts.uses
    runnable = [program for program in list_programs(session) if program.status == RUNNABLE]
    return sorted(runnable, key=lambda program: (-uses[program.path], program.path))


def list_proposed_programs(session: Session, base: bytes, tip: bytes) -> list[ProposedProgram]:
    """Return the programs that `tip` has and `base` has not, or not admitted, by path."""
    before, now = (
        {skill.path: program for skill, program in _iter_program_ids(session, at)}
        for at in (base, session.head())
    )
    found = []
    for skill, program in _iter_program_ids(session, tip):
        row = admission.find_admission(session, tip, program) if program else None
        if before.get(skill.path) == program and (
            row is None or admission.find_admission(session, base, program)
        ):
            continue
        status = RUNNABLE
        if row is None:
            status = "not_admitted" if program else "unusable"
        elif now.get(skill.path) not in (None, program, before.get(skill.path)):
            status = "changed"  # accepting merges two programs, and nothing tried what comes out
        elif read_tried_program(session, program) is None:
            status = "not_tried"
        decided = row and read_decision(session, row.snapshot, session.load_snapshot(row.snapshot))
        found.append(
            ProposedProgram(
                slug=skill.slug,
                version=version_value(skill.card.version),
                path=skill.path,
                program=program.hex(),
                status=status,
                decision=decided,
            )
        )
    return found


def _iter_program_ids(session: Session, at: bytes) -> Iterator[tuple[FoundSkill, bytes]]:
    """Yield the skills with a skill.py at a snapshot, each with its program, b"" if unusable."""
    bundle = session.bundle_of(at)
    for skill in _iter_skills(session, bundle):
        try:
            program = find_program(session, bundle, skill)
        except (InvalidInput, NotFound):
            program = None
        yield skill, program.id if program is not None else b""


def _iter_skills(session: Session, bundle: Bundle) -> Iterator[FoundSkill]:
    """Yield the skills that have a skill.py beside their text, by path."""
    for path in sorted(find_code_paths(session, bundle)):
        skill = find_skill_of_code(session, bundle, path)
        if skill is not None:
            yield skill


def find_skill_of_code(session: Session, bundle: Bundle, path: str) -> FoundSkill | None:
    """Return the skill whose text lies beside a skill.py, None if there is none."""
    home = path.rpartition("/")[0]
    for name in skill_layout.SKILL_FILES:
        text = f"{home}/{name}"
        if bundles.has_entry(session.nodes, bundle, text):
            is_skill = skill_rows.is_skill(session, bundle, text)
            return skill_lookup.load_skill(session, bundle, text) if is_skill else None
    return None


def find_code_paths(session: Session, bundle: Bundle) -> frozenset[str]:
    """Return the paths of all skill.py; cost grows with the changes since the last call."""
    if session.code_paths is None:
        entries = bundles.walk_entries(session.nodes, bundle)
        paths = frozenset(entry.path for entry in entries if entry.path.endswith(_CODE_SUFFIX))
    else:
        before, paths = session.code_paths
        changed = [
            change
            for change in bundles.diff_bundles(session.nodes, before, bundle)
            if change.path.endswith(_CODE_SUFFIX)
        ]
        paths -= {change.path for change in changed if change.after is None}
        paths |= {change.path for change in changed if change.after is not None}
    session.code_paths = bundle, paths
    return paths


def _describe(session: Session, bundle: Bundle, skill: FoundSkill) -> SkillProgram:
    program, status = _find_status(session, bundle, skill)
    slug, name, description, version, path = skill.summary
    return SkillProgram(
        slug=slug,
        name=name,
        description=description,
        version=version,
        path=path,
        program=program.hex(),
        status=status,
    )


def _find_status(session: Session, bundle: Bundle, skill: FoundSkill) -> tuple[bytes, str]:
    try:
        program = find_program(session, bundle, skill)
    except (InvalidInput, NotFound):
        program = None
    if program is None:
        return b"", "unusable"
    if admission.find_admission(session, session.folder_head(), program.id) is None:
        if admission.find_admission(session, session.head(), program.id) is None:
            return program.id, "not_admitted"
        if program.id not in session.own_programs:
            return program.id, "proposed"
    if read_tried_program(session, program.id) is None:
        return program.id, "not_tried"
    try:
        admission.refuse_changed_files(session, bundle, skill)
    except Conflict:
        return program.id, "changed"
    return program.id, RUNNABLE
