"""List the programs of a brain, and say which of them may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from ...errors import InvalidInput, NotFound, StoreError
from ...ops.log import read_decision
from ...programs import PROGRAM_FILE
from ...results import ProposedProgram, SkillProgram
from ...skills import skill_layout
from ...skills.skill_version import version_value
from .. import derive
from ..find_skill import FoundSkill, Skills
from ..session import BrainState, Session
from . import admission
from .admission import RUNNABLE


def list_programs(session: Session) -> list[SkillProgram]:
    """Return the programs of all skills at the head, by path."""
    state = session.at()
    found = []
    for skill, program in _iter_programs(state):
        slug, name, description, version, path = skill.summary
        found.append(
            SkillProgram(
                slug=slug,
                name=name,
                description=description,
                version=version,
                path=path,
                program=program.hex(),
                status=_find_status(state, skill, program),
            )
        )
    return found


def list_runnable_programs(session: Session) -> list[SkillProgram]:
    """Return the programs that a model may run, most used first, then by path.

    A damaged file of uses, which `brain doctor` and `brain evolve stats` report, leaves the
    order to the paths: tools are offered all the same.
    """
    uses: Counter[str] = Counter()
    with suppress(StoreError):
        for counts in session.usage.list_usage():
            uses[counts.path] += counts.uses
    skills = Skills(session.at())
    runnable = [
        program
        for program in list_programs(session)
        if program.status == RUNNABLE and not skills.load(program.path).card.is_user_only
    ]
    return sorted(runnable, key=lambda program: (-uses[program.path], program.path))


def list_proposed_programs(session: Session, base: bytes, tip: bytes) -> list[ProposedProgram]:
    """Return the programs that `tip` has and `base` has not, or not admitted, by path."""
    before, now, then = (
        list(_iter_programs(session.state_of(at))) for at in (base, session.head(), tip)
    )
    known, present = ({skill.path: program for skill, program in rows} for rows in (before, now))
    found = []
    for skill, program in then:
        row = admission.find_admission(session, tip, program) if program else None
        if known.get(skill.path) == program and (
            row is None or admission.find_admission(session, base, program)
        ):
            continue
        status = RUNNABLE
        if row is None:
            status = "not_admitted" if program else "unusable"
        elif present.get(skill.path) not in (None, program, known.get(skill.path)):
            status = "changed"  # accepting merges two programs, and nothing tried what comes out
        elif admission.read_tried_program(session, program) is None:
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


def _iter_programs(state: BrainState) -> Iterator[tuple[FoundSkill, bytes]]:
    """Yield the skills with a skill.py, by its path, with its id, b"" if it is unusable."""
    for path in sorted(find_code_paths(state)):
        skill = find_skill_of_code(state, path)
        if skill is not None:
            program = None
            with suppress(InvalidInput, NotFound):
                program = admission.find_program(state, skill)
            yield skill, program.id if program else b""


def find_skill_of_code(state: BrainState, path: str) -> FoundSkill | None:
    """Return the skill whose text lies beside a skill.py, None if there is none."""
    for name in skill_layout.SKILL_FILES:
        text = f"{path.rpartition('/')[0]}/{name}"
        if state.has(text):
            is_skill = derive.is_skill(state, text)
            return Skills(state).load(text) if is_skill else None
    return None


def find_code_paths(state: BrainState) -> frozenset[str]:
    """Return the paths of all skill.py; cost grows with the changes since the last call."""
    session = state.session
    suffix = f"/{PROGRAM_FILE}"
    if session.code_paths is None:
        entries = state.walk()
        paths = frozenset(entry.path for entry in entries if entry.path.endswith(suffix))
    else:
        before, paths = session.code_paths
        for change in before.diff(state):
            if change.path.endswith(suffix):
                paths = paths - {change.path} if change.after is None else paths | {change.path}
    session.code_paths = state, paths
    return paths


def _find_status(state: BrainState, skill: FoundSkill, program: bytes) -> str:
    if not program:
        return "unusable"
    status = admission.find_status(state.session, program)[0]
    is_changed = status == RUNNABLE and admission.find_changed_file(state, skill)
    return "changed" if is_changed else status
