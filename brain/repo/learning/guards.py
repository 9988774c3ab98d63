"""Guards: held-out cases of other skills, which a change must not make worse.

They are the cases of the skills whose programs reach a changed program by calls, and of the skills
that search ranks next to one whose text is another one. Which skill an agent would choose for a
task is not asked: what is tried has the changed skill in front of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from ...errors import InvalidInput
from ...gating.case_files import Case
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_entry import LINK
from ...programs import PROGRAM_FILE
from ...programs.program import slug_of_tool
from ...programs.python_code import MAX_CODE_BYTES, find_called_names
from ...running.broker import MAX_CALL_DEPTH
from ...skills.skill_metadata import read_skill_metadata
from ...skills.slug import fold_to_slug
from ..open.session import Session
from ..read import skill_lookup, skill_rows
from ..read.skill_lookup import FoundSkill
from ..search.select import BM25, SelectionRequest, select_from_bundle
from .cases import read_held_out
from .change import PlannedChange, body_of, list_names
from .list_programs import find_code_paths, find_skill_of_code

MAX_NEIGHBOURS = 8
"""Skills beside the changed one whose cases guard it, for each of its two texts."""
_MAX_CACHED = 20_000
_called: dict[bytes, frozenset[str]] = {}
"""The slugs that each code calls, by its blob."""


def find_guards(session: Session, planned: PlannedChange) -> list[Case]:
    """Return the held-out cases of other skills that guard a planned change, by path."""
    bundle = session.bundle_of(planned.head)
    found: dict[str, Case] = {}
    callers = find_callers(session, bundle, _list_called_names(planned))
    for skill in callers:
        cases = read_held_out(session, planned.head, skill.path)
        found |= {case.path: case for case in cases if not isinstance(case.input, str)}
    for path in _find_neighbours(session, bundle, planned):
        code = f"{path.rpartition('/')[0]}/{PROGRAM_FILE}"
        has_program = bundles.has_entry(session.nodes, bundle, code)
        cases = read_held_out(session, planned.head, path)
        found |= {
            case.path: case for case in cases if isinstance(case.input, str) or not has_program
        }
    return sorted(
        (case for case in found.values() if case.skill != planned.slug), key=lambda case: case.path
    )


def _list_called_names(planned: PlannedChange) -> set[str]:
    """Return the slugs by which programs call the changed one; empty if that changes nothing."""
    before = set() if planned.base_text is None else list_names(planned.base_text, planned.slug)
    after = list_names(planned.new_text, planned.slug)
    old, new = (program and program.id for program in (planned.base_program, planned.program))
    return set() if old == new and (new is None or before == after) else before | after


def _find_neighbours(session: Session, bundle: Bundle, planned: PlannedChange) -> dict[str, None]:
    """Return the paths of the skills that search ranks next to a text, before and afterwards."""
    texts = [text for text in (planned.base_text, planned.new_text) if text is not None]
    cards = [read_skill_metadata(text, planned.slug) for text in texts]
    shown = {
        (one.name, one.description, body_of(text)) for one, text in zip(cards, texts, strict=True)
    }
    if planned.base_text is not None and len(shown) == 1:  # the program alone is another one
        return {}
    return {
        one.path: None
        for card in cards
        for one in select_from_bundle(
            session,
            bundle,
            SelectionRequest(f"{card.name} {card.description}", MAX_NEIGHBOURS + 1, BM25),
        ).skills
        if one.path != planned.path
    }


def find_callers(session: Session, bundle: Bundle, names: Collection[str]) -> list[FoundSkill]:
    """Return the skills whose programs call one skill, or call such a caller, by path.

    `names` are the slugs by which programs call that skill. A name means the skill of its slug,
    else the one that declares it, as for a run. Chains are as long as a broker allows. A name that
    is put together while a program runs is not seen.
    """
    if not names:
        return []
    calls = _read_calls(session, bundle)
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
            name for one in new.values() if one for name in _list_callable(session, bundle, one)
        }
    callers = [skill for skill in found.values() if skill and skill.slug not in names]
    return sorted(callers, key=lambda skill: skill.path)


def _read_calls(session: Session, bundle: Bundle) -> dict[str, frozenset[str]]:
    """Return the slugs that each skill.py calls, by its path."""
    entries = (
        bundles.get_entry(session.nodes, bundle, path) for path in find_code_paths(session, bundle)
    )
    codes = {
        entry.path: entry.blob
        for entry in entries
        if entry and entry.kind != LINK and entry.size <= MAX_CODE_BYTES
    }
    if len(_called) > _MAX_CACHED:
        _called.clear()
    new = set(codes.values()).difference(_called)
    readable = list(new.difference(session.reader.find_redactions(list(new))))
    for blob, code in session.reader.read_small_blobs(readable):
        _called[blob] = frozenset(fold_to_slug(slug_of_tool(n)) for n in find_called_names(code))
    return {path: _called.get(blob, frozenset()) for path, blob in codes.items()}


def _list_callable(session: Session, bundle: Bundle, skill: FoundSkill) -> Iterator[str]:
    """Yield the slugs by which a program calls a skill: its own, and that of its name."""
    for slug in skill_rows.skill_slugs(skill.path, skill.card.name):
        with suppress(InvalidInput):  # ambiguous
            if skill_lookup.find_skill_path(session, bundle, slug) == skill.path:
                yield slug
