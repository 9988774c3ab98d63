"""Fetches storage proofs from nodes, verifies and stores them.

A proof that was made at a block which is not final yet waits in a file of its own; it is
evidence once the block is final and still there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import LedgerError, ProofError
from ..evidence import block_header, evidence_builder
from ..evidence.chain_part import verify_chain_part
from ..evidence.evidence_model import (
    KIND_ANCHOR,
    KIND_BRAIN,
    ChainPart,
    EvidenceDocument,
    StorageSlot,
)
from ..evidence.expectations import Expectations
from . import durable_files
from .ledger_base import EvmLedgerBase
from .node_quorum import QuorumView


class StorageProver(EvmLedgerBase):
    """The part of an EVM ledger that has storage proven."""

    def _prove_storage(
        self,
        proof_view: QuorumView,
        kind: str,
        by: str,
        slots: list[bytes],
        claim: EvidenceDocument,
    ) -> dict[str, Any]:
        """Return the field `chain` of evidence: slots at a block, by the first node whose
        proof holds. Raises `LedgerError` (`bad_rpc`, `not_proven`)."""
        contract = self.config.contract

        def block(fields: Any) -> str:
            if (
                "0x" + block_header.decode_header(block_header.encode_rpc_header(fields)).hash.hex()
                != proof_view.block.hash
            ):
                raise LedgerError("the node tells another block", code="bad_rpc")
            return json.dumps(fields)

        def part(fields: Any) -> str:
            chain_fields = evidence_builder.build_chain_part(
                self.config.chain_id, contract, kind, by, header_of, fields
            )
            try:
                _verify_chain_fields(chain_fields, claim, bytes.fromhex(proof_view.block.hash[2:]))
            except (ProofError, ValueError) as error:  # the latter: not as many slots as asked
                raise LedgerError(f"the proof does not hold: {error}", code="bad_rpc") from error
            return json.dumps(chain_fields)

        names = ["0x" + slot.hex() for slot in slots]
        header_of = json.loads(
            self._nodes.ask_first(
                proof_view, block, "eth_getBlockByHash", proof_view.block.hash, False
            )
        )
        try:
            text = self._nodes.ask_first(
                proof_view, part, "eth_getProof", contract, names, proof_view.tag
            )
        except LedgerError as error:
            raise not_proven_error(error.message) from error
        proven: dict[str, Any] = json.loads(text)
        return proven

    def _promote_prepared(
        self, prepared_path: Path, evidence_path: Path, claim: EvidenceDocument, final: QuorumView
    ) -> dict[str, Any] | None:
        """Return a proof that was waiting, if its block is final by now, and keep it."""
        chain = read_stored_proof(prepared_path, claim)
        if chain is None:
            return None
        block = block_header.decode_header(_unhex(chain["header"]))
        if block.number > final.block.number:
            return None
        found = self._nodes.view_at_number(block.number)
        if found is None or found.block.hash != "0x" + block.hash.hex():
            return None
        durable_files.move_durably(prepared_path, evidence_path)
        return chain

    def _final_view(self, view: QuorumView) -> QuorumView:
        number = self._finality_bounds(view).final
        final = self._nodes.view_at_number(number) if number >= 0 else None
        if final is None:
            raise not_final_error(view.block.number)
        return final

    @property
    def _evidence_folder(self) -> Path:
        return self._folder / "evidence" / self._contract_key


def read_stored_proof(path: Path, claim: EvidenceDocument) -> dict[str, Any] | None:
    """Return evidence that was kept, None if there is none or it does not hold any more."""
    content = durable_files.read_if_exists(path)
    if content is None:
        return None
    with suppress(ValueError, TypeError, KeyError, ProofError):
        fields: dict[str, Any] = json.loads(content)["chain"]
        _verify_chain_fields(fields, claim, b"")
        return fields
    return None


def store_proof(path: Path, fields: Mapping[str, Any]) -> None:
    """Put evidence into a file, durable when this returns."""
    durable_files.make_private_folder(path.parent)
    durable_files.write_durably(path, json.dumps(fields, indent=1).encode() + b"\n")


def _verify_chain_fields(
    fields: Mapping[str, Any], claim: EvidenceDocument, block_hash: bytes
) -> None:
    """Check a proof as the reader of the evidence will. Raises `ProofError`."""
    kind = fields["kind"]
    part = ChainPart(
        fields["chain_id"],
        _unhex(fields["contract"]),
        kind,
        _unhex(fields["creator" if kind == KIND_BRAIN else "sender"]),
        _unhex(fields["header"]),
        [_unhex(node) for node in fields["account"]],
        [
            StorageSlot(
                _unhex(one["slot"]), _unhex(one["value"]), [_unhex(node) for node in one["proof"]]
            )
            for one in fields["slots"]
        ],
    )
    stored = verify_chain_part(part, claim, Expectations(block_hash=block_hash))
    if kind == KIND_ANCHOR and stored.root != claim.snapshot:
        raise ProofError("another root is anchored", code="wrong_root")


def _unhex(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def not_final_error(block: int) -> LedgerError:
    """Return the error for evidence that is asked for too early."""
    return LedgerError(
        f"block {block} is not final yet",
        code="not_final",
        hint="evidence is captured once it is: try again later",
    )


def not_proven_error(why: str) -> LedgerError:
    """Return the error for evidence that cannot be had."""
    return LedgerError(
        f"no node proves that state: {why}",
        code="not_proven",
        hint="nodes prove recent blocks: ask an archive node, or capture evidence earlier",
    )
