"""Find the skills that are similar to a skill or to a new text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..repo import derive, find_skill, select
from ..repo.session import Session
from ..results import Similar
from ..search import similarity
from ..search.full_text import FullTextIndex
from ..search.selectors import Bm25Selector, SearchDocument
from ..search.similarity import SimilarityFeatures
from ..skills import document_parts
from ..skills.skill_metadata import read_skill_metadata
from ..skills.slug import slugify

if TYPE_CHECKING:
    from ..results import Similar


MAX_COMPARED_SKILLS = 8
"""Best skills by BM25 that are compared."""
MAX_INDEX_HITS = 1024
"""Rows that the query may match, about; near-duplicates share rare words."""
DEFAULT_SIMILAR_LIMIT = 5
"""Near-duplicates that are returned by default."""
_MAX_COMPARED_BYTES = 64 << 10


def find_similar_to_text(
    session: Session,
    name: str,
    description: str | None,
    body: bytes | None,
    limit: int = DEFAULT_SIMILAR_LIMIT,
) -> list[Similar]:
    """Return the skills similar to a new one, the most similar first."""
    described_as, text = description or "", ""
    if body is not None:
        card = read_skill_metadata(body, "")
        described_as, text = described_as or card.description, _body_text(body)
    slug = slugify(name)  # another writer may have created it meanwhile
    return [
        one
        for one in _find_similar(session, name, described_as, text, "", limit)
        if one.slug != slug
    ]


def find_similar_to_skill(
    session: Session, text: str, limit: int = DEFAULT_SIMILAR_LIMIT
) -> list[Similar]:
    """Return the skills similar to one, the most similar first. Raises `NotFound`."""
    bundle = session.bundle_of(session.head())
    found = find_skill.find_skill(session, bundle, text)
    body = _body_text(session.reader.read_blob(found.blob))
    name = f"{found.slug} {found.card.name}"
    return _find_similar(session, name, found.card.description, body, found.path, limit)


def _body_text(content: bytes) -> str:
    try:
        body = document_parts.split_document(content).body
    except InvalidInput:
        body = content
    return body[:_MAX_COMPARED_BYTES].decode("utf-8", "replace")


def _build_stem_weight(
    index: FullTextIndex, faces: list[SimilarityFeatures]
) -> Callable[[str], float]:
    stems: set[str] = set().union(*(one.all_stems for one in faces))
    return similarity.rarity_weights(index.count_documents(sorted(stems)), index.count_keys())


def _find_similar(
    session: Session, name: str, description: str, body: str, excluded_path: str, limit: int
) -> list[Similar]:
    bundle = session.bundle_of(session.head())
    search_cache = select.get_search_cache(session, bundle)

    def score_candidates(index: FullTextIndex) -> list[tuple[float, SearchDocument]]:
        best = Bm25Selector(index, MAX_INDEX_HITS).rank(
            f"{name} {description}", MAX_COMPARED_SKILLS + 1
        )
        known = select.find_documents(session, bundle, [one.path for one in best])
        skills = [one for one in known.values() if one.path != excluded_path]
        blobs = [one.blob for one in skills] if body else []
        contents = dict(derive.read_skill_contents(session, blobs))
        face = partial(similarity.extract_features, index.stem_words)
        target = face(name, description, body)
        faces = [
            face(f"{one.slug} {one.name}", one.description, _body_text(contents.get(one.blob, b"")))
            for one in skills
        ]
        near = [
            pair
            for pair in zip(faces, skills, strict=True)
            if similarity.is_roughly_similar(target, pair[0])
        ]
        weight = _build_stem_weight(index, [target, *(face for face, _ in near)] if near else [])
        return [
            (similarity.similarity_score(target, other, weight), skill) for other, skill in near
        ]

    found = select.query_index(session, search_cache, bundle, score_candidates)
    alike = sorted(
        (-score, skill) for score, skill in found if score >= similarity.NEAR_DUPLICATE_THRESHOLD
    )
    shown = alike[: max(limit, 0)]
    addresses = find_skill.find_addresses(session, bundle, [skill.path for _, skill in shown])
    return [
        Similar(
            skill.slug,
            skill.name,
            skill.description,
            skill.path,
            round(-score, 3),
            addresses[skill.path],
        )
        for score, skill in shown
    ]


def find_similar_if_new(
    session: Session, name: str, description: str | None, body: bytes | None, limit: int
) -> list[Similar]:
    """Return the skills similar to a new one, the most similar first.

    Returns [] if a skill has that name already. Raises `InvalidInput` as `slugify` does.
    """
    found = find_skill.find_skill_path(session, session.bundle_of(session.head()), name)
    if found is not None or "/" in name:  # a path is that of an existing skill, or a mistake
        return []

    return find_similar_to_text(session, name, description, body, limit)
