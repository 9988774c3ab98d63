"""What a model is shown with a gap: the skills that exist, those that are wanted, and attempts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ...errors import BrainError
from ...gating.case_types import Case
from ..conversation import related_attempts
from ..synthesis_prompt import KnownAttempt
from .brain_protocol import GapBrain
from .gap_audit import VALIDATION_PHASE
from .gap_prompt import gap_message
from .gap_queue import EndedAttempt
from .open_gaps import OpenGap

_MAX_SELECTED = 30
_MAX_WANTED = 10
_MAX_PRACTICE = 3
_MAX_CASE_CHARS = 600
_MAX_PROPOSALS = 20
_MAX_PROPOSED_SKILLS = 5
_MAX_PROPOSAL_CHARS = 300
_MAX_UNKEPT = 3
"""Answers without a program that are shown."""


def build_gap_message(brain: GapBrain, gap: OpenGap, refused: Sequence[EndedAttempt] = ()) -> str:
    """Return the first message about a gap. Held-out cases are in no part of it.

    `refused` are earlier attempts at it that were rejected, newest first.
    """
    selected = brain.skills.select(gap.goal, _MAX_SELECTED) if gap.goal else []
    wanted = _list_wanted(brain)
    return gap_message(
        gap,
        [f"{skill.slug}: {skill.description}" for skill in selected],
        list(_describe_wanted(brain, wanted)),
        _list_attempts(brain, refused, wanted),
        list(_describe_proposals(brain)),
    )


def list_proposed_skills(brain: GapBrain) -> tuple[str, ...]:
    """Return the skills that proposals which wait for a person would add or change."""
    found = [skill.slug for one in brain.proposals.list() for skill in one.skills]
    return tuple(dict.fromkeys(found))


def _describe_proposals(brain: GapBrain) -> Iterator[str]:
    """Yield a line for each proposal that waits: its skills, and what it is for."""
    for one in brain.proposals.list()[:_MAX_PROPOSALS]:
        slugs = ", ".join(skill.slug for skill in one.skills[:_MAX_PROPOSED_SKILLS])
        about = one.made[0].message.partition("\n")[0] if one.made else ""
        yield f"{slugs}: {about}"[:_MAX_PROPOSAL_CHARS]


def _list_attempts(
    brain: GapBrain, refused: Sequence[EndedAttempt], wanted: Sequence[str]
) -> list[KnownAttempt]:
    """Return what was refused: at this gap, and at the skills that are wanted."""
    unkept = [
        KnownAttempt(one.slug or "no program", one.reason, "")
        for one in refused
        if one.phase == VALIDATION_PHASE and not one.attempt
    ]
    slugs = dict.fromkeys([*(one.slug for one in refused if one.attempt), *wanted])
    return [*unkept[:_MAX_UNKEPT], *related_attempts(brain, slugs)]


def _list_wanted(brain: GapBrain) -> list[str]:
    """Return the slugs that have cases and no skill yet."""
    slugs = dict.fromkeys(case.slug for case in brain.gate.list_cases())
    return [slug for slug in slugs if not _exists(brain, slug)][:_MAX_WANTED]


def _exists(brain: GapBrain, slug: str) -> bool:
    try:
        brain.skills.view(slug)
    except BrainError:
        return False
    return True


def _describe_wanted(brain: GapBrain, slugs: list[str]) -> Iterator[str]:
    for slug in slugs:
        yield slug
        try:
            cases = brain.gate.practice_cases(slug)[:_MAX_PRACTICE]
        except BrainError:  # a document that is no case: the gate reports it
            continue
        yield from map(_describe_case, cases)


def _describe_case(case: Case) -> str:
    payload = case.input if isinstance(case.input, str) else json.dumps(dict(case.input))
    expect = case.expect
    if expect.has_equals:
        answer = f"must give {json.dumps(expect.equals)}"
    else:
        answer = f"must hold {list(expect.contains)}, and must not hold {list(expect.excludes)}"
    return f"  for {payload} it {answer}"[:_MAX_CASE_CHARS]
