"""Captures evidence of commitments, so that it needs no node any more."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import BrainError, NotFound
from ..evidence import offline_check
from ..evidence.evidence_model import KIND_BRAIN
from ..evidence.offline_check import HeadClaim
from ..ledger_protocol import FINALIZED, Commitment
from . import durable_files
from .block_proofs import not_proven_error
from .events import BrainView
from .ledger_context import LedgerContext
from .node_quorum import QuorumView
from .storage_prover import (
    StorageClaim,
    StorageProver,
    not_final_error,
    read_stored_proof,
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
        chain = self._stored(brain, snapshot) or self._capture_final(brain, snapshot)
        return {"log": None, "chain": chain}

    def try_capture(self, commitment: Commitment) -> None:
        """Store evidence of a final commitment, if a node proves it."""
        if not self.is_stored(commitment):
            with suppress(BrainError):
                self._capture_final(commitment.brain, commitment.snapshot)

    def prepare_proof(self, view: QuorumView, commitment: Commitment) -> None:
        """Store a proof of the head at a block that is not final yet, if a node gives one."""
        claim = self._head_claim(commitment)
        if durable_files.read_if_exists(claim.prepared_path) is None:
            self._prover.prepare(claim, view)

    def is_stored(self, commitment: Commitment) -> bool:
        """Return whether evidence of this commitment is stored, and holds."""
        path = self._evidence_path(commitment.brain, commitment.snapshot)
        claim = HeadClaim(commitment.brain, commitment.snapshot, commitment.seq)
        return read_stored_proof(path, claim) is not None

    def _stored(self, brain: bytes, snapshot: bytes) -> dict[str, Any] | None:
        """Return the stored field `chain` of evidence, None if there is none that holds."""
        path = self._evidence_path(brain, snapshot)
        content = durable_files.read_if_exists(path)
        if content is None:
            return None
        with suppress(ValueError, TypeError, KeyError):
            seq = int(json.loads(content)["seq"])
            return read_stored_proof(path, HeadClaim(brain, snapshot, seq))
        return None

    def _capture_final(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        context = self._context
        at = context.view_brain(brain)
        commitment = context.commitments.find(at, snapshot)
        if commitment is None or commitment.block is None:
            raise NotFound(
                f"{context.config.name} holds no commitment of the snapshot {snapshot.hex()[:12]}",
                code="not_committed",
                hint=f"commit it with `brain chain commit --ledger {context.config.name}`",
            )
        final = self._prover.final_view(at.view)
        if commitment.status != FINALIZED:
            raise not_final_error(commitment.block)
        find_view = partial(self._last_view_as_head, at, commitment, final)
        return self._prover.capture(self._head_claim(commitment), final, find_view)

    def _last_view_as_head(
        self, at: BrainView, commitment: Commitment, final: QuorumView
    ) -> QuorumView:
        """Return the last final block in which a commitment was the head."""
        if at.head is not None and commitment.seq == at.head.seq:
            return final
        next_seq = commitment.seq + 1
        events = self._context.events.find_committed(
            at, parent=commitment.snapshot, down_to=next_seq
        )
        block = next((event.block for event in events if event.seq == next_seq), 0)
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

    def _head_claim(self, commitment: Commitment) -> StorageClaim:
        """Return the claim that a commitment is the head of its brain.

        A prepared proof is named by the block of the commitment: after a reorganisation
        another one is needed.
        """
        claim = HeadClaim(commitment.brain, commitment.snapshot, commitment.seq)
        path = self._evidence_path(commitment.brain, commitment.snapshot)
        prepared_name = f"{commitment.block_hash[2:18]}-{path.name}"
        return StorageClaim(
            kind=KIND_BRAIN,
            address=self._context.creator,
            slots=offline_check.claimed_slots(bytes.fromhex(self._context.creator[2:]), claim),
            claim=claim,
            path=path,
            prepared_path=path.parent / "prepared" / prepared_name,
            stored_fields={"seq": commitment.seq},
        )
