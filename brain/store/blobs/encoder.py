"""Compress many blobs at once, with a dictionary trained on some of them.

Skills are a few kilobytes each and similar, so a dictionary trained on some of them makes the
others a fifth smaller. It is trained once, on the first large load, and stored. Level 3 is the
last one that costs little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from zstandard import ZstdCompressionDict, ZstdCompressor, ZstdError, train_dictionary

from ..connection import Connection
from ..protocol import BlobRow
from .codec import (
    CODEC_RAW,
    CODEC_ZSTD,
    ZSTD_THREADS,
    load_dictionary,
    save_dictionary,
)

ZSTD_LEVEL = 3
DICTIONARY_BYTES = 64 << 10
TRAINING_SAMPLES = 200
"""Blobs to train on; fewer make no useful dictionary."""
TRAINING_SEGMENT_BYTES = 64
TRAINING_DMER_BYTES = 8
"""Parameters of the training; searching for better ones takes a second and gains nothing."""
MIN_COMPRESSED_BYTES = 64
"""Smaller blobs are stored uncompressed."""
MAX_DICTIONARY_BLOB_BYTES = 32 << 10
"""Blobs of this size or more gain nothing from a dictionary."""
PACKING_THREADS = max(1, ZSTD_THREADS - 1)
"""Threads that compress; another one reads the next batch."""
MAX_DICTIONARY_NUMBER = 1 << 31
"""No dictionary of a higher number is used; it could only be forged."""
MAX_COMPRESSED_RATIO = 15 / 16
"""Content that does not shrink to less than this ratio is stored uncompressed."""


class BlobPacker(NamedTuple):
    """Compressors, frozen so that training does not affect a running worker.

    `tuned` has the dictionary `number`.
    """

    plain: ZstdCompressor
    tuned: ZstdCompressor | None = None
    number: int = 0

    def pack(
        self, batch: list[tuple[bytes, bytes]], threads: int = PACKING_THREADS
    ) -> list[BlobRow]:
        """Return the rows of a batch, in any order."""
        rows: list[BlobRow] = []
        tuned: list[tuple[bytes, bytes]] = []
        plain: list[tuple[bytes, bytes]] = []
        for id, content in batch:
            if len(content) < MIN_COMPRESSED_BYTES:
                rows.append((id, CODEC_RAW, content))
            elif self.tuned and len(content) < MAX_DICTIONARY_BLOB_BYTES:
                tuned.append((id, content))
            else:
                plain.append((id, content))
        if self.tuned:
            rows += _compress_batch(self.tuned, CODEC_ZSTD + self.number, tuned, threads)
        rows += _compress_batch(self.plain, CODEC_ZSTD, plain, threads)
        return rows


class BlobEncoder:
    """Holds the packer with the latest dictionary, and trains the first one."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self.packer = BlobPacker(ZstdCompressor(level=ZSTD_LEVEL))
        ((self._latest_number,),) = db.fetch_all("SELECT ifnull(max(number), 0) FROM dictionaries")
        if 0 < self._latest_number < MAX_DICTIONARY_NUMBER and (
            dictionary := load_dictionary(db, self._latest_number)
        ):
            with suppress(ZstdError):  # a forged one; the next one is trained
                self._use_dictionary(self._latest_number, dictionary)
        self._is_settled = (
            self.packer.tuned is not None or self._latest_number >= MAX_DICTIONARY_NUMBER
        )

    def train_dictionary(self, contents: Iterable[bytes]) -> None:
        """Train a dictionary on suitable contents, if there is none, and store it.

        Earlier packers continue without it.
        """
        if self._is_settled:
            return
        trainable: list[bytes | bytearray | memoryview] = [
            content
            for content in contents
            if MIN_COMPRESSED_BYTES <= len(content) < MAX_DICTIONARY_BLOB_BYTES
        ]
        if len(trainable) < TRAINING_SAMPLES:
            return
        self._is_settled = True
        samples = trainable[:: len(trainable) // TRAINING_SAMPLES]
        try:
            dictionary = train_dictionary(
                DICTIONARY_BYTES, samples, k=TRAINING_SEGMENT_BYTES, d=TRAINING_DMER_BYTES
            )
        except ZstdError:  # too little in common
            return
        number = self._latest_number + 1
        save_dictionary(self._db, number, dictionary.as_bytes())
        self._use_dictionary(number, dictionary)

    def _use_dictionary(self, number: int, dictionary: ZstdCompressionDict) -> None:
        dictionary.precompute_compress(level=ZSTD_LEVEL)
        tuned = ZstdCompressor(level=ZSTD_LEVEL, dict_data=dictionary, write_dict_id=False)
        self.packer = self.packer._replace(tuned=tuned, number=number)


def _compress_batch(
    compressor: ZstdCompressor, codec: int, batch: list[tuple[bytes, bytes]], threads: int
) -> Iterator[BlobRow]:
    if not batch:
        return
    packed = compressor.multi_compress_to_buffer([content for _, content in batch], threads=threads)
    for place, (id, content) in enumerate(batch):
        segment = packed[place]
        if len(segment) < len(content) * MAX_COMPRESSED_RATIO:
            yield id, codec, segment.tobytes()
        else:
            yield id, CODEC_RAW, content
