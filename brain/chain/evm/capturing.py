"""Evidence of commitments: state that nodes prove, checked here and kept.

Nodes prove the state of recent blocks alone, often of fewer than it takes to be final,
and a head that moved on is no longer the state. So a proof is prepared as soon as a
commitment is seen in a block, and is evidence once the block of the proof is final.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from ...errors import BrainError, LedgerError, NotFound, ProofError
from ..evidence import build, header, registry
from ..evidence.chained import check_chain
from ..evidence.evidence import ANCHOR, BRAIN, ChainPart, Entry, Evidence, Slot
from ..evidence.known import Known
from ..protocol import FINALIZED, Commitment
from . import files, wire
from .base import Base
from .nodes import View


class Capturing(Base):
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

    def anchor_evidence(self, root: bytes, sender: str = "") -> dict[str, Any]:
        """Return the field `chain` of evidence that an account anchored the root of a log.

        `sender` is this account if it is not named. Raises as `evidence` does; evidence
        of a root lasts, as the root does, until the same account anchors another.
        """
        by = sender.lower() or self._sender_address()
        path = self._evidence / f"{by}-{root.hex()}.json"
        about = Evidence(bytes(32), root, None, None, Entry(root, None, 1), None, None)
        kept = _read(path, about)
        if kept is None:
            view = self._view()
            at, slot = self._final(view), registry.anchor_slot(bytes.fromhex(by[2:]))
            if self._word(at, slot) != root:
                self._refuse_early(view, slot, root)
            kept = self._proven(at, ANCHOR, by, [slot], about)
            _keep(path, {"chain": kept})
        return kept

    def _word(self, view: View, slot: bytes) -> bytes:
        """Return what the contract, which need not be there, holds in a slot."""

        def read(said: Any) -> bytes:
            return wire.word(said, "word of storage")

        name = "0x" + slot.hex()
        asked = ("eth_getStorageAt", self.config.contract, name, view.tag)
        return self._nodes.agreed(view, read, *asked)

    def _refuse_early(self, view: View, slot: bytes, root: bytes) -> NoReturn:
        """Raise for a root that is not in final state: it may be in the latest."""
        if self._word(view, slot) == root:
            raise _not_final(view.block.number)
        raise NotFound(f"{self.name} holds no such root", code="not_committed")

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
                _keep(path, self._told(view, made))

    def _kept(self, brain: bytes, snapshot: bytes) -> dict[str, Any] | None:
        path = self._place(brain, snapshot)
        kept = files.read(path)
        if kept is None:
            return None
        with suppress(ValueError, TypeError, KeyError):
            seq = int(json.loads(kept)["seq"])
            return _read(path, _about(brain, snapshot, seq))
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
            raise _not_final(made.block)
        ready = self._ready(made, final)
        if ready is not None:
            return ready
        at = self._before_next(view, id, made, final) if made.seq < state.seq else final
        proven = self._told(at, made)
        _keep(self._place(brain, snapshot), proven)
        chain: dict[str, Any] = proven["chain"]
        return chain

    def _ready(self, made: Commitment, final: View) -> dict[str, Any] | None:
        """Return the proof that was prepared, if its block is final by now."""
        path = self._prepared(made)
        chain = _read(path, _about(made.brain, made.snapshot, made.seq))
        if chain is None:
            return None
        block = header.decode(_bytes(chain["header"]))
        if block.number > final.block.number:
            return None
        there = self._nodes.at(block.number)
        if there is None or there.block.hash != "0x" + block.hash.hex():
            return None
        files.move(path, self._place(made.brain, made.snapshot))
        return chain

    def _told(self, at: View, made: Commitment) -> dict[str, Any]:
        """Return what is kept of a commitment that is the head at a block."""
        slots = registry.brain_slots(self.id_of(made.brain))
        about = _about(made.brain, made.snapshot, made.seq)
        chain = self._proven(at, BRAIN, self.creator, slots, about)
        return {"seq": made.seq, "chain": chain}

    def _final(self, view: View) -> View:
        number = self._bounds(view).final
        final = self._nodes.at(number) if number >= 0 else None
        if final is None:
            raise _not_final(view.block.number)
        return final

    def _before_next(self, view: View, id: bytes, made: Commitment, final: View) -> View:
        """Return the last final block in which an earlier commitment was still the head."""
        events = self._registry.events(view, id, parent=made.snapshot)
        block = next(one.block for one in events if one.seq == made.seq + 1)
        found = self._nodes.at(min(block - 1, final.block.number))
        if found is None or made.block is None or found.block.number < made.block:
            raise _not_proven("the next commitment followed in the same block")
        return found

    def _proven(
        self, at: View, kind: str, by: str, slots: list[bytes], about: Evidence
    ) -> dict[str, Any]:
        """Return the proof of slots at a block, by the first node that gives one that holds."""
        contract = self.config.contract

        def block(said: Any) -> str:
            if "0x" + header.decode(header.from_rpc(said)).hash.hex() != at.block.hash:
                raise LedgerError("the node tells another block", code="bad_rpc")
            return json.dumps(said)

        def part(said: Any) -> str:
            made = build.chain_part(self.config.chain_id, contract, kind, by, header_of, said)
            try:
                _check(made, about, bytes.fromhex(at.block.hash[2:]))
            except (ProofError, ValueError) as error:  # the latter: not as many slots as asked
                raise LedgerError(f"the proof does not hold: {error}", code="bad_rpc") from error
            return json.dumps(made)

        names = ["0x" + slot.hex() for slot in slots]
        header_of = json.loads(
            self._nodes.first(at, block, "eth_getBlockByHash", at.block.hash, False)
        )
        try:
            text = self._nodes.first(at, part, "eth_getProof", contract, names, at.tag)
        except LedgerError as error:
            raise _not_proven(error.message) from error
        proven: dict[str, Any] = json.loads(text)
        return proven

    @property
    def _evidence(self) -> Path:
        return self._folder / "evidence" / self._place_name

    def _place(self, brain: bytes, snapshot: bytes) -> Path:
        return self._evidence / f"{self.id_of(brain).hex()[:32]}-{snapshot.hex()}.json"

    def _prepared(self, made: Commitment) -> Path:
        """Where a proof waits for its block; a reorganisation makes another one of it."""
        name = self._place(made.brain, made.snapshot).name
        return self._evidence / "prepared" / f"{made.block_hash[2:18]}-{name}"


def _about(brain: bytes, snapshot: bytes, seq: int) -> Evidence:
    return Evidence(brain, snapshot, None, None, Entry(snapshot, None, seq), None, None)


def _read(path: Path, about: Evidence) -> dict[str, Any] | None:
    """Return evidence that was kept, None if there is none or it does not hold any more."""
    content = files.read(path)
    if content is None:
        return None
    with suppress(ValueError, TypeError, KeyError, ProofError):
        said: dict[str, Any] = json.loads(content)["chain"]
        _check(said, about, b"")
        return said
    return None


def _keep(path: Path, said: Mapping[str, Any]) -> None:
    files.make_folder(path.parent)
    files.write(path, json.dumps(said, indent=1).encode() + b"\n")


def _check(said: Mapping[str, Any], about: Evidence, block_hash: bytes) -> None:
    """Check a proof as the reader of the evidence will. Raises `ProofError`."""
    kind = said["kind"]
    part = ChainPart(
        said["chain_id"],
        _bytes(said["contract"]),
        kind,
        _bytes(said["creator" if kind == BRAIN else "sender"]),
        _bytes(said["header"]),
        [_bytes(node) for node in said["account"]],
        [
            Slot(_bytes(one["slot"]), _bytes(one["value"]), [_bytes(node) for node in one["proof"]])
            for one in said["slots"]
        ],
    )
    stored = check_chain(part, about, Known(block_hash=block_hash))
    if kind == ANCHOR and stored.root != about.snapshot:
        raise ProofError("another root is anchored", code="wrong_root")


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _not_final(block: int) -> LedgerError:
    return LedgerError(
        f"block {block} is not final yet",
        code="not_final",
        hint="evidence is captured once it is: try again later",
    )


def _not_proven(why: str) -> LedgerError:
    return LedgerError(
        f"no node proves that state: {why}",
        code="not_proven",
        hint="nodes prove recent blocks: ask an archive node, or capture evidence earlier",
    )
