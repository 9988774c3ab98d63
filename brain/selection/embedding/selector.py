"""Ranking by meaning: the nearer the vectors of a task and a skill, the better."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ..catalogue import Catalogue
from ..protocol import Document, Ranked
from .protocol import BATCH, Embedder

if TYPE_CHECKING:
    from .protocol import Matrix
    from .vectors import Vectors

MAX_TASK_CHARS = 8_000
"""Characters of a task that are embedded; models read no more."""


class Embedding:
    """The `Selector` by an embedder; the vectors of skills are kept in `vectors`."""

    def __init__(self, catalogue: Catalogue, embedder: Embedder, vectors: Vectors) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._documents: dict[str, Document] = {}
        self._matrix: Matrix | None = None
        catalogue.admit(self)

    def follow(self, gone: Iterable[Document], came: Iterable[Document]) -> None:
        """See `Follower.follow`."""
        for document in gone:
            del self._documents[document.path]
        self._documents.update((document.path, document) for document in came)
        self._matrix = None

    def rank(self, task: str, limit: int) -> list[Ranked]:
        """See `Selector.rank`. Every skill fits somewhat: there is no score that means none.

        Raises `ModelError`.
        """
        if not self._documents:
            return []
        if self._matrix is None:
            self._matrix = self._embedded()
        (asked,) = self._embedder.embed([task[:MAX_TASK_CHARS]])
        scores = self._matrix @ asked
        documents = list(self._documents.values())
        order = sorted(range(len(documents)), key=lambda n: (-scores[n], documents[n].path))
        best = order[:limit] if limit > 0 else order
        return [Ranked(documents[n].slug, float(scores[n]), documents[n].path) for n in best]

    def _embedded(self) -> Matrix:
        """Return the vectors of all skills, in their order; new ones are embedded now."""
        documents = self._documents.values()
        new = {one.blob: one for one in documents if self._vectors.get(one.blob) is None}
        waiting = iter(new.values())
        while batch := list(islice(waiting, BATCH)):
            rows = self._embedder.embed([text_of(one) for one in batch])
            self._vectors.add({one.blob: row for one, row in zip(batch, rows, strict=True)})
        self._vectors.keep(one.blob for one in documents)
        found = [self._vectors.get(one.blob) for one in documents]
        return np.stack([row for row in found if row is not None])


def text_of(document: Document) -> str:
    """Return what of a skill is embedded."""
    return f"{document.name.replace('-', ' ')}: {document.description}"
