"""How the content of a blob is stored: as it is, as a recipe, or compressed by Zstandard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import StoreError
from . import sums
from .connection import Connection
from .schema import columns

if TYPE_CHECKING:
    from zstandard import ZstdCompressionDict, ZstdDecompressor

_DICTIONARY = columns("data BLOB, checksum BLOB")

RAW = 0
RECIPE = 1
ZSTD = 2
"""Zstandard (RFC 8878); ZSTD + n stands for Zstandard with dictionary n."""

INSERT = "INSERT INTO blobs (id, codec, data) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"

MAX_CONTENT = 1 << 20
"""Bytes that one row may unpack to; checked before memory is given out."""


def corrupt(id: bytes, why: str) -> StoreError:
    """Return the error for an object that is not what its id says."""
    return StoreError(
        f"object {id.hex()} is damaged: {why}",
        code="corrupt_object",
        hint="run `brain verify --deep` to find what else is, and restore from a copy",
    )


def load_dictionary(db: Connection, number: int) -> ZstdCompressionDict | None:
    """Return dictionary `number`, None if it is absent or both copies fail their checksum."""
    from zstandard import DICT_TYPE_FULLDICT, ZstdCompressionDict

    sql = f"SELECT {_DICTIONARY} FROM dictionaries WHERE number IN (?, ?)"
    for data, checksum in db.all(sql, (number, -number)):
        if sums.of_fields(b"%d" % number, data) == checksum:
            return ZstdCompressionDict(data, dict_type=DICT_TYPE_FULLDICT)
    return None


def save_dictionary(db: Connection, number: int, data: bytes) -> None:
    """Keep a dictionary, twice: whatever is packed with it is lost without it."""
    checksum = sums.of_fields(b"%d" % number, data)
    db.run_many(
        "INSERT INTO dictionaries (number, data, checksum) VALUES (?, ?, ?)",
        [(number, data, checksum), (-number, data, checksum)],
    )


class Decoder:
    """Unpacks rows; keeps one decompressor for each dictionary it met."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._ready: dict[int, ZstdDecompressor] = {}

    def decode(self, id: bytes, codec: int, data: bytes) -> bytes:
        """Return the content of a row that is no recipe, not yet checked against `id`.

        Raises `StoreError` (`corrupt_object`).
        """
        if codec == RAW:
            return data
        from zstandard import ZstdError, frame_content_size

        try:
            if not 0 <= frame_content_size(data) <= MAX_CONTENT:
                raise corrupt(id, "it claims an impossible size")
            return self._decompressor(id, codec).decompress(data)
        except ZstdError as error:
            raise corrupt(id, "it does not unpack") from error

    def _decompressor(self, id: bytes, codec: int) -> ZstdDecompressor:
        known = self._ready.get(codec)
        if known is None:
            from zstandard import ZstdDecompressor

            dictionary = load_dictionary(self._db, codec - ZSTD) if codec > ZSTD else None
            if codec < ZSTD or (codec > ZSTD and dictionary is None):
                raise corrupt(id, f"its codec {codec} is unknown")
            known = self._ready[codec] = ZstdDecompressor(dict_data=dictionary)
        return known
