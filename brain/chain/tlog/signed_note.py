"""Signed notes and their verifier keys (C2SP signed-note).

Notes come from outside, so they are limited and taken apart strictly. Signatures by
unknown keys are let pass, as the specification asks, and prove nothing.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from hashlib import sha256
from typing import NamedTuple

from ...errors import InvalidInput, ProofError, printable_text
from ...trust import ed25519


def encode_base64(data: bytes) -> str:
    """Return `data` in base64."""
    return b2a_base64(data, newline=False).decode("ascii")


def decode_base64(text: str) -> bytes | None:
    """Return the bytes that a text stands for, None if it is not canonical base64."""
    if not text.isascii():
        return None
    try:
        data = a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
    return data if encode_base64(data) == text else None


ALGORITHM_ED25519 = 1
"""The algorithm byte of plain signatures, which logs make."""
ALGORITHM_COSIGNATURE = 4
"""The algorithm byte of timestamped cosignatures, which witnesses make."""
KEY_ID_BYTES = 4

_KEY_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,256}")
_KEY_ID_HEX = re.compile(r"[0-9a-f]{8}", re.ASCII)


class VerifierKey(NamedTuple):
    """Who signs, and how to check it: `kind` is `ED25519` or `COSIGNATURE`."""

    name: str
    algorithm: int
    key: bytes

    @property
    def id(self) -> bytes:
        """The four bytes that, with the name, a signature line names the key by."""
        head = self.name.encode() + b"\n" + bytes([self.algorithm])
        return sha256(head + self.key).digest()[:KEY_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{encode_base64(bytes([self.algorithm]) + self.key)}"


def is_key_name(name: str) -> bool:
    """Tell whether a text may name a key: not empty, without spaces, controls and `+`."""
    return _KEY_NAME.fullmatch(name) is not None


def parse_verifier_key(text: str) -> VerifierKey:
    """Return the key that a text such as `example.com/log+530d903a+AekyeR…` stands for.

    Raises `InvalidInput` (`bad_key`).
    """
    name, _, rest = text.partition("+")
    stated, _, tail = rest.partition("+")
    data = decode_base64(tail)
    if (
        is_key_name(name)
        and data
        and data[0] in (ALGORITHM_ED25519, ALGORITHM_COSIGNATURE)
        and _KEY_ID_HEX.fullmatch(stated)
    ):
        key = VerifierKey(name, data[0], data[1:])
        if ed25519.is_usable_key(key.key) and key.id.hex() == stated:
            return key
    raise InvalidInput(
        f"not a verifier key: {printable_text(text, 120)}",
        code="bad_key",
        hint="it is NAME+ID+KEY, as C2SP signed-note has it, for Ed25519 or a cosignature of it",
    )


MAX_NOTE_BYTES = 256 << 10
"""Size of a note; sixteen signatures of the longest known kind take half of it."""
MAX_NOTE_SIGNATURES = 100

_SIGNATURE_PREFIX = "— "
_FORBIDDEN_CHARS = re.compile("[\x00-\x09\x0b-\x1f\ud800-\udfff]")
"""Control characters other than line feeds, and what is no UTF-8."""


class SignatureLine(NamedTuple):
    """A signature line: the name and id of a key, and what its algorithm made."""

    name: str
    id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"{_SIGNATURE_PREFIX}{self.name} {encode_base64(self.id + self.signature)}\n"


class SignedNote(NamedTuple):
    """A note as it was read; `text` ends in a line feed, `lines` are not verified."""

    text: str
    lines: tuple[SignatureLine, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "".join(map(str, self.lines))

    def find_signature(self, key: VerifierKey) -> SignatureLine | None:
        """Return the first line that names a key, whether or not it fits."""
        named = key.name, key.id
        return next((line for line in self.lines if line[:2] == named), None)


def parse_note(data: str) -> SignedNote:
    """Return the note that a text is. Raises `ProofError` (`bad_note`, `too_large`)."""
    if len(data) > MAX_NOTE_BYTES or len(data.encode("utf-8", "replace")) > MAX_NOTE_BYTES:
        raise ProofError(f"a note of {len(data)} characters", code="too_large")
    head, gap, tail = data.rpartition("\n\n")
    if not gap or not tail.endswith("\n") or _FORBIDDEN_CHARS.search(data):
        raise ProofError("not a signed note", code="bad_note")
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_NOTE_SIGNATURES:
        raise ProofError(f"a note with {len(lines)} signatures", code="too_large")
    return SignedNote(head + "\n", tuple(map(_parse_signature_line, lines)))


def _parse_signature_line(text: str) -> SignatureLine:
    name, _, tail = text.removeprefix(_SIGNATURE_PREFIX).partition(" ")
    data = decode_base64(tail)
    if (
        not text.startswith(_SIGNATURE_PREFIX)
        or not is_key_name(name)
        or not data
        or len(data) <= KEY_ID_BYTES
    ):
        raise ProofError("a line of a note that is no signature", code="bad_note")
    return SignatureLine(name, data[:KEY_ID_BYTES], data[KEY_ID_BYTES:])


def sign_note(text: str, key: VerifierKey, seed: bytes) -> SignatureLine:
    """Return the signature line of a text that ends in a line feed."""
    return SignatureLine(key.name, key.id, ed25519.sign_message(seed, text.encode()))


def verify_note(note: SignedNote, key: VerifierKey) -> None:
    """Check that a log's key signed a note.

    Raises `ProofError`: `unsigned` if no line names the key, `bad_signature` if it does not fit.
    """
    line = note.find_signature(key)
    if line is None:
        raise ProofError(f"the note is not signed by {key.name}", code="unsigned")
    if not ed25519.verify_signature(key.key, note.text.encode(), line.signature):
        raise ProofError(f"the signature of {key.name} does not fit", code="bad_signature")
