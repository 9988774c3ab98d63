"""Anchors: roots of logs in the contract, and evidence of them.

The contract stores one root for each account, and the next root replaces it. So the proof
of a root is prepared when it is anchored; it becomes evidence once its block is final.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from ...errors import BrainError, NotFound
from ..evidence import storage_layout
from ..evidence.evidence_model import (
    KIND_ANCHOR,
    CommittedSnapshot,
    EvidenceDocument,
    storage_claim,
)
from . import abi, rpc_decode
from .fees import Quote
from .ledger_context import LedgerContext
from .node_quorum import QuorumView
from .storage_prover import StorageProver, not_final_error, read_stored_proof, store_proof
from .tx_status import SentTransaction


class Anchors:
    """Anchors roots of logs in the contract of an EVM ledger, and proves them."""

    def __init__(self, context: LedgerContext, prover: StorageProver) -> None:
        self._context = context
        self._prover = prover

    def anchor(self, root: bytes, size: int) -> SentTransaction:
        """Anchor the root of a log of this account, 32 bytes, over `size` entries."""
        sent = self._context.transact("anchor", abi.anchor_calldata(root, size))
        if sent.block is not None:
            self._prepare_anchor(root)
        return sent

    def quote_anchor(self, root: bytes, size: int) -> Quote:
        """Return what `anchor` would cost, and send nothing."""
        return self._context.quote(abi.anchor_calldata(root, size))

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
        sender_address = sender.lower() or self._context.sender_address
        path = self._prover.evidence_folder / f"{sender_address}-{root.hex()}.json"
        claim = _root_claim(root)
        return read_stored_proof(path, claim) or self._capture_anchor(path, sender_address, root)

    def _capture_anchor(self, path: Path, sender_address: str, root: bytes) -> dict[str, Any]:
        view, claim = self._context.contract_view(), _root_claim(root)
        final = self._prover.final_view(view)
        promoted = self._prover.promote_prepared(
            self._prepared_anchor_path(sender_address, root), path, claim, final
        )
        if promoted is not None:
            return promoted
        slot = storage_layout.anchor_slot(bytes.fromhex(sender_address[2:]))
        if self._read_storage_word(final, slot) != root:
            self._refuse_missing_anchor(view, slot, root)
        proven = self._prover.prove_storage(final, KIND_ANCHOR, sender_address, [slot], claim)
        store_proof(path, {"chain": proven})
        return proven

    def _prepare_anchor(self, root: bytes) -> None:
        """Store the proof of a root that was just anchored, if a node gives one."""
        sender_address = self._context.sender_address
        slot = storage_layout.anchor_slot(bytes.fromhex(sender_address[2:]))
        with suppress(BrainError):
            chain = self._prover.prove_storage(
                self._context.contract_view(),
                KIND_ANCHOR,
                sender_address,
                [slot],
                _root_claim(root),
            )
            store_proof(self._prepared_anchor_path(sender_address, root), {"chain": chain})

    def _prepared_anchor_path(self, sender_address: str, root: bytes) -> Path:
        return self._prover.evidence_folder / "prepared" / f"{sender_address}-{root.hex()}.json"

    def _read_storage_word(self, view: QuorumView, slot: bytes) -> bytes:
        """Return the word in a slot of the contract, zeros if there is no contract."""

        def read(answer: Any) -> bytes:
            return rpc_decode.decode_word(answer, "word of storage")

        name = "0x" + slot.hex()
        params = ("eth_getStorageAt", self._context.config.contract, name, view.tag)
        return self._context.nodes.ask_quorum(view, read, *params)

    def _refuse_missing_anchor(self, view: QuorumView, slot: bytes, root: bytes) -> NoReturn:
        """Raise for a root that is not in the final state: `not_final` if it is in the latest."""
        if self._read_storage_word(view, slot) == root:
            raise not_final_error(view.block.number)
        raise NotFound(f"{self._context.config.name} does not hold this root", code="not_committed")


def _root_claim(root: bytes) -> EvidenceDocument:
    return storage_claim(bytes(32), CommittedSnapshot(root, None, 1))
