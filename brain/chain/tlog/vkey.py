"""Verifier keys of signed notes: a name, an algorithm and a public key (C2SP signed-note)."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple

from ...errors import InvalidInput, printable
from ...trust import ed25519
from .base64 import decoded, encoded

ED25519 = 1
"""The algorithm byte of plain signatures, which logs make."""
COSIGNATURE = 4
"""The algorithm byte of timestamped cosignatures, which witnesses make."""
ID_SIZE = 4

_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,256}")
_HEX = re.compile(r"[0-9a-f]{8}", re.ASCII)


class VerifierKey(NamedTuple):
    """Who signs, and how to check it: `kind` is `ED25519` or `COSIGNATURE`."""

    name: str
    kind: int
    key: bytes

    @property
    def id(self) -> bytes:
        """The four bytes that, with the name, a signature line names the key by."""
        head = self.name.encode() + b"\n" + bytes([self.kind])
        return sha256(head + self.key).digest()[:ID_SIZE]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{encoded(bytes([self.kind]) + self.key)}"


def is_name(name: str) -> bool:
    """Tell whether a text may name a key: not empty, without spaces, controls and `+`."""
    return _NAME.fullmatch(name) is not None


def parse(text: str) -> VerifierKey:
    """Return the key that a text such as `example.com/log+530d903a+AekyeR…` stands for.

    Raises `InvalidInput` (`bad_key`).
    """
    name, _, rest = text.partition("+")
    stated, _, tail = rest.partition("+")
    data = decoded(tail)
    if is_name(name) and data and data[0] in (ED25519, COSIGNATURE) and _HEX.fullmatch(stated):
        key = VerifierKey(name, data[0], data[1:])
        if ed25519.is_usable(key.key) and key.id.hex() == stated:
            return key
    raise InvalidInput(
        f"not a verifier key: {printable(text, 120)}",
        code="bad_key",
        hint="it is NAME+ID+KEY, as C2SP signed-note has it, for Ed25519 or a cosignature of it",
    )
