"""Evidence of commitments: state that nodes prove, checked here and kept.

Nodes prove the state of recent blocks alone, often of fewer than it takes to be final,
and a head that moved on is no longer the state. So a proof is prepared as soon as a
commitment is seen in a block, and is evidence once the block of the proof is final.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import BrainError, NotFound
from ..evidence import registry
from ..evidence.evidence import BRAIN, Entry, Evidence
from ..protocol import FINALIZED, Commitment
from . import files
from .nodes import View
from .proving import Proving, keep, not_final, not_proven, read


class Capturing(Proving):
    """The part of an EVM ledger about evidence."""

    def evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        """Return `log`, which is None, and `chain`: the proof that a snapshot was the head.

        `commit`, `status` and `history` prepare it where they can; once it was captured
        no node is asked any more. Raises `NotFound` (`not_committed`), `LedgerError`
        (`not_final`, `not_proven`).
        """
        kept = self._kept(brain, snapshot)
        if kept is None:
            kept = self._captured(brain, snapshot)
        return {"log": None, "chain": kept}

    def _capture(self, made: Commitment) -> None:
        """Keep evidence of a final commitment if it can be had."""
        if self._kept(made.brain, made.snapshot) is None:
            with suppress(BrainError):
                self._captured(made.brain, made.snapshot)

    def _prepare(self, view: View, made: Commitment) -> None:
        """Have a proof of the head, which is in a block that is not final, if it can be had."""
        path = self._prepared(made)
        if files.read(path) is None:
            with suppress(BrainError):
                keep(path, self._told(view, made))

    def _kept(self, brain: bytes, snapshot: bytes) -> dict[str, Any] | None:
        path = self._place(brain, snapshot)
        kept = files.read(path)
        if kept is None:
            return None
        with suppress(ValueError, TypeError, KeyError):
            seq = int(json.loads(kept)["seq"])
            return read(path, _about(brain, snapshot, seq))
        return None

    def _captured(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        view, id = self._view(), self.id_of(brain)
        state = self._state(view, id)
        made = state and self._reading.find(view, brain, id, state, snapshot)
        if state is None or made is None or made.block is None:
            raise NotFound(
                f"{self.name} holds no commitment of {snapshot.hex()[:12]}", code="not_committed"
            )
        final = self._final(view)
        if made.status != FINALIZED:
            raise not_final(made.block)
        place, about = self._place(brain, snapshot), _about(brain, snapshot, made.seq)
        ready = self._promoted(self._prepared(made), place, about, final)
        if ready is not None:
            return ready
        at = self._before_next(view, id, made, final) if made.seq < state.seq else final
        proven = self._told(at, made)
        keep(place, proven)
        chain: dict[str, Any] = proven["chain"]
        return chain

    def _told(self, at: View, made: Commitment) -> dict[str, Any]:
        """Return what is kept of a commitment that is the head at a block."""
        slots = registry.brain_slots(self.id_of(made.brain))
        about = _about(made.brain, made.snapshot, made.seq)
        chain = self._proven(at, BRAIN, self.creator, slots, about)
        return {"seq": made.seq, "chain": chain}

    def _before_next(self, view: View, id: bytes, made: Commitment, final: View) -> View:
        """Return the last final block in which an earlier commitment was still the head."""
        following = made.seq + 1
        events = self._registry.events(view, id, parent=made.snapshot, down_to=following)
        block = next((one.block for one in events if one.seq == following), 0)
        last = min(block - 1, final.block.number)
        found = self._nodes.at(last) if made.block and last >= made.block else None
        if found is None:
            raise not_proven("the next commitment followed in the same block")
        return found

    def _place(self, brain: bytes, snapshot: bytes) -> Path:
        return self._evidence / f"{self.id_of(brain).hex()[:32]}-{snapshot.hex()}.json"

    def _prepared(self, made: Commitment) -> Path:
        """Where a proof waits for its block; a reorganisation makes another one of it."""
        name = self._place(made.brain, made.snapshot).name
        return self._evidence / "prepared" / f"{made.block_hash[2:18]}-{name}"


def _about(brain: bytes, snapshot: bytes, seq: int) -> Evidence:
    return Evidence(brain, snapshot, None, None, Entry(snapshot, None, seq), None, None)
