"""Fetches storage proofs from nodes, verifies and stores them.

A proof at a block that is not final yet is stored as prepared; it becomes evidence once the
block is final and still on the chain.
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
from ..evidence.evidence_format import ADDRESS_FIELDS
from ..evidence.evidence_model import (
    KIND_ANCHOR,
    ChainPart,
    EvidenceDocument,
    StorageSlot,
)
from ..evidence.expectations import Expectations
from . import durable_files
from .ledger_context import LedgerContext
from .node_quorum import QuorumView


class StorageProver:
    """Proves words in the storage of the contract, by the first node whose proof holds."""

    def __init__(self, context: LedgerContext) -> None:
        self._context = context

    def prove_storage(
        self,
        view: QuorumView,
        kind: str,
        address: str,
        slots: list[bytes],
        claim: EvidenceDocument,
    ) -> dict[str, Any]:
        """Return the field `chain` of evidence for slots at the block of a view.

        Raises `LedgerError` (`bad_rpc`, `not_proven`).
        """
        chain_id, contract = self._context.config.chain_id, self._context.config.contract
        block_hash = view.block.hash

        def read_block(fields: Any) -> str:
            header = block_header.decode_block_header(block_header.encode_rpc_header(fields))
            if "0x" + header.hash.hex() != block_hash:
                raise LedgerError("the node returned another block", code="bad_rpc")
            return json.dumps(fields)

        def read_proof(fields: Any) -> str:
            chain_fields = evidence_builder.build_chain_part(
                chain_id, contract, kind, address, block_fields, fields
            )
            try:
                _verify_chain_fields(chain_fields, claim, bytes.fromhex(block_hash[2:]))
            except (ProofError, ValueError) as error:  # ValueError: another number of slots
                raise LedgerError(f"the proof does not hold: {error}", code="bad_rpc") from error
            return json.dumps(chain_fields)

        nodes = self._context.nodes
        block_fields = json.loads(
            nodes.ask_first(view, read_block, "eth_getBlockByHash", block_hash, False)
        )
        names = ["0x" + slot.hex() for slot in slots]
        try:
            text = nodes.ask_first(view, read_proof, "eth_getProof", contract, names, view.tag)
        except LedgerError as error:
            raise not_proven_error(error.message) from error
        proven: dict[str, Any] = json.loads(text)
        return proven

    def promote_prepared(
        self, prepared_path: Path, evidence_path: Path, claim: EvidenceDocument, final: QuorumView
    ) -> dict[str, Any] | None:
        """Store a prepared proof as evidence and return it, if its block is final by now."""
        chain = read_stored_proof(prepared_path, claim)
        if chain is None:
            return None
        block = block_header.decode_block_header(_unhex(chain["header"]))
        if block.number > final.block.number:
            return None
        on_chain = self._context.nodes.view_at_number(block.number)
        if on_chain is None or on_chain.block.hash != "0x" + block.hash.hex():
            return None
        durable_files.move_durably(prepared_path, evidence_path)
        return chain

    def final_view(self, view: QuorumView) -> QuorumView:
        """Return the last final block up to a view. Raises `LedgerError` (`not_final`)."""
        nodes = self._context.nodes
        number = nodes.finality_bounds(view).final
        final = nodes.view_at_number(number) if number >= 0 else None
        if final is None:
            raise not_final_error(view.block.number)
        return final

    @property
    def evidence_folder(self) -> Path:
        """The folder of stored evidence; prepared proofs are in `prepared` in it."""
        return self._context.folder / "evidence" / self._context.contract_key


def read_stored_proof(path: Path, claim: EvidenceDocument) -> dict[str, Any] | None:
    """Return the stored proof of a claim, None if there is none or it does not hold."""
    content = durable_files.read_if_exists(path)
    if content is None:
        return None
    with suppress(ValueError, TypeError, KeyError, ProofError):
        fields: dict[str, Any] = json.loads(content)["chain"]
        _verify_chain_fields(fields, claim, b"")
        return fields
    return None


def store_proof(path: Path, fields: Mapping[str, Any]) -> None:
    """Write a proof to a file, durably."""
    durable_files.make_private_folder(path.parent)
    durable_files.write_durably(path, json.dumps(fields, indent=1).encode() + b"\n")


def _verify_chain_fields(
    fields: Mapping[str, Any], claim: EvidenceDocument, block_hash: bytes
) -> None:
    """Check a proof as the reader of the evidence will. Raises `ProofError`."""
    kind = fields["kind"]
    part = ChainPart(
        chain_id=fields["chain_id"],
        contract=_unhex(fields["contract"]),
        kind=kind,
        account_address=_unhex(fields[ADDRESS_FIELDS[kind]]),
        header=_unhex(fields["header"]),
        account_proof=[_unhex(node) for node in fields["account"]],
        slots=[
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
    """Return the error for evidence of a block that is not final yet."""
    return LedgerError(
        f"block {block} is not final yet",
        code="not_final",
        hint="evidence is captured once it is: try again later",
    )


def not_proven_error(why: str) -> LedgerError:
    """Return the error for a state that no node proves."""
    return LedgerError(
        f"no node proves that state: {why}",
        code="not_proven",
        hint="use an archive node, or capture evidence earlier: most nodes prove recent blocks",
    )
