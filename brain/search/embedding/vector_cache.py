"""A cache file of vectors by the digests of the embedded texts; it may be deleted any time.

The file has a header of 52 bytes (`VECTOR_FILE_MAGIC`, the digest of the embedder's
identity, the number of dimensions), then runs in the order they were added: their count
(4 bytes), the digest of the rest of the run (16), digests of texts (32 each), vectors (4 bytes
a number). All numbers are little endian. Anything after a damaged run is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np
from blake3 import blake3

from ...util.atomic_file import write_atomic
from ...util.file_lock import lock_file

if TYPE_CHECKING:
    from .embedder import Matrix

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
