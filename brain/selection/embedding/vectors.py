"""Vectors of skills by the blob of their SKILL.md, in a file that may be deleted at any time.

The file is a head of 52 bytes, `MAGIC`, the digest of the embedder's identity and the number
of dimensions, then runs, each as it was added: how many (4 bytes), the digest of what
follows (16), ids of blobs (32 each), vectors (4 bytes a number, little end first). What
follows a run that is damaged or cut off counts for nothing.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np
from blake3 import blake3

if TYPE_CHECKING:
    from .protocol import Matrix

MAGIC = b"brain vectors 1\n"
_HEAD = len(MAGIC) + 32 + 4
_RUN = 4 + 16
_MAX_BYTES = 4 << 30
_SPARE = 4096
"""So many vectors that nobody asks for any more may be kept, and as many again as are."""


class Vectors:
    """The vectors of one embedder in `folder`; without rights to it, or None, in memory alone."""

    def __init__(self, folder: str | None, identity: str) -> None:
        self._tag = blake3(identity.encode()).digest()
        name = f"vectors-{self._tag.hex()[:12]}.bin"
        self._path = os.path.join(folder, name) if folder else ""
        self._known: dict[bytes, Matrix] = {}
        self._dimensions = 0
        self._end = 0
        self._read()

    def get(self, blob: bytes) -> Matrix | None:
        """Return the vector of a blob, None if it is not known."""
        return self._known.get(blob)

    def add(self, found: Mapping[bytes, Matrix]) -> None:
        """Keep vectors, all of the same length; another length than before forgets the others."""
        with suppress(OSError), self._alone() as file:
            if os.fstat(file).st_size != self._end:  # another process was here
                self._read()
            length = len(next(iter(found.values())))
            if length != self._dimensions:
                self._known.clear()
                self._dimensions, self._end = length, 0
            if not self._end:
                os.pwrite(file, self._head(), 0)
                self._end = _HEAD
            run = _run(found)
            os.ftruncate(file, self._end)
            os.pwrite(file, run, self._end)
            self._end += len(run)
        self._known.update(found)

    def keep(self, blobs: Iterable[bytes]) -> None:
        """Forget all other vectors, if there are very many of them."""
        wanted = [blob for blob in dict.fromkeys(blobs) if blob in self._known]
        if len(self._known) <= 2 * len(wanted) + _SPARE:
            return
        self._known = {blob: self._known[blob] for blob in wanted}
        with suppress(OSError):
            if not self._path:
                return
            temporary = f"{self._path}.{os.getpid()}"
            with open(temporary, "wb", opener=_private) as file:
                file.write(self._head() + (_run(self._known) if wanted else b""))
                self._end = file.tell()
            os.replace(temporary, self._path)

    @contextmanager
    def _alone(self) -> Iterator[int]:
        file = _private(self._path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _head(self) -> bytes:
        return MAGIC + self._tag + self._dimensions.to_bytes(4, "little")

    def _read(self) -> None:
        """Take in what the file holds, as far as it is whole."""
        data = b""
        with suppress(OSError), open(self._path, "rb") as file:
            data = file.read(_MAX_BYTES)
        self._end = 0
        if len(data) < _HEAD or data[: _HEAD - 4] != MAGIC + self._tag:
            return
        self._dimensions = int.from_bytes(data[_HEAD - 4 : _HEAD], "little")
        self._end = at = _HEAD
        while at + _RUN <= len(data):
            count = int.from_bytes(data[at : at + 4], "little")
            end = at + _RUN + count * (32 + 4 * self._dimensions)
            body = memoryview(data)[at + _RUN : end]
            if not count or end > len(data) or blake3(body).digest(16) != data[at + 4 : at + _RUN]:
                break
            rows = np.frombuffer(body[32 * count :], "<f4").reshape(count, -1)
            for number in range(count):
                self._known[bytes(body[32 * number : 32 * (number + 1)])] = rows[number]
            self._end = at = end


def _run(found: Mapping[bytes, Matrix]) -> bytes:
    rows = np.ascontiguousarray(np.stack(list(found.values())), "<f4")
    body = b"".join(found) + rows.tobytes()
    return len(found).to_bytes(4, "little") + blake3(body).digest(16) + body


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
