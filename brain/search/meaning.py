"""Ranks skills by the cosine similarity of their vectors to that of the task; needs numpy.

The vectors of skills are kept in a file by the digests of the embedded texts; it may be deleted any
time. It has a header of 52 bytes (`VECTOR_FILE_MAGIC`, the digest of the embedder's identity, the
number of dimensions), then runs in the order they were added: their count (4 bytes), the digest of
the rest of the run (16), digests of texts (32 each), vectors (4 bytes a number). All numbers are
little endian. Anything after a damaged run is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from blake3 import blake3

from ..digest import blob_id
from ..errors import ModelError
from ..util.files import lock_file, write_atomic
from .embedder import MAX_BATCH_TEXTS, Embedder
from .selectors import RankedSkill, SearchDocument

if TYPE_CHECKING:
    from .embedder import Matrix

MAX_EMBEDDED_CHARS = 8_000
"""Characters of a task that are embedded; models read at most about as many."""


class EmbeddingSelector:
    """The `Selector` by an embedder; `vectors` caches those of skills."""

    def __init__(
        self, documents: Mapping[str, SearchDocument], embedder: Embedder, vectors: VectorCache
    ) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._documents = documents
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

        Cached vectors of another length are of a model that the endpoint no longer serves.
        """
        texts = [embedding_text(one) for one in documents]
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


VECTOR_FILE_MAGIC = b"brain vectors 2\n"
_HEADER_BYTES = len(VECTOR_FILE_MAGIC) + 32 + 4
_RUN_HEADER_BYTES = 4 + 16
_MAX_FILE_BYTES = 4 << 30
_MAX_UNUSED_VECTORS = 4096
"""Unused vectors that may remain, beyond as many as are used."""


class VectorCache:
    """The vectors of one embedder in `folder`; in memory if that is None or not writable."""

    def __init__(self, folder: str | None, identity: str) -> None:
        self._tag = blake3(identity.encode()).digest()
        name = f"vectors-{self._tag.hex()[:12]}.bin"
        self._path = os.path.join(folder, name) if folder else ""
        self._vectors: dict[bytes, Matrix] = {}
        self._dimensions = 0
        self._valid_bytes = 0
        self._load_file()

    def get(self, text: bytes) -> Matrix | None:
        """Return the vector of a text by its digest, None if unknown."""
        return self._vectors.get(text)

    def add(self, vectors: Mapping[bytes, Matrix]) -> None:
        """Add vectors of equal length; those of another length than before are forgotten."""
        with suppress(OSError), self._lock_file() as file:
            length = len(next(iter(vectors.values())))
            if length != self._dimensions:
                self._vectors.clear()
                self._dimensions, self._valid_bytes = length, 0
            if not self._valid_bytes:
                os.pwrite(file, self._file_header(), 0)
                self._valid_bytes = _HEADER_BYTES
            run = _encode_run(vectors)
            os.ftruncate(file, self._valid_bytes)
            os.pwrite(file, run, self._valid_bytes)
            self._valid_bytes += len(run)
        self._vectors.update(vectors)

    def retain(self, texts: Iterable[bytes]) -> None:
        """Forget all other vectors, except new ones of other processes, if there are many."""
        unused = self._vectors.keys() - set(texts)
        if len(unused) <= len(self._vectors) - len(unused) + _MAX_UNUSED_VECTORS:
            return
        self._forget(unused)
        with suppress(OSError), self._lock_file():
            self._forget(unused)  # if the file was loaded again
            data = self._file_header() + (_encode_run(self._vectors) if self._vectors else b"")
            self._valid_bytes = write_atomic(self._path, data, durable=False)

    def _forget(self, texts: Iterable[bytes]) -> None:
        for text in texts:
            self._vectors.pop(text, None)

    @contextmanager
    def _lock_file(self) -> Iterator[int]:
        """Hold the lock on the file, and load what other processes wrote to it."""
        while True:
            with lock_file(self._path) as file:
                if not os.path.samestat(os.fstat(file), os.stat(self._path)):
                    continue  # another process replaced the file before this one had the lock
                if os.fstat(file).st_size != self._valid_bytes:
                    self._load_file()
                yield file
                return

    def _file_header(self) -> bytes:
        return VECTOR_FILE_MAGIC + self._tag + self._dimensions.to_bytes(4, "little")

    def _load_file(self) -> None:
        """Load the undamaged runs of the file."""
        data = b""
        with suppress(OSError), open(self._path, "rb") as file:
            data = file.read(_MAX_FILE_BYTES)
        self._valid_bytes = 0
        if len(data) < _HEADER_BYTES or data[: _HEADER_BYTES - 4] != VECTOR_FILE_MAGIC + self._tag:
            return
        dimensions = int.from_bytes(data[_HEADER_BYTES - 4 : _HEADER_BYTES], "little")
        if dimensions != self._dimensions:
            self._vectors.clear()
        self._dimensions = dimensions
        self._valid_bytes = at = _HEADER_BYTES
        while at + _RUN_HEADER_BYTES <= len(data):
            count = int.from_bytes(data[at : at + 4], "little")
            end = at + _RUN_HEADER_BYTES + count * (32 + 4 * self._dimensions)
            body = memoryview(data)[at + _RUN_HEADER_BYTES : end]
            if (
                not count
                or end > len(data)
                or blake3(body).digest(16) != data[at + 4 : at + _RUN_HEADER_BYTES]
            ):
                break
            rows = np.frombuffer(body[32 * count :], "<f4").reshape(count, -1)
            for number in range(count):
                self._vectors[bytes(body[32 * number : 32 * (number + 1)])] = rows[number]
            self._valid_bytes = at = end


def _encode_run(vectors: Mapping[bytes, Matrix]) -> bytes:
    rows = np.ascontiguousarray(np.stack(list(vectors.values())), "<f4")
    body = b"".join(vectors) + rows.tobytes()
    return len(vectors).to_bytes(4, "little") + blake3(body).digest(16) + body
