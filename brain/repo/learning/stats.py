"""How all skills of a brain do in use, also those that were retired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from ...digest import NO_DIGEST
from ...errors import InvalidInput
from ...experience.degradation import find_interval, is_degraded
from ...experience.usage import UsageCounts
from ...results import SkillProgram, SkillUsage, UsageStats, VersionUses
from ...skills import index_lines, skill_layout
from ...skills.skill_layout import RETIRED_FOLDER
from ...skills.skill_version import version_value
from ...util.utc_time import utc_time
from .. import derive, manifest
from ..find_skill import FoundSkill, Skills
from ..session import Session
from .admission import RUNNABLE
from .list_programs import list_programs
from .retire import PINNED, find_protection, is_pinned


def read_stats(session: Session) -> UsageStats:
    """Return how the skills at the head do in use: those used most first, then by slug.

    Raises `StoreError` if the file of uses cannot be read.
    """
    state = session.at()
    programs = {one.path: one for one in list_programs(session)}
    counts: dict[str, list[UsageCounts]] = defaultdict(list)
    for one in session.usage.list_usage():
        counts[one.path].append(one)
    pinned: tuple[str, ...] = ()
    with suppress(InvalidInput):  # `brain doctor` says what is wrong with it
        pinned = manifest.load_manifest(session).pinned
    # 1. The skills, each with its line in the index.
    skills = Skills(state).all()
    addresses = derive.address_all(skill.path for skill in skills)
    lines = index_lines.format_lines(
        [
            (
                addresses[skill.path],
                index_lines.differing_name(skill.slug, skill.card.name),
                skill.card.description,
            )
            for skill in skills
        ]
    )
    # 2. The retired ones, with the uses of their slug where no skill is any more; one that was
    # written anew since is left out.
    present = {
        skill.path: "" if skill.card.is_user_only else line
        for skill, line in zip(skills, lines, strict=True)
    }
    slugs = set(map(derive.slug_from_full_path, present))
    by_slug: dict[str, list[UsageCounts]] = defaultdict(list)
    for path, used in counts.items():
        if path not in present:
            by_slug[derive.slug_from_full_path(path)] += used
    rows = [(skill, counts.get(skill.path, [])) for skill in skills]
    for entry in state.walk_below(RETIRED_FOLDER.rstrip("/")):
        slug, _, file = entry.path.removeprefix(RETIRED_FOLDER).partition("/")
        if file in skill_layout.SKILL_FILES and slug not in slugs:
            skill = Skills(state).load(entry.path)
            rows.append((skill, by_slug.get(slug, [])))
    # 3. What each came to.
    found = [
        _describe(session, skill, used, present.get(skill.path, ""), programs, pinned)
        for skill, used in rows
    ]
    found.sort(key=lambda one: (-one.uses, one.slug, one.path))
    tokens = index_lines.estimate_tokens("\n".join(filter(None, present.values())))
    return UsageStats(found, sum(not one.uses for one in found), tokens)


def _describe(
    session: Session,
    skill: FoundSkill,
    counts: Sequence[UsageCounts],
    line: str,
    programs: Mapping[str, SkillProgram],
    pinned: Collection[str],
) -> SkillUsage:
    slug, name, _, version, path = skill.summary
    program = programs.get(path)
    program_id = bytes.fromhex(program.program) if program else NO_DIGEST
    key = skill.card.version, program_id
    now = next(
        (one for one in counts if (one.version, one.program) == key),
        UsageCounts(path=path, version=skill.card.version),
    )
    state = "degraded" if is_degraded(now) else "ok"
    if program is not None and program.status != RUNNABLE:
        state = program.status
    protection = PINNED if is_pinned(pinned, skill) else ""
    if path.startswith(RETIRED_FOLDER):
        state = "retired"
    elif not protection and is_degraded(now):
        protection = find_protection(session.at(), skill)
    return SkillUsage(
        slug=slug,
        name=name,
        path=path,
        version=version,
        state=state,
        program=program_id.hex(),
        uses=sum(one.uses for one in counts),
        successes=sum(one.successes for one in counts),
        failures=sum(one.failures for one in counts),
        consecutive_failures=now.consecutive_failures,
        mean_ms=now.mean,
        last_use=utc_time(max(one.last_use for one in counts)) if counts else None,
        failure=now.failure,
        tokens=index_lines.estimate_tokens(line),
        protection=protection,
        versions=[_describe_version(one) for one in counts],
    )


def _describe_version(counts: UsageCounts) -> VersionUses:
    interval = find_interval(counts)
    return VersionUses(
        version=version_value(counts.version) if counts.version else "",
        program=counts.program.hex(),
        uses=counts.uses,
        successes=counts.successes,
        failures=counts.failures,
        consecutive_failures=counts.consecutive_failures,
        low=round(interval.low, 4),
        high=round(interval.high, 4),
        mean_ms=counts.mean,
        max_ms=counts.took_max,
        first_use=utc_time(counts.first_use),
        last_use=utc_time(counts.last_use),
        last_failure=utc_time(counts.failed_at) if counts.failures else None,
        failure=counts.failure,
    )
