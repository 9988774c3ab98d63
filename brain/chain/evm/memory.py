"""The highest commitment of each brain that was seen, so that going back is noticed.

Before a commitment is final, a reorganisation may take it back in good faith: then the
block in which it was seen is gone too. A lower commitment above a block that is still
there, or below one that was final, is no reorganisation.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...errors import BrainError, VerificationFailed
from . import files
from .abi import State
from .nodes import Nodes, View


class Seen(NamedTuple):
    """The head of a brain at a block, and whether that commitment is final."""

    seq: int
    snapshot: str
    block: int
    hash: str
    final: bool


class Memory:
    """What was seen of brains through one ledger, a file each in `folder`."""

    def __init__(self, folder: Path, nodes: Nodes) -> None:
        self._folder = folder
        self._nodes = nodes

    def compare(self, view: View, id: bytes, state: State | None) -> None:
        """Hold a head against what was seen, and remember it if it is higher.

        Raises `VerificationFailed` (`rolled_back`).
        """
        seen = self._read(id)
        seq, snapshot = (state.seq, state.head.hex()) if state else (0, "")
        if seen and (seq, snapshot) == (seen.seq, seen.snapshot):
            return
        if seen and seq <= seen.seq and (seen.final or self._is_there(seen)):
            raise VerificationFailed(
                f"commitment {seen.seq} of this brain was seen at block {seen.block}, "
                f"and now the ledger is at {seq}",
                code="rolled_back",
                hint="a node lies or lags, or the chain was rolled back; ask other nodes",
            )
        if state:
            self._write(id, Seen(seq, snapshot, view.block.number, view.block.hash, False))

    def settle(self, id: bytes, seq: int) -> None:
        """Remember that a commitment is final."""
        seen = self._read(id)
        if seen and seen.seq == seq and not seen.final:
            self._write(id, seen._replace(final=True))

    def _is_there(self, seen: Seen) -> bool:
        view = self._nodes.at(seen.block)
        return view is not None and view.block.hash == seen.hash

    def _read(self, id: bytes) -> Seen | None:
        content = files.read(self._place(id))
        with suppress(ValueError, TypeError):
            return Seen(**json.loads(content)) if content else None
        return None

    def _write(self, id: bytes, seen: Seen) -> None:
        with suppress(BrainError):  # who may not write here may still read the ledger
            files.make_folder(self._folder)
            files.write(self._place(id), json.dumps(seen._asdict()).encode() + b"\n")

    def _place(self, id: bytes) -> Path:
        return self._folder / f"{id.hex()}.json"
