"""The held-out cases of other skills that a change of one could touch.

A case that a program answers is touched if that program is among those that reach the changed one
by calls. Any other is touched if the change makes the prompt for its input another one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, NamedTuple

from ...errors import InvalidInput
from ...gating.case_document import parse_case
from ...gating.case_types import Case
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...programs import PROGRAM_FILE
from ...search.change_ranking import MAX_RANKED, ChangeRanks, DocumentChange
from ...search.selector import SearchDocument
from ...skills import index_lines
from ..open.session import Session
from ..read import skill_lookup
from . import program_callers
from .case_index import CaseIndex, HeldOutCase, Interrupt, open_case_index

CaseKind = Literal["program", "text"]
"""What answers a case: the program of its skill, or a model that reads the skills."""
_CASES_BETWEEN_INTERRUPTS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchingChange:
    """A change of a skill, as far as it could touch cases of others.

    `called_as` are the slugs by which programs call it, before or after, if its program is
    another one, else empty. A prompt lists the skills that
    rank best for its task, and has the texts of the first `texts` of these. `is_text_changed`
    tells whether the text that it would have of the changed skill is another one.
    """

    slug: str
    document: DocumentChange
    is_text_changed: bool
    texts: int
    called_as: Collection[str] = ()


class TouchedCase(NamedTuple):
    """A case of another skill that a change could touch, by its document."""

    kind: CaseKind
    skill: str
    path: str
    blob: bytes
    source: str


def find_touched(
    session: Session, snapshot: bytes, change: TouchingChange, interrupt: Interrupt
) -> list[TouchedCase]:
    """Return the held-out cases of other skills that a change could touch.

    Raises what `interrupt` raises, which is called now and then.
    """
    if not change.called_as and change.document.is_ranked_alike and not change.is_text_changed:
        return []
    index = open_case_index(session, snapshot, interrupt)
    bundle = session.bundle_of(snapshot)
    callers = program_callers.find_callers(session, bundle, index.codes, change.called_as)
    called = [
        TouchedCase("program", one.skill, one.path, one.blob, one.source)
        for skill in sorted(callers)
        for one in index.list_cases(skill)
        if one.is_object and skill != change.slug
    ]
    has_program = cache(partial(_has_program, session, bundle))
    prompted = [
        TouchedCase("text", one.skill, one.path, one.blob, one.source)
        for one in _find_prompted(index, change, interrupt)
        if one.skill != change.slug and not (one.is_object and has_program(one.skill))
    ]
    return [*called, *prompted]


def _has_program(session: Session, bundle: Bundle, slug: str) -> bool:
    with suppress(InvalidInput):  # ambiguous
        skill = skill_lookup.find_skill_or_none(session, bundle, slug)
        if skill is not None and skill.folder:
            return bundles.has_entry(session.nodes, bundle, skill.folder + PROGRAM_FILE)
    return False


def _find_prompted(
    index: CaseIndex, change: TouchingChange, interrupt: Interrupt
) -> Iterator[HeldOutCase]:
    """Yield the cases for whose inputs the change makes another prompt."""
    document = change.document
    if document.is_ranked_alike and not change.is_text_changed:
        return
    ranking = index.ranking.open_change(document)
    limit = change.texts if document.is_ranked_alike else MAX_RANKED
    for number, case in enumerate(index.find_sharing(ranking.stems)):
        if number % _CASES_BETWEEN_INTERRUPTS == 0:
            interrupt()
        if not ranking.may_rank(case.query, limit):
            continue
        ranks = ranking.rank(case.query, MAX_RANKED)
        texts = [[one.path for one in side[: change.texts]] for side in (ranks.before, ranks.after)]
        if (
            texts[0] != texts[1]
            or (change.is_text_changed and document.after.path in texts[1])
            or prompt_lines(ranks.before) != prompt_lines(ranks.after)
        ):
            yield case


def prompt_lines(ranked: Sequence[SearchDocument]) -> list[str]:
    """Return the lines of a prompt about some skills."""
    return index_lines.format_lines(
        [
            (one.slug, index_lines.differing_name(one.slug, one.name), one.description)
            for one in ranked
        ]
    )


def rank_skills(
    session: Session, snapshot: bytes, change: DocumentChange, task: str
) -> ChangeRanks:
    """Return the best skills for a task at a snapshot, without a change and with it."""
    index = open_case_index(session, snapshot).ranking
    return index.open_change(change).rank(index.read_query(task), MAX_RANKED)


def read_touched(session: Session, cases: Sequence[TouchedCase]) -> list[Case]:
    """Return the cases of documents that were found."""
    return [
        parse_case(one.skill, one.path, one.blob, session.reader.read_blob(one.blob))
        for one in cases
    ]
