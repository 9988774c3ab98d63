"""Compressing many blobs at once, with a dictionary that fits them.

Skills are a few kilobytes each and much alike, so a dictionary trained on some
of them makes the rest a fifth smaller. It is trained once, on the first large
load, and kept in the store. Level 3 is the last one that costs little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from zstandard import ZstdCompressionDict, ZstdCompressor, ZstdError, train_dictionary

from .codec import INSERT, RAW, THREADS, ZSTD, load_dictionary, save_dictionary
from .connection import Connection
from .protocol import Row

LEVEL = 3
DICTIONARY_BYTES = 64 << 10
SAMPLES = 200
"""Blobs to train on; fewer do not make a dictionary that pays."""
SEGMENT = 64
WORD = 8
"""How the training cuts and compares; to search for the best of both takes a second and gains
nothing with skills."""
SMALLEST = 64
"""Blobs below this many bytes stay as they are."""
LONGEST = 32 << 10
"""Blobs from this many bytes on gain nothing from a dictionary."""
PACKERS = max(1, THREADS - 1)
"""Threads that pack; one more is busy reading what comes next."""
WORTH = 15 / 16
"""What does not shrink to less than this part stays as it is."""


class Packer(NamedTuple):
    """The compressors of one moment; a worker that has one is not touched by later training."""

    plain: ZstdCompressor
    tuned: ZstdCompressor | None = None
    number: int = 0
    """The dictionary of `tuned`."""

    def pack(self, batch: list[tuple[bytes, bytes]], threads: int = PACKERS) -> list[Row]:
        """Return the rows of a batch, in any order."""
        rows: list[Row] = []
        tuned: list[tuple[bytes, bytes]] = []
        plain: list[tuple[bytes, bytes]] = []
        for id, content in batch:
            if len(content) < SMALLEST:
                rows.append((id, RAW, content))
            elif self.tuned and len(content) < LONGEST:
                tuned.append((id, content))
            else:
                plain.append((id, content))
        if self.tuned:
            rows += _pack(self.tuned, ZSTD + self.number, tuned, threads)
        rows += _pack(self.plain, ZSTD, plain, threads)
        return rows


class Encoder:
    """Holds the packer with the latest dictionary of the store, and trains the first one."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self.packer = Packer(ZstdCompressor(level=LEVEL))
        ((self._latest,),) = db.all("SELECT ifnull(max(number), 0) FROM dictionaries")
        if self._latest and (dictionary := load_dictionary(db, self._latest)):
            self._use(self._latest, dictionary)
        self._settled = self.packer.tuned is not None

    def learn(self, contents: Iterable[bytes]) -> None:
        """Train a dictionary on the first contents that serve, if there is none, and keep it.

        Packers that were taken before go on without it.
        """
        if self._settled:
            return
        short: list[bytes | bytearray | memoryview] = [
            content for content in contents if SMALLEST <= len(content) < LONGEST
        ]
        if len(short) < SAMPLES:
            return
        self._settled = True
        samples = short[:: len(short) // SAMPLES]
        try:
            dictionary = train_dictionary(DICTIONARY_BYTES, samples, k=SEGMENT, d=WORD)
        except ZstdError:  # too little in common
            return
        number = self._latest + 1
        save_dictionary(self._db, number, dictionary.as_bytes())
        self._use(number, dictionary)

    def _use(self, number: int, dictionary: ZstdCompressionDict) -> None:
        dictionary.precompute_compress(level=LEVEL)
        tuned = ZstdCompressor(level=LEVEL, dict_data=dictionary, write_dict_id=False)
        self.packer = self.packer._replace(tuned=tuned, number=number)


def _pack(
    compressor: ZstdCompressor, codec: int, batch: list[tuple[bytes, bytes]], threads: int
) -> Iterator[Row]:
    if not batch:
        return
    packed = compressor.multi_compress_to_buffer([content for _, content in batch], threads=threads)
    for place, (id, content) in enumerate(batch):
        segment = packed[place]
        if len(segment) < len(content) * WORTH:
            yield id, codec, segment.tobytes()
        else:
            yield id, RAW, content


def absent(db: Connection, batch: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return those blobs of a batch, once each, that are not in the store."""
    new = dict(batch)
    for (id,) in list(db.among("SELECT id FROM blobs WHERE id IN ({keys})", list(new))):
        del new[id]
    return list(new.items())


def keep(db: Connection, encoder: Encoder, batch: list[tuple[bytes, bytes]]) -> None:
    """Pack and insert those blobs of a batch that are not in the store."""
    db.run_many(INSERT, encoder.packer.pack(absent(db, batch)))
