"""The Level-0 index of a revision: from the head, not the folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidInput
from ..objects.bundle import Bundle
from ..results import Index, Selection
from ..session import Session
from ..skills import index as level0
from ..skills.index import IndexText, TokenCounter
from . import lines
from .revisions import resolve

if TYPE_CHECKING:
    from ..results import Index
    from ..skills.fitting import Candidate
    from .selecting import Wanted


_Place = tuple[str, str, str]
"""Name, description and full path of a skill."""


class Measure(NamedTuple):
    """How much an index may hold, and of what.

    `limit` is in characters a description, `budget` in tokens of the whole, as `count`
    counts them. With `wanted` there are only the skills that a task needs.
    """

    limit: int | None = None
    budget: int | None = None
    wanted: Wanted | None = None
    count: TokenCounter = level0.tokens


def index(session: Session, revision: str, measure: Measure) -> Index:
    """Return the index: one line per skill, less of each where there is no room for that.

    Raises `InvalidInput` (`bad_limit`).
    """
    from ..results import Index

    made = written(session, resolve(session, revision), measure)
    return Index(*made.text, *made.how)


def pages(session: Session, revision: str, measure: Measure) -> list[bytes]:
    """Return the text of `index` and a newline, in pieces of UTF-8: less work if it is large."""
    snapshot_id = resolve(session, revision)
    if measure == Measure():
        kept = lines.of(session, session.bundle_of(snapshot_id))
        if kept.total:
            return kept.sheet
    return [written(session, snapshot_id, measure).text.text.encode(), b"\n"]


class Written(NamedTuple):
    """An index, and how its skills were selected: `by` and `fallback` of a `Selection`."""

    text: IndexText
    how: tuple[str | None, str | None] = (None, None)


def written(session: Session, snapshot_id: bytes, measure: Measure) -> Written:
    """Return the index of a snapshot. Raises as `index`."""
    limit, budget, wanted, _ = measure
    if (limit is not None and limit < 0) or (budget is not None and budget < 0):
        raise InvalidInput("a limit or budget below zero", code="bad_limit")
    if wanted is None:
        return Written(_kept(session, snapshot_id, measure))
    from . import selecting

    chosen = selecting.among(session, session.bundle_of(snapshot_id), wanted)
    return Written(_text(session, snapshot_id, measure, chosen), (chosen.by, chosen.fallback))


def _kept(session: Session, snapshot_id: bytes, measure: Measure) -> IndexText:
    """Return the index of all skills; one that had to be fitted is dear, and kept at hand."""
    if measure.budget is None:
        return _text(session, snapshot_id, measure, None)
    key = snapshot_id, measure
    cache = session.cache
    made = session.indexes.get(key)
    if made is None:
        made = _text(session, snapshot_id, measure, None)
        if session.cache is cache:  # else something was redacted meanwhile
            session.keep_index(key, made)
    return made


def _text(
    session: Session, snapshot_id: bytes, measure: Measure, chosen: Selection | None
) -> IndexText:
    limit, budget, wanted, count = measure
    bundle = session.bundle_of(snapshot_id)
    if wanted is None and limit is None:
        kept = lines.of(session, bundle)
        whole = kept.text or level0.NO_SKILLS
        total = count(whole)
        if budget is None or total <= budget or not kept.total:
            return IndexText(whole, kept.total, 0, total)
        room = budget * kept.size // total
    else:
        room = None
    found = _places(session, bundle, chosen)
    if not found:
        words = level0.NO_FIT if lines.of(session, bundle).total else level0.NO_SKILLS
        return IndexText(words, 0, 0, count(words))
    return _fitted(session, snapshot_id, found, measure, room)


def _fitted(
    session: Session,
    snapshot_id: bytes,
    found: Sequence[_Place],
    measure: Measure,
    room: int | None,
) -> IndexText:
    """Return the index of skills; `room` is how many bytes may do, None if all might."""
    from ..skills import fitting

    limit, budget, wanted, count = measure
    if room is None or budget is None:
        whole = fitting.whole(_candidates(found, limit), count)
        if budget is None or whole.tokens <= budget:
            return whole
    from . import origins

    authors = origins.authors(session, snapshot_id, [path for _, _, path in found])
    skills = _candidates(found, limit, authors)
    return fitting.fit(skills if wanted else fitting.in_turn(skills), budget, count, room)


def _places(session: Session, bundle: Bundle, chosen: Selection | None) -> Sequence[_Place]:
    """Return all skills, or those that were chosen, the best first."""
    if chosen is None:
        from . import find

        return [
            (card.name or name, card.description, f"skills/{path}")
            for path, name, _, card in find.places(session, bundle)
        ]
    return [(one.name, one.description, one.path) for one in chosen.skills]


def _candidates(
    found: Sequence[_Place], limit: int | None, authors: Sequence[str] | None = None
) -> list[Candidate]:
    from ..skills import layout
    from ..skills.fitting import Candidate
    from ..skills.shorten import shorten

    made = [level0.split(line) for line in level0.lines([place[:2] for place in found])]
    folders = [layout.category_of(path.partition("/")[2]) for _, _, path in found]
    shown = dict(zip(kinds := list(set(folders)), level0.names(kinds), strict=True))
    return [
        Candidate(
            name,
            text if limit is None else shorten(text, limit, len) if limit else "",
            shown[folder],
            author,
        )
        for (name, text), folder, author in zip(
            made, folders, authors or [""] * len(made), strict=True
        )
    ]
