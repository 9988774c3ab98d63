"""How each version of a skill did in use, for the decision about the present one.

A skill with a program is judged by the runs of its program, any other by the tasks for which it
was read.
"""

from __future__ import annotations

from collections.abc import Collection

from ...cache.decision_row import skill_key
from ...cache.derived_cache import SkillHistoryRow
from ...digest import NO_DIGEST, blob_id
from ...errors import BrainError
from ...objects.bundle import Bundle
from ...programs.program import id_of_files
from ...skills import skill_document
from ...usage.degradation import VersionUsage
from ...usage.usage_types import UsageCounts
from ..history import log
from ..open.session import Session
from ..read import lineage_cache, skill_lookup, skill_rows
from ..read.ancestor_set import AncestorSet
from ..read.skill_lookup import FoundSkill
from .find_program import list_program_entries

_ANY_VERSION = "1"


def read_program_id(session: Session, bundle: Bundle, skill: FoundSkill) -> bytes:
    """Return the id of the program of a skill, empty if it has none; reads no content."""
    entries = list_program_entries(session, bundle, skill)
    start = len(skill.folder or "")
    return (
        id_of_files([(entry.path[start:], entry.blob) for entry in entries])
        if entries
        else NO_DIGEST
    )


def read_versions(session: Session, bundle: Bundle, skill: FoundSkill) -> list[VersionUsage]:
    """Return the usage of the versions of a skill, oldest first; the last one is the present.

    `bundle` has the skill. Versions that were never used are left out, but for the present one.
    """
    program = read_program_id(session, bundle, skill)
    rows = [
        row
        for row in log.find_skill_changes(session, session.head(), skill.path)
        if row.change != skill_rows.REMOVED
    ]
    paths = dict.fromkeys([skill.path, *(row.path for row in rows)])
    counts = {
        (one.path, one.version, one.program): one
        for path in paths
        for one in session.usage.read_usage(path)
        if bool(one.program) == bool(program)
    }
    present = counts.pop(
        (skill.path, skill.card.version, program),
        UsageCounts(path=skill.path, version=skill.card.version, program=program),
    )
    admitted = _find_admitted(session, skill.slug) if program else None
    earlier: dict[tuple[str, str, bytes], VersionUsage] = {}
    for row in rows:
        for key, one in counts.items():
            if key[:2] == (row.path, row.version):
                earlier.pop(key, None)  # what came back later is the later one
                content = one.program or _find_content(session, row)
                earlier[key] = _version_usage(one, content, admitted)
    content = program or _plain_content(session, skill)
    return [*earlier.values(), _version_usage(present, content, admitted)]


def _version_usage(
    counts: UsageCounts, content: bytes, admitted: Collection[bytes] | None
) -> VersionUsage:
    return VersionUsage(
        version=counts.version,
        content=content,
        uses=counts.uses,
        successes=counts.successes,
        failures=counts.failures,
        succeeded=counts.trials[0],
        failed=counts.trials[1],
        can_return=admitted is None or content in admitted,
    )


def _find_admitted(session: Session, slug: str) -> set[bytes]:
    """Return the ids of the programs that were admitted for a skill in the lineage of the head."""
    inside = AncestorSet(session, session.head())
    rows = lineage_cache.read_decisions(session, skill_key(slug))
    return {row.program for row in rows if row.kind == "admit" and row.snapshot in inside}


def _find_content(session: Session, row: SkillHistoryRow) -> bytes:
    bundle = session.bundle_of(row.snapshot)
    return _plain_content(session, skill_lookup.load_skill(session, bundle, row.path))


def _plain_content(session: Session, skill: FoundSkill) -> bytes:
    """Return a digest of the text of a skill that does not depend on its version."""
    try:
        text = session.reader.read_blob(skill.blob)
        return blob_id(skill_document.set_version(text, _ANY_VERSION, skill.slug))
    except BrainError:  # redacted, or front matter that cannot be read
        return skill.blob
