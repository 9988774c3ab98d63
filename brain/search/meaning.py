"""Ranks skills by the cosine similarity of their vectors to that of the task; needs numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ..digest import blob_id
from ..errors import Locked, ModelError, StoreError
from ..store.connection import Connection
from ..store.database import typed_columns
from ..store.rows import cache_row_checksum
from .embedder import MAX_BATCH_TEXTS, Embedder
from .selectors import RankedSkill, SearchDocument

if TYPE_CHECKING:
    from .embedder import Matrix

MAX_EMBEDDED_CHARS = 8_000
"""Characters of a task that are embedded; models read at most about as many."""
_MAX_UNUSED_VECTORS = 4096
"""Unused vectors that may remain, beyond as many as are used."""
_TABLE = """CREATE TABLE IF NOT EXISTS vectors (
  key BLOB PRIMARY KEY,
  vector BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT"""
_COLUMNS = typed_columns("key BLOB, vector BLOB, checksum BLOB")


class EmbeddingSelector:
    """The `Selector` by an embedder; a table in `db` keeps the vectors of skills."""

    def __init__(
        self, documents: Mapping[str, SearchDocument], embedder: Embedder, db: Connection
    ) -> None:
        self._embedder = embedder
        self._db = db
        self._vectors: dict[bytes, Matrix] = {}
        self._documents = documents
        with suppress(Locked, StoreError):
            db.execute(_TABLE)
        self._embedded: list[SearchDocument] = []
        self._matrix: Matrix | None = None

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """See `Selector.rank`; every skill has a score, and none is excluded.

        Raises `ModelError`.
        """
        documents = list(self._documents.values())
        if not documents:
            return []
        (task_vector,) = self._embed([task[:MAX_EMBEDDED_CHARS]])
        length = len(task_vector)
        matrix = self._matrix
        if matrix is None or matrix.shape[1] != length or documents != self._embedded:
            matrix = self._matrix = self._embed_skills(documents, length)
            self._embedded = documents
        scores = matrix @ task_vector
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

    def _embed_skills(self, documents: Sequence[SearchDocument], length: int) -> Matrix:
        """Return the vectors of skills, in their order; embeds new ones.

        Stored vectors of another length are of a model that the endpoint no longer serves.
        """
        model = self._embedder.identity
        texts = [embedding_text(one) for one in documents]
        # Not by the content of SKILL.md: without a name there, the text has that of the folder.
        keys = [blob_id(f"{model}\n{text}".encode("utf-8", "surrogatepass")) for text in texts]
        known = {key: self._vectors[key] for key in keys if key in self._vectors}
        known |= self._read_vectors([key for key in keys if key not in known])
        every = zip(keys, texts, strict=True)
        new = {key: text for key, text in every if len(known.get(key, ())) != length}
        waiting = iter(new.items())
        while batch := dict(islice(waiting, MAX_BATCH_TEXTS)):
            rows = dict(zip(batch, self._embed(list(batch.values()), length), strict=True))
            known |= rows
            self._keep_vectors(rows)
        self._vectors = known
        if new:
            self._forget_unused(known)
        return np.stack([known[key] for key in keys])

    def _read_vectors(self, keys: Sequence[bytes]) -> dict[bytes, Matrix]:
        sql = f"SELECT {_COLUMNS} FROM vectors WHERE key IN ({{keys}})"
        with suppress(Locked, StoreError):  # they are embedded again
            return {
                key: np.frombuffer(vector, "<f4")
                for key, vector, checksum in self._db.fetch_by_keys(sql, keys)
                if cache_row_checksum(key, vector) == checksum
            }
        return {}

    def _keep_vectors(self, vectors: Mapping[bytes, Matrix]) -> None:
        rows = [(key, np.ascontiguousarray(row, "<f4").tobytes()) for key, row in vectors.items()]
        with suppress(Locked, StoreError):
            self._db.execute_many(
                "INSERT OR REPLACE INTO vectors (key, vector, checksum) VALUES (?, ?, ?)",
                [(key, vector, cache_row_checksum(key, vector)) for key, vector in rows],
            )

    def _forget_unused(self, used: Mapping[bytes, Matrix]) -> None:
        with suppress(Locked, StoreError):
            rows = self._db.fetch_all(f"SELECT {typed_columns('key BLOB')} FROM vectors")
            unused = [row for row in rows if row[0] not in used]
            if len(unused) > len(used) + _MAX_UNUSED_VECTORS:
                self._db.execute_many("DELETE FROM vectors WHERE key = ?", unused)


def embedding_text(document: SearchDocument) -> str:
    """Return the text of a skill that is embedded."""
    return f"{document.name.replace('-', ' ')}: {document.description}"
