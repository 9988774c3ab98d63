"""Anchors: roots of logs in the contract, and evidence of them.

The contract stores one root for each account, and the next root replaces it.
"""

from __future__ import annotations

from typing import Any

from ...errors import NotFound
from ..evidence import storage_layout
from ..evidence.evidence_model import KIND_ANCHOR
from . import abi, rpc_decode
from .fees import Quote
from .ledger_context import LedgerContext
from .node_quorum import QuorumView
from .storage_prover import (
    StorageClaim,
    StorageProver,
    not_final_error,
    read_stored_proof,
    storage_document,
)
from .tx_status import SentTransaction


class Anchors:
    """Anchors roots of logs in the contract of an EVM ledger, and proves them."""

    def __init__(self, context: LedgerContext, prover: StorageProver) -> None:
        self._context = context
        self._prover = prover

    def anchor(self, root: bytes, size: int) -> SentTransaction:
        """Anchor the root of a log of this account, 32 bytes, over `size` entries."""
        sent = self._context.transact("anchor", abi.encode_call(abi.ANCHOR_SELECTOR, root, size))
        if sent.block is not None:
            claim = self._root_claim(self._context.sender_address, root)
            self._prover.prepare(claim, self._context.contract_view())
        return sent

    def quote_anchor(self, root: bytes, size: int) -> Quote:
        """Return the cost of `anchor`, and send nothing."""
        return self._context.quote(abi.encode_call(abi.ANCHOR_SELECTOR, root, size))

    def anchored_root(self, sender: str) -> bytes:
        """Return the last root that an account anchored, 32 zero bytes if it never did."""
        view = self._context.contract_view()
        self._context.registry.check_code(view)
        return self._context.registry.anchored_root(view, abi.parse_address(sender))

    def anchor_evidence(self, root: bytes, sender: str = "") -> dict[str, Any]:
        """Return the field `chain` of evidence that an account anchored the root of a log.

        `sender` is by default the account of the ledger. `anchor` prepares the proof if a
        node gives one. Raises as `EvidenceCapture.evidence` does.
        """
        claim = self._root_claim(sender.lower() or self._context.sender_address, root)
        return read_stored_proof(claim.path, claim.document) or self._capture_root(claim, root)

    def _capture_root(self, claim: StorageClaim, root: bytes) -> dict[str, Any]:
        view = self._context.contract_view()
        final = self._prover.final_view(view)

        def find_view() -> QuorumView:
            if self._read_storage_word(final, claim.slots[0]) == root:
                return final
            if self._read_storage_word(view, claim.slots[0]) == root:
                raise not_final_error(view.block.number)
            raise NotFound(
                f"{self._context.config.name} does not hold the root {root.hex()} of a log",
                code="not_committed",
                hint="anchor the log with `brain chain batch`",
            )

        return self._prover.capture(claim, final, find_view)

    def _root_claim(self, sender: str, root: bytes) -> StorageClaim:
        folder, name = self._prover.evidence_folder, f"{sender}-{root.hex()}.json"
        return StorageClaim(
            kind=KIND_ANCHOR,
            address=sender,
            slots=[storage_layout.anchor_slot(bytes.fromhex(sender[2:]))],
            document=storage_document(bytes(32), root, 1),
            path=folder / name,
            prepared_path=folder / "prepared" / name,
            stored_fields={},
        )

    def _read_storage_word(self, view: QuorumView, slot: bytes) -> bytes:
        """Return the word in a slot of the contract, zeros if there is no contract."""
        return self._context.nodes.ask_quorum(
            view,
            lambda answer: rpc_decode.decode_word(answer, "word of storage"),
            "eth_getStorageAt",
            self._context.config.contract,
            "0x" + slot.hex(),
            view.tag,
        )
