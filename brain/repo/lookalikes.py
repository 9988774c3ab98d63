"""Warn about skills whose names are deceptive or look like another skill's name.

A name with letters of two scripts or invisible characters is reported with these; a name
that equals or looks like that of a skill in another folder, with that skill.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from ..errors import InvalidInput, printable_text
from ..objects.tree_node import LINK, TreeEntry
from ..results import Notice
from ..skills import slug
from ..skills.skill_metadata import SkillMetadata
from ..skills.slug import slugify
from . import derive, find_skill, lineage_cache
from .find_skill import Skills
from .session import BrainState, Session

SAME_NAME_CODE = "same_name"
MAX_COMPARED_NAMES = 1000
"""Skills of one snapshot whose names are compared with those of others."""


def check_edited_names(
    before: BrainState, after: BrainState, edits: Mapping[str, TreeEntry | None]
) -> list[Notice]:
    """Return notices on the names of skills that these edits added or changed.

    For very many skills a single notice says that they were not compared.
    """
    changed = [
        (path, entry)
        for path, entry in edits.items()
        if entry is not None and entry.kind != LINK and derive.may_be_skill(path)
    ]
    if len(changed) > MAX_COMPARED_NAMES:
        return [_names_not_compared_notice(len(changed))]
    out: list[Notice] = []
    for path, entry in changed:
        was = before.get(path)
        if derive.is_skill(after, path):
            known = lineage_cache.load_cards(
                after.session, [one.blob for one in (was, entry) if one is not None]
            )
            now, old = known[entry.blob], known[was.blob] if was is not None else None
            if old is None or _shown_name(old) != _shown_name(now):
                out += _check_skill_name(after, path, now)
    return out


def check_names_at_head(session: Session, paths: Iterable[str]) -> list[Notice]:
    """Return notices on the names of the skills that the head has at some full paths."""
    state = session.at()
    skills = [path for path in paths if derive.is_skill(state, path) and state.has(path)]
    if len(skills) > MAX_COMPARED_NAMES:
        return [_names_not_compared_notice(len(skills))]
    found = [Skills(state).load(path) for path in skills]
    return [notice for one in found for notice in _check_skill_name(state, one.path, one.card)]


def check_new_name(state: BrainState, path: str, new_name: str) -> list[Notice]:
    """Return notices on a skill that was created or renamed under `new_name`."""
    card = Skills(state).load(path).card
    found = (*_check_name(path, new_name), *_check_skill_name(state, path, card))
    return list(dict.fromkeys(found))


def _check_skill_name(state: BrainState, path: str, card: SkillMetadata) -> Iterator[Notice]:
    name = card.name or derive.slug_from_full_path(path)
    yield from _check_name(path, name)
    if _shown_name(card)[1]:
        yield Notice(slug.HIDDEN_NAME, path, slug.hidden_name_message(name))
    candidates: dict[str, None] = {}
    for form in dict.fromkeys((name, slug.map_confusables_to_latin(name))):
        with suppress(InvalidInput):  # no skill is found by such a name
            paths = find_skill.find_candidate_paths(state.session, slugify(form))
            candidates |= dict.fromkeys(paths)
    candidates.pop(path, None)
    skills = Skills(state)
    for other in map(skills.load, skills.filter(candidates)):
        if slug.name_skeleton(name) == slug.name_skeleton(other.card.name or other.slug):
            yield Notice(SAME_NAME_CODE, path, describe_same_name(name, [other.path]))
            return


def _names_not_compared_notice(skills: int) -> Notice:
    message = f"the names of {skills} skills were not compared: run `brain skill check`"
    return Notice("names_not_compared", "", message)


def _check_name(path: str, name: str) -> Iterator[Notice]:
    for code, message in slug.find_name_problems(name):
        yield Notice(code, path, message)


def describe_same_name(name: str, others: Iterable[str]) -> str:
    """Return a message that a name is, or looks like, that of the skills at these paths."""
    return f"is called {printable_text(name)}, as is {', '.join(map(printable_text, others))}"


def _shown_name(card: SkillMetadata) -> tuple[str, bool]:
    """Return the name of a skill, and whether it has text that nobody sees."""
    return card.name, slug.HIDDEN_NAME in card.flags.split()
