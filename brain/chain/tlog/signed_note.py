"""Signed notes and their verifier keys (C2SP signed-note).

Notes are untrusted: their size is limited, and they are parsed strictly. Signatures by unknown
keys are ignored, as the specification requires.
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
    """Return the bytes of canonical base64, None for any other text."""
    if not text.isascii():
        return None
    try:
        data = a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
    return data if encode_base64(data) == text else None


ALGORITHM_ED25519 = 1
"""The algorithm byte of the signatures of logs."""
ALGORITHM_COSIGNATURE = 4
"""The algorithm byte of the timestamped cosignatures of witnesses."""
KEY_ID_BYTES = 4

_KEY_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,256}")
_KEY_ID_HEX = re.compile(r"[0-9a-f]{8}", re.ASCII)


class VerifierKey(NamedTuple):
    """A named public key; `algorithm` is `ALGORITHM_ED25519` or `ALGORITHM_COSIGNATURE`."""

    name: str
    algorithm: int
    key: bytes

    @property
    def id(self) -> bytes:
        """The four bytes that identify the key, with its name, in a signature line."""
        head = self.name.encode() + b"\n" + bytes([self.algorithm])
        return sha256(head + self.key).digest()[:KEY_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{encode_base64(bytes([self.algorithm]) + self.key)}"


def is_key_name(name: str) -> bool:
    """Return whether a text is a valid name: not empty, without spaces, controls and `+`."""
    return _KEY_NAME.fullmatch(name) is not None


def parse_verifier_key(text: str) -> VerifierKey:
    """Return the key in a text such as `example.com/log+530d903a+AekyeR…`.

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
        f'"{printable_text(text, 120)}" is not a verifier key',
        code="bad_key",
        hint="it is NAME+ID+KEY, as in the C2SP signed-note format, of an Ed25519 key of a log"
        " or a witness",
    )


CHECKPOINT_HINT = "it was cut off or changed: do not rely on it, and ask for it again"
"""The hint for a checkpoint that is malformed or whose signatures do not fit."""
MAX_NOTE_BYTES = 256 << 10
"""Bytes of a note at most; 16 signatures of the longest known kind take half of it."""
MAX_NOTE_SIGNATURES = 100

_SIGNATURE_PREFIX = "— "
_FORBIDDEN_CHARS = re.compile("[\x00-\x09\x0b-\x1f\ud800-\udfff]")
"""Control characters other than line feeds, and lone surrogates."""


class SignatureLine(NamedTuple):
    """A signature line: the name and id of a key, and the signature."""

    name: str
    id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"{_SIGNATURE_PREFIX}{self.name} {encode_base64(self.id + self.signature)}\n"


class SignedNote(NamedTuple):
    """A parsed note; `text` ends in a line feed, `lines` are not verified."""

    text: str
    lines: tuple[SignatureLine, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "".join(map(str, self.lines))

    def find_signature(self, key: VerifierKey) -> SignatureLine | None:
        """Return the first signature line of a key, valid or not."""
        named = key.name, key.id
        return next((line for line in self.lines if line[:2] == named), None)


def parse_note(data: str) -> SignedNote:
    """Return the note in a text. Raises `ProofError` (`bad_note`, `too_large`)."""
    if len(data) > MAX_NOTE_BYTES or len(data.encode("utf-8", "replace")) > MAX_NOTE_BYTES:
        raise ProofError(
            f"the checkpoint has {len(data)} characters, too many for {MAX_NOTE_BYTES} bytes",
            code="too_large",
            hint=CHECKPOINT_HINT,
        )
    head, gap, tail = data.rpartition("\n\n")
    if not gap or not tail.endswith("\n") or _FORBIDDEN_CHARS.search(data):
        raise ProofError(
            "the checkpoint is not a signed note: text, an empty line, and lines of signatures",
            code="bad_note",
            hint=CHECKPOINT_HINT,
        )
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_NOTE_SIGNATURES:
        raise ProofError(
            f"the checkpoint has {len(lines)} signatures, more than {MAX_NOTE_SIGNATURES}",
            code="too_large",
            hint=CHECKPOINT_HINT,
        )
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
        raise ProofError(
            f'the line "{printable_text(text, 80)}" of the checkpoint is not a signature',
            code="bad_note",
            hint=CHECKPOINT_HINT,
        )
    return SignatureLine(name, data[:KEY_ID_BYTES], data[KEY_ID_BYTES:])


def verify_note(note: SignedNote, key: VerifierKey) -> None:
    """Check that a log's key signed a note.

    Raises `ProofError`: `unsigned` if no line names the key, `bad_signature` if it is wrong.
    """
    line = note.find_signature(key)
    if line is None:
        raise ProofError(
            f"the checkpoint is not signed by the key of {key.name}",
            code="unsigned",
            hint="compare the key of the log with the one you know, or ask for it again",
        )
    if not ed25519.verify_signature(key.key, note.text.encode(), line.signature):
        raise ProofError(
            f"the signature of {key.name} on the checkpoint is invalid",
            code="bad_signature",
            hint=CHECKPOINT_HINT,
        )
