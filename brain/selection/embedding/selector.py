"""Ranking by meaning: the nearer the vectors of a task and a skill, the better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError
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
        (asked,) = self._ask([task[:MAX_TASK_CHARS]])
        if self._matrix is None or self._matrix.shape[1] != len(asked):
            self._matrix = self._embedded(len(asked))
        scores = self._matrix @ asked
        documents = list(self._documents.values())
        order = sorted(range(len(documents)), key=lambda n: (-scores[n], documents[n].path))
        best = order[:limit] if limit > 0 else order
        return [Ranked(documents[n].slug, float(scores[n]), documents[n].path) for n in best]

    def _ask(self, texts: Sequence[str], length: int | None = None) -> Matrix:
        """Return the vectors of texts, `length` numbers each. Raises `ModelError`."""
        rows = self._embedder.embed(texts)
        if len(rows) != len(texts) or length not in (None, rows.shape[1]):
            raise ModelError(
                "the embedder answers with too few vectors, or of different lengths",
                code="bad_answer",
                hint="see `brain config embedder`",
            )
        return rows

    def _embedded(self, length: int) -> Matrix:
        """Return the vectors of all skills, in their order; new ones are embedded now.

        Those kept of another length are of a model that the endpoint no longer serves.
        """
        documents = self._documents.values()
        kept = ((one, self._vectors.get(one.blob)) for one in documents)
        new = {one.blob: one for one, row in kept if row is None or len(row) != length}
        waiting = iter(new.values())
        while batch := list(islice(waiting, BATCH)):
            rows = self._ask([text_of(one) for one in batch], length)
            self._vectors.add({one.blob: row for one, row in zip(batch, rows, strict=True)})
        self._vectors.keep(one.blob for one in documents)
        found = [self._vectors.get(one.blob) for one in documents]
        return np.stack([row for row in found if row is not None])


def text_of(document: Document) -> str:
    """Return what of a skill is embedded."""
    return f"{document.name.replace('-', ' ')}: {document.description}"
