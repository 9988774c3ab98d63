"""Proves words in the storage of the contract, by nodes, and keeps the proofs in files.

Most nodes prove recent blocks only, often fewer than it takes for a block to be final, and
the next commitment or anchor replaces the word. So a proof is prepared as soon as the word is
seen in a block. It becomes evidence once that block is final and still on the chain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import BrainError, LedgerError, NotFound, ProofError
from ..evidence import evidence_format, offline_check, state_proof
from ..evidence.evidence_model import KIND_BRAIN, Expectations
from ..evidence.offline_check import AnchorClaim, HeadClaim, verify_chain_part
from ..ledger_protocol import FINALIZED, Commitment
from . import durable_files
from .ledger_context import LedgerContext
from .nodes import QuorumView
from .registry import BrainView, ProofRequest, not_proven_error


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageClaim:
    """A claim about `slots` of the contract, and the files of its proof.

    `address` is the account that opened the brain, or anchored the log, by `kind`. `path` is
    the file of the evidence, `prepared_path` that of the proof at a block that is not final
    yet; `stored_fields` are stored with either.
    """

    kind: str
    address: str
    slots: list[bytes]
    claim: HeadClaim | AnchorClaim
    path: Path
    prepared_path: Path
    stored_fields: Mapping[str, Any]


class StorageProver:
    """Proves claims by the first node whose proof holds."""

    def __init__(self, context: LedgerContext) -> None:
        self._context = context

    @property
    def evidence_folder(self) -> Path:
        """The folder of stored evidence; prepared proofs are in `prepared` in it."""
        return self._context.folder / "evidence" / self._context.contract_key

    def final_view(self, view: QuorumView) -> QuorumView:
        """Return the last final block up to a view. Raises `LedgerError` (`not_final`)."""
        nodes = self._context.nodes
        number = nodes.finality_bounds(view).final
        final = nodes.view_at_number(number) if number >= 0 else None
        if final is None:
            raise not_final_error(view.block.number)
        return final

    def prepare(self, claim: StorageClaim, view: QuorumView) -> None:
        """Store a proof at a block that is not final yet, if a node gives one."""
        with suppress(BrainError):
            self._store(claim, claim.prepared_path, self._prove(claim, view))

    def capture(
        self, claim: StorageClaim, final: QuorumView, find_view: Callable[[], QuorumView]
    ) -> dict[str, Any]:
        """Store evidence of a claim, and return its field `chain`.

        A prepared proof is used if its block is final by now; else nodes prove the claim at
        the block that `find_view` returns. Raises `LedgerError` (`bad_rpc`, `not_proven`).
        """
        prepared = read_stored_proof(claim.prepared_path, claim.claim)
        if prepared is not None and self._is_final(prepared, final):
            durable_files.move_durably(claim.prepared_path, claim.path)
            return prepared
        chain = self._prove(claim, find_view())
        self._store(claim, claim.path, chain)
        return chain

    def _is_final(self, chain: Mapping[str, Any], final: QuorumView) -> bool:
        block = state_proof.decode_block_header(bytes.fromhex(chain["header"][2:]))
        if block.number > final.block.number:
            return False
        on_chain = self._context.nodes.view_at_number(block.number)
        return on_chain is not None and on_chain.block.hash == "0x" + block.hash.hex()

    def _prove(self, claim: StorageClaim, view: QuorumView) -> dict[str, Any]:
        """Return the field `chain` of evidence of a claim at the block of a view."""
        block_hash = bytes.fromhex(view.block.hash[2:])
        request = ProofRequest(claim.kind, claim.address, claim.slots)
        return self._context.block_proofs.prove(
            view, request, lambda fields: _verify_chain_fields(fields, claim.claim, block_hash)
        )

    def _store(self, claim: StorageClaim, path: Path, chain: Mapping[str, Any]) -> None:
        durable_files.make_private_folder(path.parent)
        fields = {**claim.stored_fields, "chain": chain}
        durable_files.write_durably(path, json.dumps(fields, indent=1).encode() + b"\n")


def read_stored_proof(path: Path, claim: HeadClaim | AnchorClaim) -> dict[str, Any] | None:
    """Return the stored proof of a claim, None if there is none or it does not hold."""
    content = durable_files.read_if_exists(path)
    if content is None:
        return None
    with suppress(ValueError, TypeError, KeyError, ProofError):
        fields: dict[str, Any] = json.loads(content)["chain"]
        _verify_chain_fields(fields, claim, b"")
        return fields
    return None


def _verify_chain_fields(
    fields: Mapping[str, Any], claim: HeadClaim | AnchorClaim, block_hash: bytes
) -> None:
    """Check a proof as the reader of the evidence will. Raises `ProofError`."""
    part = evidence_format.parse_chain_part(fields)
    verify_chain_part(part, claim, Expectations(block_hash=block_hash))


def not_final_error(block: int) -> LedgerError:
    """Return the error for evidence of a block that is not final yet."""
    return LedgerError(
        f"the block {block} of the commitment is not final yet",
        code="not_final",
        hint="evidence is captured once it is: try again later",
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
