"""How all skills of a brain do in use, also those that were retired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...digest import NO_DIGEST
from ...errors import InvalidInput
from ...experience.degradation import find_interval, is_degraded
from ...experience.usage import UsageCounts
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...results import SkillUsage, UsageStats, VersionUses
from ...skills import index_lines, skill_layout
from ...skills.skill_layout import RETIRED_FOLDER
from ...skills.skill_version import version_value
from ...util.utc_time import utc_time
from ..open import manifest
from ..open.session import Session
from ..read import skill_lookup, skill_rows
from ..read.skill_lookup import FoundSkill
from .admission import RUNNABLE
from .list_programs import list_programs
from .retire import PINNED, find_protection, is_pinned


def read_stats(session: Session) -> UsageStats:
    """Return how the skills at the head do in use: those used most first, then by slug.

    Raises `StoreError` if the file of uses cannot be read.
    """
    return _StatsReader(session).read()


class _StatsReader:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._bundle: Bundle = session.bundle_of(session.head())
        self._programs = {one.path: one for one in list_programs(session)}
        self._counts: dict[str, list[UsageCounts]] = defaultdict(list)
        for counts in session.usage.list_usage():
            self._counts[counts.path].append(counts)
        try:
            self._pinned = manifest.load_manifest(session).pinned
        except InvalidInput:  # `brain doctor` says what is wrong with it
            self._pinned = ()

    def read(self) -> UsageStats:
        skills = skill_lookup.find_all_skills(self._session, self._bundle)
        lines = self._format_index_lines(skills)
        found = [
            self._describe(skill, self._counts.get(skill.path, ()), line)
            for skill, line in zip(skills, lines, strict=True)
        ]
        found += self._describe_retired({skill.path for skill in skills})
        found.sort(key=lambda one: (-one.uses, one.slug, one.path))
        tokens = index_lines.estimate_tokens("\n".join(lines))
        return UsageStats(found, sum(not one.uses for one in found), tokens)

    def _format_index_lines(self, skills: Sequence[FoundSkill]) -> list[str]:
        addresses = skill_lookup.address_all(skill.path for skill in skills)
        return index_lines.format_lines(
            [
                (
                    addresses[skill.path],
                    index_lines.differing_name(skill.slug, skill.card.name),
                    skill.card.description,
                )
                for skill in skills
            ]
        )

    def _describe_retired(self, present: set[str]) -> Iterator[SkillUsage]:
        """Yield the retired skills, with the uses of their slug where no skill is any more.

        One that was written anew since is left out.
        """
        slugs = set(map(skill_rows.slug_from_full_path, present))
        by_slug: dict[str, list[UsageCounts]] = defaultdict(list)
        for path, counts in self._counts.items():
            if path not in present:
                by_slug[skill_rows.slug_from_full_path(path)] += counts
        for entry in bundles.walk_below(
            self._session.nodes, self._bundle, RETIRED_FOLDER.rstrip("/")
        ):
            slug, _, file = entry.path.removeprefix(RETIRED_FOLDER).partition("/")
            if file in skill_layout.SKILL_FILES and slug not in slugs:
                skill = skill_lookup.load_skill(self._session, self._bundle, entry.path)
                yield self._describe(skill, by_slug.get(slug, ()), "")._replace(state="retired")

    def _describe(self, skill: FoundSkill, counts: Sequence[UsageCounts], line: str) -> SkillUsage:
        slug, name, _, version, path = skill.summary
        program = self._programs.get(path)
        program_id = bytes.fromhex(program.program) if program else NO_DIGEST
        key = skill.card.version, program_id
        now = next(
            (one for one in counts if (one.version, one.program) == key),
            UsageCounts(path=path, version=skill.card.version),
        )
        degraded = is_degraded(now)
        state = "degraded" if degraded else "ok"
        if program is not None and program.status != RUNNABLE:
            state = program.status
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
            protection=self._find_protection(skill, degraded),
            versions=[_describe_version(one) for one in counts],
        )

    def _find_protection(self, skill: FoundSkill, degraded: bool) -> str:
        if is_pinned(self._pinned, skill):
            return PINNED
        if not degraded or skill.path.startswith(RETIRED_FOLDER):
            return ""
        return find_protection(self._session, self._bundle, skill)


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
