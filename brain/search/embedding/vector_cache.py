"""A cache file of skill vectors by the blob of their SKILL.md; it may be deleted any time.

The file has a header of 52 bytes (`VECTOR_FILE_MAGIC`, the digest of the embedder's
identity, the number of dimensions), then runs in the order they were added: their count
(4 bytes), the digest of the rest of the run (16), ids of blobs (32 each), vectors (4 bytes
a number). All numbers are little endian. Anything after a damaged run is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from blake3 import blake3

from ...util.atomic_file import write_atomic
from ...util.file_lock import lock_file

if TYPE_CHECKING:
    from .embedder import Matrix

VECTOR_FILE_MAGIC = b"brain vectors 1\n"
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

    def get(self, blob: bytes) -> Matrix | None:
        """Return the vector of a blob, None if unknown."""
        return self._vectors.get(blob)

    def add(self, vectors: Mapping[bytes, Matrix]) -> None:
        """Add vectors of equal length; those of another length than before are forgotten."""
        with suppress(OSError), lock_file(self._path) as file:
            if os.fstat(file).st_size != self._valid_bytes:  # another process wrote to it
                self._load_file()
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

    def retain(self, blobs: Iterable[bytes]) -> None:
        """Forget all other vectors if there are many."""
        wanted = [blob for blob in dict.fromkeys(blobs) if blob in self._vectors]
        if len(self._vectors) <= 2 * len(wanted) + _MAX_UNUSED_VECTORS:
            return
        self._vectors = {blob: self._vectors[blob] for blob in wanted}
        with suppress(OSError):
            if not self._path:
                return
            data = self._file_header() + (_encode_run(self._vectors) if wanted else b"")
            self._valid_bytes = write_atomic(self._path, data, durable=False)

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
        self._dimensions = int.from_bytes(data[_HEADER_BYTES - 4 : _HEADER_BYTES], "little")
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
