"""Checkpoints of a log, and cosignatures by witnesses (C2SP tlog-checkpoint, tlog-cosignature).

Only Ed25519 cosignatures, `cosignature/v1`, are supported; lines of other kinds are ignored
like those of unknown keys.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...errors import ProofError
from ...trust import ed25519
from .rfc6962 import EMPTY_ROOT, HASH_BYTES
from .signed_note import CHECKPOINT_HINT, SignedNote, VerifierKey, decode_base64, encode_base64

MAX_LOG_SIZE = (1 << 63) - 1
"""Leaves in a log at most."""

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class Checkpoint(NamedTuple):
    """A state of the log `origin`: `size` entries under `root`."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The signed text."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint in the text of a note; extension lines are ignored.

    Raises `ProofError` (`bad_checkpoint`).
    """
    lines = text.removesuffix("\n").split("\n")
    if len(lines) >= 3 and all(lines) and _DECIMAL.fullmatch(lines[1]):
        origin, size, root = lines[0], int(lines[1]), decode_base64(lines[2])
        if (
            size <= MAX_LOG_SIZE
            and root
            and len(root) == HASH_BYTES
            and (size or root == EMPTY_ROOT)
        ):
            return Checkpoint(origin, size, root)
    raise ProofError(
        "the checkpoint is malformed: it is not an origin, a size and a root on three lines",
        code="bad_checkpoint",
        hint=CHECKPOINT_HINT,
    )


MAX_COSIGNATURE_TIME = (1 << 63) - 1
_TIME_BYTES = 8
_COSIGNATURE_BYTES = _TIME_BYTES + ed25519.SIGNATURE_SIZE


class Cosignature(NamedTuple):
    """A witness of a checkpoint; `time` of signing in seconds since 1970, UTC."""

    key: VerifierKey
    time: int


def verify_cosignature(note: SignedNote, key: VerifierKey) -> Cosignature | None:
    """Return the cosignature of a witness on a note, None if no line names its key.

    Raises `ProofError` (`bad_signature`) if it is not valid.
    """
    line = note.find_signature(key)
    if line is None:
        return None
    time = int.from_bytes(line.signature[:_TIME_BYTES], "big")
    if (
        len(line.signature) == _COSIGNATURE_BYTES
        and time <= MAX_COSIGNATURE_TIME
        and ed25519.verify_signature(
            key.key, _cosigned_message(note.text, time), line.signature[_TIME_BYTES:]
        )
    ):
        return Cosignature(key, time)
    raise ProofError(
        f"the cosignature of the witness {key.name} on the checkpoint is invalid",
        code="bad_signature",
        hint=CHECKPOINT_HINT,
    )


def _cosigned_message(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()
