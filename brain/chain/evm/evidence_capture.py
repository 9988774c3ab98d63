"""Captures evidence of commitments: storage proofs by nodes, verified and stored.

Most nodes prove recent blocks only, often fewer than it takes for a block to be final, and
the next commitment replaces the head. So a proof is prepared as soon as a commitment is
seen in a block; it becomes evidence once the block of the proof is final.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import BrainError, NotFound
from ..evidence import storage_layout
from ..evidence.evidence_model import (
    KIND_BRAIN,
    CommittedSnapshot,
    EvidenceDocument,
    storage_claim,
)
from ..ledger_protocol import FINALIZED, Commitment
from . import durable_files
from .ledger_context import LedgerContext
from .node_quorum import QuorumView
from .storage_prover import (
    StorageProver,
    not_final_error,
    not_proven_error,
    read_stored_proof,
    store_proof,
)


class EvidenceCapture:
    """Captures and stores evidence of the commitments of an EVM ledger."""

    def __init__(self, context: LedgerContext, prover: StorageProver) -> None:
        self._context = context
        self._prover = prover

    def evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        """Return `log`, which is None, and `chain`: the proof that a snapshot was the head.

        `commit`, `status` and `history` of the ledger prepare the proof if a node gives one.
        Stored evidence is returned without asking a node. Raises `NotFound` (`not_committed`),
        `LedgerError` (`not_final`, `not_proven`).
        """
        chain = self.stored(brain, snapshot)
        if chain is None:
            chain = self._capture_final(brain, snapshot)
        return {"log": None, "chain": chain}

    def try_capture(self, commitment: Commitment) -> None:
        """Store evidence of a final commitment, if a node proves it."""
        if self.stored(commitment.brain, commitment.snapshot) is None:
            with suppress(BrainError):
                self._capture_final(commitment.brain, commitment.snapshot)

    def prepare_proof(self, view: QuorumView, commitment: Commitment) -> None:
        """Store a proof of the head at a block that is not final yet, if a node gives one."""
        path = self._prepared_path(commitment)
        if durable_files.read_if_exists(path) is None:
            with suppress(BrainError):
                store_proof(path, self._prove_head(view, commitment))

    def stored(self, brain: bytes, snapshot: bytes) -> dict[str, Any] | None:
        """Return the stored field `chain` of evidence, None if there is none that holds."""
        path = self._evidence_path(brain, snapshot)
        content = durable_files.read_if_exists(path)
        if content is None:
            return None
        with suppress(ValueError, TypeError, KeyError):
            seq = int(json.loads(content)["seq"])
            return read_stored_proof(path, _head_claim(brain, snapshot, seq))
        return None

    def _capture_final(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        context = self._context
        view, id = context.contract_view(), context.registry_id(brain)
        state = context.read_state(view, id)
        commitment = state and context.commitments.find(view, brain, id, state, snapshot)
        if state is None or commitment is None or commitment.block is None:
            raise NotFound(
                f"{context.config.name} holds no commitment of {snapshot.hex()[:12]}",
                code="not_committed",
            )
        final = self._prover.final_view(view)
        if commitment.status != FINALIZED:
            raise not_final_error(commitment.block)
        path = self._evidence_path(brain, snapshot)
        claim = _head_claim(brain, snapshot, commitment.seq)
        promoted = self._prover.promote_prepared(
            self._prepared_path(commitment), path, claim, final
        )
        if promoted is not None:
            return promoted
        if commitment.seq < state.seq:
            proof_view = self._last_view_as_head(view, id, commitment, final)
        else:
            proof_view = final
        proven = self._prove_head(proof_view, commitment)
        store_proof(path, proven)
        chain: dict[str, Any] = proven["chain"]
        return chain

    def _prove_head(self, proof_view: QuorumView, commitment: Commitment) -> dict[str, Any]:
        """Return `seq` and `chain` for a commitment that is the head at a block."""
        slots = storage_layout.brain_slots(self._context.registry_id(commitment.brain))
        claim = _head_claim(commitment.brain, commitment.snapshot, commitment.seq)
        creator = self._context.creator
        chain = self._prover.prove_storage(proof_view, KIND_BRAIN, creator, slots, claim)
        return {"seq": commitment.seq, "chain": chain}

    def _last_view_as_head(
        self, view: QuorumView, id: bytes, commitment: Commitment, final: QuorumView
    ) -> QuorumView:
        """Return the last final block in which an earlier commitment was still the head."""
        next_seq = commitment.seq + 1
        events = self._context.registry.find_events(
            view, id, parent=commitment.snapshot, down_to=next_seq
        )
        block = next((one.block for one in events if one.seq == next_seq), 0)
        last = min(block - 1, final.block.number)
        proof_view = None
        if commitment.block and last >= commitment.block:
            proof_view = self._context.nodes.view_at_number(last)
        if proof_view is None:
            raise not_proven_error("the next commitment followed in the same block")
        return proof_view

    def _evidence_path(self, brain: bytes, snapshot: bytes) -> Path:
        id = self._context.registry_id(brain)
        return self._prover.evidence_folder / f"{id.hex()[:32]}-{snapshot.hex()}.json"

    def _prepared_path(self, commitment: Commitment) -> Path:
        """The file of a prepared proof, named by its block: a reorganisation needs another."""
        name = self._evidence_path(commitment.brain, commitment.snapshot).name
        return self._prover.evidence_folder / "prepared" / f"{commitment.block_hash[2:18]}-{name}"


def _head_claim(brain: bytes, snapshot: bytes, seq: int) -> EvidenceDocument:
    return storage_claim(brain, CommittedSnapshot(snapshot, None, seq))
