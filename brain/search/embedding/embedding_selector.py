"""Ranks skills by the cosine similarity of their vectors to that of the task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ...digest import blob_id
from ...errors import ModelError
from ..selector import RankedSkill, SearchDocument, SkillCatalogue
from .embedder import MAX_BATCH_TEXTS, Embedder

if TYPE_CHECKING:
    from .embedder import Matrix
    from .vector_cache import VectorCache

MAX_EMBEDDED_CHARS = 8_000
"""Characters of a task that are embedded; models read at most about as many."""


class EmbeddingSelector:
    """The `Selector` by an embedder; `vectors` caches those of skills."""

    def __init__(self, catalogue: SkillCatalogue, embedder: Embedder, vectors: VectorCache) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._documents: dict[str, SearchDocument] = {}
        self._matrix: Matrix | None = None
        catalogue.subscribe(self)

    def apply_change(
        self, removed: Iterable[SearchDocument], added: Iterable[SearchDocument]
    ) -> None:
        """See `CatalogueListener.apply_change`."""
        for document in removed:
            del self._documents[document.path]
        self._documents.update((document.path, document) for document in added)
        self._matrix = None

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """See `Selector.rank`; every skill has a score, and none is excluded.

        Raises `ModelError`.
        """
        if not self._documents:
            return []
        (task_vector,) = self._embed([task[:MAX_EMBEDDED_CHARS]])
        if self._matrix is None or self._matrix.shape[1] != len(task_vector):
            self._matrix = self._embed_skills(len(task_vector))
        scores = self._matrix @ task_vector
        documents = list(self._documents.values())
        order = sorted(range(len(documents)), key=lambda n: (-scores[n], documents[n].path))
        best = order[:limit] if limit > 0 else order
        return [RankedSkill(documents[n].slug, float(scores[n]), documents[n].path) for n in best]

    def _embed(self, texts: Sequence[str], length: int | None = None) -> Matrix:
        """Return the vectors of texts, `length` numbers each. Raises `ModelError`."""
        vectors = self._embedder.embed(texts)
        if len(vectors) != len(texts) or length not in (None, vectors.shape[1]):
            raise ModelError(
                "the embedder returned too few vectors, or vectors of different lengths",
                code="bad_answer",
                hint="see `brain config embedder`",
            )
        return vectors

    def _embed_skills(self, length: int) -> Matrix:
        """Return the vectors of all skills, in their order; embeds new ones.

        Cached vectors of another length are of a model that the endpoint no longer serves.
        """
        texts = [embedding_text(one) for one in self._documents.values()]
        # Not by the content of SKILL.md: without a name there, the text has that of the folder.
        keys = [blob_id(text.encode("utf-8", "surrogatepass")) for text in texts]
        known = ((key, text, self._vectors.get(key)) for key, text in zip(keys, texts, strict=True))
        new = {key: text for key, text, row in known if row is None or len(row) != length}
        waiting = iter(new.items())
        while batch := dict(islice(waiting, MAX_BATCH_TEXTS)):
            rows = self._embed(list(batch.values()), length)
            self._vectors.add(dict(zip(batch, rows, strict=True)))
        self._vectors.retain(keys)
        found = [self._vectors.get(key) for key in keys]
        return np.stack([row for row in found if row is not None])


def embedding_text(document: SearchDocument) -> str:
    """Return the text of a skill that is embedded."""
    return f"{document.name.replace('-', ' ')}: {document.description}"
