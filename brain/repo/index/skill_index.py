"""Build the Level-0 index of a revision, from the snapshot and not from the folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidInput
from ...objects.bundle import Bundle, bundle_id
from ...results import Index, Selection
from ...skills import index_lines as level0
from ...skills.index_lines import IndexText, TokenCounter
from ..index_cache import IndexLines, read_cached_index
from ..open.session import Session
from ..revisions import resolve_revision

if TYPE_CHECKING:
    from ...skills.index_budget import IndexCandidate
    from ..select import SelectionRequest


class _IndexedSkill(NamedTuple):
    """A skill in the index; `name` is "" if it is the slug, `path` is full.

    `rank` is its place among the skills that fit a task, from 0.
    """

    address: str
    name: str
    description: str
    path: str
    rank: int = 0


class IndexRequest(NamedTuple):
    """The limits of an index, and the selection of its skills.

    `limit` is in characters a description, `budget` in tokens of the whole index, by
    `count_tokens`. With `selection_request` it has only the skills that a task needs.
    """

    limit: int | None = None
    budget: int | None = None
    selection_request: SelectionRequest | None = None
    count_tokens: TokenCounter = level0.estimate_tokens


def read_index(session: Session, revision: str, request: IndexRequest) -> Index:
    """Return the index: one line per skill, shortened to its limits.

    Raises `InvalidInput` (`bad_limit`).
    """
    from ..find_skill import find_addresses
    from ..provisional import list_provisional

    snapshot_id = resolve_revision(session, revision)
    made = render_index(session, snapshot_id, request)
    paths = [path for _, _, path in list_provisional(session, snapshot_id)]
    if not paths:
        return made
    addresses = find_addresses(session, session.bundle_of(snapshot_id), paths)
    return made._replace(provisional=[addresses[path] for path in paths])


def read_index_pages(session: Session, revision: str, request: IndexRequest) -> list[bytes]:
    """Return the text of `read_index` and a newline, as pieces of UTF-8, which is faster."""
    snapshot_id = resolve_revision(session, revision)
    if request == IndexRequest():
        lines = _load_index_lines(session, session.bundle_of(snapshot_id))
        if lines.line_count:
            return lines.pages
    return [render_index(session, snapshot_id, request).index.encode(), b"\n"]


def render_index(session: Session, snapshot_id: bytes, request: IndexRequest) -> Index:
    """Return the index of a snapshot. Raises as `read_index`."""
    limit, budget, selection_request, _ = request
    if (limit is not None and limit < 0) or (budget is not None and budget < 0):
        raise InvalidInput(
            "the limit or the budget of the index is below zero",
            code="bad_limit",
            hint="give 0 or more",
        )
    if selection_request is None:
        return Index(*_render_full_index(session, snapshot_id, request))
    from .. import select

    bundle = session.bundle_of(snapshot_id)
    selection = select.select_from_bundle(session, bundle, selection_request)
    index_text = _render_text(session, snapshot_id, request, selection)
    return Index(*index_text, selection.by, selection.fallback)


def _render_full_index(session: Session, snapshot_id: bytes, request: IndexRequest) -> IndexText:
    if request.budget is None:
        return _render_text(session, snapshot_id, request, None)
    key = snapshot_id, request
    cache = session.cache
    rendered = session.rendered_indexes.get(key)
    if rendered is None:
        rendered = _render_text(session, snapshot_id, request, None)
        if session.cache is cache:  # else something was redacted meanwhile
            session.keep_rendered_index(key, rendered)
    return rendered


def _load_index_lines(session: Session, bundle: Bundle) -> IndexLines:
    """Return the lines of all skills of a bundle, from the cache if it has them."""
    found = read_cached_index(session)
    if found is not None and found[0].bundle_id == bundle_id(bundle):
        return found[1]
    from ..head_index import build_index_lines

    return build_index_lines(session, bundle, found)


def _render_text(
    session: Session, snapshot_id: bytes, request: IndexRequest, selection: Selection | None
) -> IndexText:
    limit, budget, selection_request, count = request
    bundle = session.bundle_of(snapshot_id)
    if selection_request is None and limit is None:
        lines = _load_index_lines(session, bundle)
        text = lines.text or level0.NO_SKILLS
        tokens = count(text)
        if budget is None or tokens <= budget or not lines.line_count:
            return IndexText(text, lines.line_count, 0, tokens)
        byte_budget = budget * lines.text_bytes // tokens
    else:
        byte_budget = None
    found = _list_indexed_skills(session, bundle, selection)
    if not found:
        message = (
            level0.NO_MATCH if _load_index_lines(session, bundle).line_count else level0.NO_SKILLS
        )
        return IndexText(message, 0, 0, count(message))
    return _fit_to_budget(found, request, byte_budget)


def _fit_to_budget(
    found: Sequence[_IndexedSkill],
    request: IndexRequest,
    byte_budget: int | None,
) -> IndexText:
    """Return the index of skills; `byte_budget` is None if all of them may fit."""
    from ...skills import index_budget

    limit, budget, selection_request, count = request
    if byte_budget is None or budget is None:
        full_index = index_budget.format_all(_build_candidates(found, limit), count)
        if budget is None or full_index.tokens <= budget:
            return full_index
    skills = _build_candidates(found, limit)
    if not selection_request:
        skills = index_budget.interleave_categories(skills)
    return index_budget.fit_to_budget(skills, budget, count, byte_budget)


def _list_indexed_skills(
    session: Session, bundle: Bundle, selection: Selection | None
) -> Sequence[_IndexedSkill]:
    if selection is not None:
        return [
            _IndexedSkill(
                one.address,
                level0.differing_name(one.slug, one.name),
                one.description,
                one.path,
                rank,
            )
            for rank, one in enumerate(selection.skills)
        ]
    from .. import find_skill

    every = find_skill.find_all_skills(session, bundle)
    addresses = find_skill.address_all(one.path for one in every)
    return [
        _IndexedSkill(
            addresses[one.path],
            level0.differing_name(one.slug, one.card.name),
            one.card.description,
            one.path,
        )
        for one in every
    ]


def _build_candidates(found: Sequence[_IndexedSkill], limit: int | None) -> list[IndexCandidate]:
    from ...skills import skill_layout
    from ...skills.index_budget import IndexCandidate, shorten_text

    rendered = [level0.split_line(line) for line in level0.format_lines([one[:3] for one in found])]
    folders = [skill_layout.category_from_path(one.path) for one in found]
    shown = dict(zip(kinds := list(set(folders)), level0.format_names(kinds), strict=True))
    return [
        IndexCandidate(
            head,
            text if limit is None else shorten_text(text, limit, len) if limit else "",
            shown[folder],
            one.rank,
        )
        for one, (head, text), folder in zip(found, rendered, folders, strict=True)
    ]
