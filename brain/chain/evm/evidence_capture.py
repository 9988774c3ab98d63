"""Captures evidence of commitments: storage proofs by nodes, verified and stored.

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
from ..evidence import storage_layout
from ..evidence.evidence_model import KIND_BRAIN, CommittedSnapshot, EvidenceDocument
from ..ledger_protocol import FINALIZED, Commitment
from . import durable_files
from .node_quorum import QuorumView
from .storage_prover import (
    StorageProver,
    not_final_error,
    not_proven_error,
    read_stored_proof,
    store_proof,
)


class EvidenceCapture(StorageProver):
    """The part of an EVM ledger about evidence."""

    def evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        """Return `log`, which is None, and `chain`: the proof that a snapshot was the head.

        `commit`, `status` and `history` prepare it where they can; once it was captured
        no node is asked any more. Raises `NotFound` (`not_committed`), `LedgerError`
        (`not_final`, `not_proven`).
        """
        stored = self._stored_evidence(brain, snapshot)
        if stored is None:
            stored = self._capture_final(brain, snapshot)
        return {"log": None, "chain": stored}

    def _try_capture(self, commitment: Commitment) -> None:
        """Keep evidence of a final commitment if it can be had."""
        if self._stored_evidence(commitment.brain, commitment.snapshot) is None:
            with suppress(BrainError):
                self._capture_final(commitment.brain, commitment.snapshot)

    def _prepare_proof(self, view: QuorumView, commitment: Commitment) -> None:
        """Have a proof of the head, which is in a block that is not final, if it can be had."""
        path = self._prepared_path(commitment)
        if durable_files.read_if_exists(path) is None:
            with suppress(BrainError):
                store_proof(path, self._prove_head(view, commitment))

    def _stored_evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any] | None:
        path = self._evidence_path(brain, snapshot)
        stored = durable_files.read_if_exists(path)
        if stored is None:
            return None
        with suppress(ValueError, TypeError, KeyError):
            seq = int(json.loads(stored)["seq"])
            return read_stored_proof(path, _head_claim(brain, snapshot, seq))
        return None

    def _capture_final(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        view, id = self._contract_view(), self.registry_id(brain)
        state = self._read_state(view, id)
        commitment = state and self._commitment_reader.find(view, brain, id, state, snapshot)
        if state is None or commitment is None or commitment.block is None:
            raise NotFound(
                f"{self.name} holds no commitment of {snapshot.hex()[:12]}", code="not_committed"
            )
        final = self._final_view(view)
        if commitment.status != FINALIZED:
            raise not_final_error(commitment.block)
        place, claim = (
            self._evidence_path(brain, snapshot),
            _head_claim(brain, snapshot, commitment.seq),
        )
        promoted = self._promote_prepared(self._prepared_path(commitment), place, claim, final)
        if promoted is not None:
            return promoted
        proof_view = (
            self._last_view_as_head(view, id, commitment, final)
            if commitment.seq < state.seq
            else final
        )
        proven = self._prove_head(proof_view, commitment)
        store_proof(place, proven)
        chain: dict[str, Any] = proven["chain"]
        return chain

    def _prove_head(self, proof_view: QuorumView, commitment: Commitment) -> dict[str, Any]:
        """Return what is kept of a commitment that is the head at a block."""
        slots = storage_layout.brain_slots(self.registry_id(commitment.brain))
        claim = _head_claim(commitment.brain, commitment.snapshot, commitment.seq)
        chain = self._prove_storage(proof_view, KIND_BRAIN, self.creator, slots, claim)
        return {"seq": commitment.seq, "chain": chain}

    def _last_view_as_head(
        self, view: QuorumView, id: bytes, commitment: Commitment, final: QuorumView
    ) -> QuorumView:
        """Return the last final block in which an earlier commitment was still the head."""
        next_seq = commitment.seq + 1
        events = self._registry.find_events(view, id, parent=commitment.snapshot, down_to=next_seq)
        block = next((one.block for one in events if one.seq == next_seq), 0)
        last = min(block - 1, final.block.number)
        found = (
            self._nodes.view_at_number(last)
            if commitment.block and last >= commitment.block
            else None
        )
        if found is None:
            raise not_proven_error("the next commitment followed in the same block")
        return found

    def _evidence_path(self, brain: bytes, snapshot: bytes) -> Path:
        return self._evidence_folder / f"{self.registry_id(brain).hex()[:32]}-{snapshot.hex()}.json"

    def _prepared_path(self, commitment: Commitment) -> Path:
        """Where a proof waits for its block; a reorganisation makes another one of it."""
        name = self._evidence_path(commitment.brain, commitment.snapshot).name
        return self._evidence_folder / "prepared" / f"{commitment.block_hash[2:18]}-{name}"


def _head_claim(brain: bytes, snapshot: bytes, seq: int) -> EvidenceDocument:
    return EvidenceDocument(
        brain, snapshot, None, None, CommittedSnapshot(snapshot, None, seq), None, None
    )
