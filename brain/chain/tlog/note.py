"""Signed notes: a text and who signed it, one line each (C2SP signed-note).

Notes come from outside, so they are limited and taken apart strictly. Signatures by
unknown keys are let pass, as the specification asks, and prove nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...errors import ProofError
from ...trust import ed25519
from .base64 import decoded, encoded
from .vkey import ID_SIZE, VerifierKey, is_name

MAX_BYTES = 256 << 10
"""Size of a note; sixteen signatures of the longest known kind take half of it."""
MAX_SIGNATURES = 100

_DASH = "— "
_FOREIGN = re.compile("[\x00-\x09\x0b-\x1f\ud800-\udfff]")
"""Control characters other than line feeds, and what is no UTF-8."""


class Line(NamedTuple):
    """A signature line: the name and id of a key, and what its algorithm made."""

    name: str
    id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {encoded(self.id + self.signature)}\n"


class Note(NamedTuple):
    """A note as it was read; `text` ends in a line feed, `lines` are not verified."""

    text: str
    lines: tuple[Line, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "".join(map(str, self.lines))

    def by(self, key: VerifierKey) -> Line | None:
        """Return the first line that names a key, whether or not it fits."""
        named = key.name, key.id
        return next((line for line in self.lines if line[:2] == named), None)


def parse(data: str) -> Note:
    """Return the note that a text is. Raises `ProofError` (`bad_note`, `too_large`)."""
    if len(data) > MAX_BYTES or len(data.encode("utf-8", "replace")) > MAX_BYTES:
        raise ProofError(f"a note of {len(data)} characters", code="too_large")
    head, gap, tail = data.rpartition("\n\n")
    if not gap or not tail.endswith("\n") or _FOREIGN.search(data):
        raise ProofError("not a signed note", code="bad_note")
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise ProofError(f"a note with {len(lines)} signatures", code="too_large")
    return Note(head + "\n", tuple(map(_line, lines)))


def _line(text: str) -> Line:
    name, _, tail = text.removeprefix(_DASH).partition(" ")
    data = decoded(tail)
    if not text.startswith(_DASH) or not is_name(name) or not data or len(data) <= ID_SIZE:
        raise ProofError("a line of a note that is no signature", code="bad_note")
    return Line(name, data[:ID_SIZE], data[ID_SIZE:])


def sign(text: str, key: VerifierKey, seed: bytes) -> Line:
    """Return the signature line of a text that ends in a line feed."""
    return Line(key.name, key.id, ed25519.sign(seed, text.encode()))


def verify(note: Note, key: VerifierKey) -> None:
    """Check that a log's key signed a note.

    Raises `ProofError`: `unsigned` if no line names the key, `bad_signature` if it does not fit.
    """
    line = note.by(key)
    if line is None:
        raise ProofError(f"the note is not signed by {key.name}", code="unsigned")
    if not ed25519.verify(key.key, note.text.encode(), line.signature):
        raise ProofError(f"the signature of {key.name} does not fit", code="bad_signature")
