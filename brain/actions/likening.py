"""Near-duplicates: the skills that are much like one, or like one that is to be made."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..errors import InvalidInput
from ..results import Similar
from ..selection import likeness
from ..selection.bm25 import Bm25
from ..selection.likeness import Face
from ..selection.protocol import Document
from ..session import Session
from ..skills import parts
from ..skills.card import read_card
from ..skills.slug import slugify
from ..store.fulltext import FullText
from . import derived, find, shelving

CANDIDATES = 8
"""So many of the best by BM25 are compared."""
HITS = 1024
"""Rows that are hit by their words, about: what is nearly the same shares rare words, too."""
MOST = 5
"""Near-duplicates that are named."""
_COMPARED = 64 << 10
"""Bytes of a body that are compared."""


def like_new(
    session: Session, name: str, description: str | None, body: bytes | None, limit: int = MOST
) -> list[Similar]:
    """Return the skills that one of a name that none has is much like, the likest first."""
    told, text = description or "", ""
    if body is not None:
        card = read_card(body, "")
        told, text = told or card.description, _text(body)
    slug = slugify(name)  # another writer may have made it meanwhile
    return [one for one in _like(session, name, told, text, "", limit) if one.slug != slug]


def like_skill(session: Session, text: str, limit: int = MOST) -> list[Similar]:
    """Return the skills that one is much like, the likest first. Raises `NotFound`."""
    bundle = session.bundle_of(session.head())
    found = find.one(session, bundle, text)
    body = _text(session.reader.read_blob(found.blob))
    name = f"{found.slug} {found.card.name}"
    return _like(session, name, found.card.description, body, found.path, limit)


def _text(content: bytes) -> str:
    """Return the body of a document, as much of it as is compared."""
    try:
        body = parts.split(content).body
    except InvalidInput:
        body = content
    return body[:_COMPARED].decode("utf-8", "replace")


def _weight(index: FullText, faces: list[Face]) -> Callable[[str], float]:
    stems: set[str] = set().union(*(one.all for one in faces))
    return likeness.rarity(index.counts(sorted(stems)), index.total())


def _like(
    session: Session, name: str, description: str, body: str, but: str, limit: int
) -> list[Similar]:
    bundle = session.bundle_of(session.head())
    shelf = shelving.shelf_of(session, bundle)

    def look(index: FullText) -> list[tuple[float, Document]]:
        best = Bm25(index, HITS).rank(f"{name} {description}", CANDIDATES + 1)
        known = shelving.documents(session, bundle, [one.path for one in best])
        skills = [one for one in known.values() if f"skills/{one.path}" != but]
        blobs = [one.blob for one in skills] if body else []
        contents = dict(derived.skill_contents(session, blobs))
        face = partial(likeness.face, index.stems)
        mine = face(name, description, body)
        faces = [
            face(f"{one.slug} {one.name}", one.description, _text(contents.get(one.blob, b"")))
            for one in skills
        ]
        near = [pair for pair in zip(faces, skills, strict=True) if likeness.roughly(mine, pair[0])]
        weight = _weight(index, [mine, *(face for face, _ in near)] if near else [])
        return [(likeness.likeness(mine, other, weight), skill) for other, skill in near]

    found = shelving.searched(session, shelf, bundle, look)
    alike = sorted((-score, skill) for score, skill in found if score >= likeness.ALIKE)
    return [
        Similar(skill.slug, skill.name, skill.description, f"skills/{skill.path}", round(-score, 3))
        for score, skill in alike[: max(limit, 0)]
    ]
