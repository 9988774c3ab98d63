"""Checkpoints: what a log signs of itself, its size and root (C2SP tlog-checkpoint)."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...errors import ProofError
from .base64 import decoded, encoded
from .hashing import EMPTY_ROOT, SIZE

MAX_SIZE = (1 << 63) - 1
"""Leaves in a log."""

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class Checkpoint(NamedTuple):
    """A state of the log that calls itself `origin`: `size` entries under `root`."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{encoded(self.root)}\n"


def parse(text: str) -> Checkpoint:
    """Return the checkpoint that the text of a note is; extension lines are let pass.

    Raises `ProofError` (`bad_checkpoint`).
    """
    lines = text.removesuffix("\n").split("\n")
    if len(lines) >= 3 and all(lines) and _NUMBER.fullmatch(lines[1]):
        origin, size, root = lines[0], int(lines[1]), decoded(lines[2])
        if size <= MAX_SIZE and root and len(root) == SIZE and (size or root == EMPTY_ROOT):
            return Checkpoint(origin, size, root)
    raise ProofError("the text of the note is not a checkpoint", code="bad_checkpoint")
