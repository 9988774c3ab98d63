"""The skills whose programs reach a program by calls, also over others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from ...errors import InvalidInput
from ...objects.bundle import Bundle
from ...programs.program import slug_of_tool
from ...programs.python_code import find_called_names
from ...running.broker import MAX_CALL_DEPTH
from ...skills.slug import fold_to_slug
from ..open.session import Session
from ..programs.list_programs import find_skill_of_code
from ..read import skill_lookup, skill_rows
from ..read.skill_lookup import FoundSkill

_MAX_CACHED = 20_000
_called: dict[bytes, frozenset[str]] = {}
"""The slugs that each code calls, by its blob."""


def find_callers(
    session: Session, bundle: Bundle, codes: Mapping[str, bytes], names: Collection[str]
) -> set[str]:
    """Return the slugs of the skills whose programs call one skill, or call such a caller.

    `codes` are the blobs of all skill.py of the bundle, by path. `names` are the slugs by which
    programs call that skill. A name means the skill of its slug,
    else the one that declares it, as for a run. Chains are as long as a broker allows.
    """
    calls = _read_calls(session, codes)
    found: dict[str, FoundSkill | None] = {}
    wanted = set(names)
    for _ in range(MAX_CALL_DEPTH - 1):
        new = {
            path: find_skill_of_code(session, bundle, path)
            for path, called in calls.items()
            if path not in found and not called.isdisjoint(wanted)
        }
        found |= new
        wanted = {
            slug for skill in new.values() if skill for slug in _list_names(session, bundle, skill)
        }
    return {skill.slug for skill in found.values() if skill}.difference(names)


def _list_names(session: Session, bundle: Bundle, skill: FoundSkill) -> Iterator[str]:
    """Yield the slugs by which a program calls a skill: its own, and that of its name."""
    for slug in skill_rows.skill_slugs(skill.path, skill.card.name):
        with suppress(InvalidInput):  # ambiguous
            if skill_lookup.find_skill_path(session, bundle, slug) == skill.path:
                yield slug


def _read_calls(session: Session, codes: Mapping[str, bytes]) -> dict[str, frozenset[str]]:
    """Return what each skill.py calls, by its path."""
    if len(_called) > _MAX_CACHED:
        _called.clear()
    new = set(codes.values()).difference(_called)
    readable = list(new.difference(session.reader.find_redactions(list(new))))
    for blob, code in session.reader.read_small_blobs(readable):
        _called[blob] = frozenset(fold_to_slug(slug_of_tool(n)) for n in find_called_names(code))
    return {path: _called.get(blob, frozenset()) for path, blob in codes.items()}
