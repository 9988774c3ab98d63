"""What became of each pattern: its state in the queue, or why no skill can be made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...digest import domain_hash
from ...encoding import pack
from ...results import SkillPattern

if TYPE_CHECKING:
    from ...experience.experience_protocol import WorkItem
    from ...results import SkillProgram
    from .miner import FrequentPattern

PATTERNS = "patterns"
"""The evolver, and the kind of its work items."""
NEW, WAITING, UNFIT, FAILED, NO_MODEL = "new", "waiting", "unfit", "failed", "no_model"
"""States besides those of the gate."""
_RUNNABLE = "runnable"
_hash_pattern = domain_hash("brain v1 skill pattern")


class MadeSkill(NamedTuple):
    """What was made of a pattern, `skills`: `status`, `reason`, the skill and its version."""

    status: str
    reason: str
    slug: str = ""
    version: str = ""
    skills: tuple[str, ...] = ()

    def encode(self) -> str:
        """Return it as the result of a work item."""
        return json.dumps(self._asdict(), ensure_ascii=False)


def pattern_key(skills: Sequence[str], programs: Mapping[str, SkillProgram]) -> str:
    """Return the key of a pattern; another program of one of its skills gives another key."""
    rows = tuple((slug, programs[slug].program) for slug in skills)
    return _hash_pattern(pack(rows)).hex()


def find_open_key(
    skills: Sequence[str],
    programs: Mapping[str, SkillProgram],
    made: Mapping[str, MadeSkill | None],
) -> str:
    """Return the key of a pattern, or the next one where one of its skills could not run then."""
    key = pattern_key(skills, programs)
    while (state := made.get(key)) is not None and state.status == UNFIT:
        key = _hash_pattern(bytes.fromhex(key)).hex()
    return key


def describe_pattern(
    pattern: FrequentPattern,
    programs: Mapping[str, SkillProgram],
    made: Mapping[str, MadeSkill | None],
) -> SkillPattern:
    """Return a pattern with what became of it; `made` has the results so far by key."""
    reason = find_obstacle(pattern.skills, programs)
    state: MadeSkill | None = MadeSkill(UNFIT, reason)
    if not reason:
        key = find_open_key(pattern.skills, programs, made)
        state = made[key] if key in made else MadeSkill(NEW, "")
    shown = state or MadeSkill(WAITING, "")
    return SkillPattern(pattern.skills, pattern.support, shown.status, shown.reason, shown.slug)


def read_made(items: Iterable[tuple[WorkItem, str]]) -> dict[str, MadeSkill | None]:
    """Return the results of work items by key, None for those not done."""
    return {item.key: decode_made(result) if result else None for item, result in items}


def find_obstacle(skills: Sequence[str], programs: Mapping[str, SkillProgram]) -> str:
    """Return why no program can call the skills of a pattern, "" if one can."""
    for slug in skills:
        program = programs.get(slug)
        if program is None:
            return f"{slug} is not a skill with a program, which another one can call"
        if program.status != _RUNNABLE:
            return f"{slug} may not run: {program.status}"
    return ""


def decode_made(result: str) -> MadeSkill:
    """Return what was made of a pattern, from the result of its work item."""
    try:
        fields = json.loads(result)
        texts = {name: str(fields[name]) for name in MadeSkill._fields[:-1]}
        return MadeSkill(**texts, skills=tuple(map(str, fields["skills"])))
    except (ValueError, KeyError, TypeError):
        return MadeSkill(FAILED, result)
