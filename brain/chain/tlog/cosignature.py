"""Cosignatures: a witness's word that a checkpoint is the log's latest (C2SP tlog-cosignature).

Only the kind with Ed25519, `cosignature/v1`; lines of other kinds are let pass like
those of unknown keys.
"""

from __future__ import annotations

from typing import NamedTuple

from ...errors import ProofError
from ...trust import ed25519
from .note import Line, Note
from .vkey import VerifierKey

MAX_TIME = (1 << 63) - 1
_TIME = 8
_SIZE = _TIME + ed25519.SIGNATURE_SIZE


class Cosigned(NamedTuple):
    """Who vouches for a checkpoint, and since when: `time` is in seconds since 1970, UTC."""

    key: VerifierKey
    time: int


def sign(text: str, key: VerifierKey, seed: bytes, time: int) -> Line:
    """Return the line by which a witness cosigns the text of a checkpoint."""
    signature = ed25519.sign(seed, _message(text, time))
    return Line(key.name, key.id, time.to_bytes(_TIME, "big") + signature)


def verify(note: Note, key: VerifierKey) -> Cosigned | None:
    """Return what a witness says of a note, None if no line names its key.

    Raises `ProofError` (`bad_signature`) if its line does not fit.
    """
    line = note.by(key)
    if line is None:
        return None
    time = int.from_bytes(line.signature[:_TIME], "big")
    if (
        len(line.signature) == _SIZE
        and time <= MAX_TIME
        and ed25519.verify(key.key, _message(note.text, time), line.signature[_TIME:])
    ):
        return Cosigned(key, time)
    raise ProofError(f"the cosignature of {key.name} does not fit", code="bad_signature")


def _message(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()
