"""What a dictionary for compression still holds of content that is destroyed.

A dictionary is put together from pieces of the blobs it was trained on, word for
word. Where one of these pieces is found in the content, and in no other blob, all that
is packed with this dictionary is packed anew with another one, and it is emptied.
Its number is never given again, for others may have it at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import StoreError
from .codec import ZSTD, Decoder
from .connection import Connection
from .schema import columns

WINDOW = 12
"""Bytes in a row that count as a piece of the content."""
COMPARED = 1000
"""Other blobs that are looked at for the same pieces; not more, since packing anew does no harm."""
BATCH = 256
SAMPLES = 800
"""Blobs that the new dictionary is trained on."""

_ROW = columns("id BLOB, codec INTEGER, data BLOB")
_DICTIONARY = columns("number INTEGER, data BLOB")


def find(db: Connection, content: Iterable[bytes]) -> dict[int, set[bytes]]:
    """Return the pieces of `content`, given in parts, that dictionaries hold, by their number."""
    rows = db.all(f"SELECT {_DICTIONARY} FROM dictionaries WHERE length(data) > 0")
    held: dict[int, set[bytes]] = {}
    for number, data in rows:
        held.setdefault(abs(number), set()).update(_windows(data))
    found: dict[int, set[bytes]] = {number: set() for number in held}
    rest = b""
    for part in content if held else ():
        for window in _windows(rest + part):
            for number, windows in held.items():
                if window in windows:
                    found[number].add(window)
        rest = (rest + part)[-WINDOW + 1 :]
    return {number: windows for number, windows in found.items() if windows}


def remove(db: Connection, found: dict[int, set[bytes]]) -> None:
    """Do away with dictionaries that hold pieces which no blob that is left has."""
    for number, windows in found.items():
        left = set(windows)
        for content in _contents(db, number, 1, COMPARED):
            left.difference_update(_windows(content))
            if not left:
                break
        if left:
            _pack_anew(db, number)


def _windows(data: bytes) -> Iterator[bytes]:
    return (data[at : at + WINDOW] for at in range(len(data) - WINDOW + 1))


def _contents(db: Connection, number: int, step: int, most: int) -> Iterator[bytes]:
    """Yield the content of at most so many of the blobs packed with a dictionary."""
    decoder = Decoder(db)
    ids = [id for (id,) in db.all("SELECT id FROM blobs WHERE codec = ?", (ZSTD + number,))]
    for start in range(0, len(ids), step)[:most]:
        for id, codec, data in db.all(f"SELECT {_ROW} FROM blobs WHERE id = ?", (ids[start],)):
            yield decoder.decode(id, codec, data)


def _pack_anew(db: Connection, number: int) -> None:
    from .encoder import Encoder

    codec = ZSTD + number
    ((count,),) = db.all("SELECT count(*) FROM blobs WHERE codec = ?", (codec,))
    samples = list(_contents(db, number, max(1, count // SAMPLES), SAMPLES))
    decoder = Decoder(db)
    ids = [id for (id,) in db.all("SELECT id FROM blobs WHERE codec = ?", (codec,))]
    if ids:
        _load(decoder, db, ids[0])
    db.run(
        "UPDATE dictionaries SET data = X'', checksum = X'' WHERE number IN (?, ?)",
        (number, -number),
    )
    encoder = Encoder(db)
    encoder.learn(samples)
    for start in range(0, len(ids), BATCH):
        rows = list(
            db.among(f"SELECT {_ROW} FROM blobs WHERE id IN ({{keys}})", ids[start : start + BATCH])
        )
        unpacked = []
        for id, content in decoder.plan(rows)():
            if isinstance(content, StoreError):
                raise content
            unpacked.append((id, content))
        db.run_many(
            "UPDATE blobs SET codec = ?, data = ? WHERE id = ?",
            [(codec, data, id) for id, codec, data in encoder.packer.pack(unpacked)],
        )


def _load(decoder: Decoder, db: Connection, id: bytes) -> None:
    """Let a decoder take its dictionary to heart while it is there."""
    for row in db.all(f"SELECT {_ROW} FROM blobs WHERE id = ?", (id,)):
        decoder.decode(*row)
