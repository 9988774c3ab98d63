"""Find the skills that are similar to a skill or to a new text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..repo import derive
from ..repo.find_skill import Skills
from ..repo.part import encode_body
from ..repo.session import Session
from ..results import Similar
from ..skills import document_parts
from ..skills.skill_metadata import read_skill_metadata
from ..skills.slug import slugify

if TYPE_CHECKING:
    from ..search.full_text import FullTextIndex
    from ..search.selectors import SearchDocument


MAX_COMPARED_SKILLS = 8
"""Best skills by BM25 that are compared."""
MAX_INDEX_HITS = 1024
"""Rows that the query may match, about; near-duplicates share rare words."""
DEFAULT_SIMILAR_LIMIT = 5
"""Near-duplicates that are returned by default."""
_MAX_COMPARED_BYTES = 64 << 10


def find_duplicates(
    session: Session,
    name: str,
    description: str | None = None,
    body: str | bytes | None = None,
    limit: int = DEFAULT_SIMILAR_LIMIT,
) -> list[Similar]:
    """Return the skills that a planned one would nearly duplicate, most similar first.

    The list is empty if a skill of that name exists: an upsert would improve that one.
    Raises `InvalidInput` for an invalid name.
    """
    slug = "" if "/" in name else slugify(name)
    found = Skills(session.at()).find_path(name)
    if found is not None or not slug:  # a path is that of an existing skill, or a mistake
        return []
    described_as, text, content = description or "", "", encode_body(body)
    if content is not None:
        card = read_skill_metadata(content, "")
        described_as, text = described_as or card.description, _body_text(content)
    similar = _find_similar(session, name, described_as, text, "", limit)
    return [one for one in similar if one.slug != slug]  # which another writer made meanwhile


def find_similar(session: Session, slug: str, limit: int = DEFAULT_SIMILAR_LIMIT) -> list[Similar]:
    """Return the skills similar to one, most similar first. Raises `NotFound`."""
    found = Skills(session.at()).find(slug)
    body = _body_text(session.reader.read_blob(found.blob))
    name = f"{found.slug} {found.card.name}"
    return _find_similar(session, name, found.card.description, body, found.path, limit)


def _body_text(content: bytes) -> str:
    try:
        body = document_parts.split_document(content).body
    except InvalidInput:
        body = content
    return body[:_MAX_COMPARED_BYTES].decode("utf-8", "replace")


def _find_similar(
    session: Session, name: str, description: str, body: str, excluded_path: str, limit: int
) -> list[Similar]:
    from ..repo import select  # most upserts are of a skill that exists, and compare nothing
    from ..search import similarity
    from ..search.selectors import Bm25Selector

    state = session.at()
    search_cache = select.get_search_cache(state)

    def score_candidates(index: FullTextIndex) -> list[tuple[float, SearchDocument]]:
        best = Bm25Selector(index, MAX_INDEX_HITS).rank(
            f"{name} {description}", MAX_COMPARED_SKILLS + 1
        )
        known = select.find_documents(state, [one.path for one in best])
        skills = [one for one in known.values() if one.path != excluded_path]
        blobs = [one.blob for one in skills] if body else []
        contents = dict(derive.read_skill_contents(session, blobs))
        face = partial(similarity.extract_features, index.stem_words)
        target = face(name, description, body)
        faces = [
            face(f"{one.slug} {one.name}", one.description, _body_text(contents.get(one.blob, b"")))
            for one in skills
        ]
        pairs = zip(faces, skills, strict=True)
        near = [pair for pair in pairs if similarity.is_roughly_similar(target, pair[0])]
        compared = [target, *(face for face, _ in near)] if near else []
        stems: set[str] = set().union(*(one.all_stems for one in compared))
        known_in = index.count_documents(sorted(stems))
        weight = similarity.rarity_weights(known_in, index.count_keys())
        return [
            (similarity.similarity_score(target, other, weight), skill) for other, skill in near
        ]

    found = select.query_index(search_cache, state, score_candidates)
    alike = sorted(
        (-score, skill) for score, skill in found if score >= similarity.NEAR_DUPLICATE_THRESHOLD
    )
    shown = alike[: max(limit, 0)]
    addresses = Skills(state).addresses([skill.path for _, skill in shown])
    return [
        Similar(
            one.slug, one.name, one.description, one.path, round(-score, 3), addresses[one.path]
        )
        for score, one in shown
    ]
