"""Anchors: checkpoints of logs in the contract, and evidence of them.

The contract stores one checkpoint for each account and log, and the next one replaces it. Its
events have all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import LedgerError, NotFound
from ..evidence import offline_check
from ..evidence.evidence_model import KIND_ANCHOR
from ..evidence.offline_check import AnchorClaim
from . import abi
from .abi import AnchoredEvent
from .fees import Quote
from .ledger_context import LedgerContext
from .nodes import QuorumView
from .proofs import StorageClaim, StorageProver, not_final_error, read_stored_proof
from .registry import not_proven_error
from .tx_sender import SentTransaction

_ANY_CHECKPOINT = b"\xff" * 32


class Anchor(NamedTuple):
    """A checkpoint of a log that the account `sender` anchors.

    `log` and `checkpoint` are 32 bytes: `log_id` and `checkpoint_hash` of `offline_check`.
    """

    sender: str
    log: bytes
    checkpoint: bytes


class IncludedAnchor(NamedTuple):
    """An anchor in a block; `status` is included, safe or finalized."""

    checkpoint: bytes
    block: int
    transaction: str
    status: str


class Anchors:
    """Anchors checkpoints of logs in the contract of an EVM ledger, and proves them."""

    def __init__(self, context: LedgerContext, prover: StorageProver) -> None:
        self._context = context
        self._prover = prover

    def anchor(self, log: bytes, checkpoint: bytes) -> SentTransaction:
        """Anchor a checkpoint of a log with this account; see `Anchor`."""
        sent = self._context.transact("anchor", _anchor_calldata(log, checkpoint))
        if sent.block is not None:
            self.prepare(Anchor(self._context.sender_address, log, checkpoint))
        return sent

    def quote_anchor(self, log: bytes) -> Quote:
        """Return the cost of an anchor of a log, and send nothing."""
        return self._context.quote(_anchor_calldata(log, _ANY_CHECKPOINT))

    def anchored_checkpoint(self, sender: str, log: bytes) -> bytes:
        """Return the last anchored checkpoint of an account and a log, 32 zero bytes for none."""
        view = self._context.contract_view()
        self._context.registry.check_code(view)
        return self._context.registry.anchored_checkpoint(view, abi.parse_address(sender), log)

    def history(self, sender: str, log: bytes) -> list[IncludedAnchor]:
        """Return all anchors of an account and a log that are in blocks, oldest first."""
        view = self._context.contract_view()
        self._context.registry.check_code(view)
        finality = self._context.nodes.finality_bounds(view)
        return [
            IncludedAnchor(
                event.checkpoint, event.block, event.transaction, finality.status(event.block)
            )
            for event in self._context.events.find_anchored(view, sender, log)
        ]

    def prepare(self, anchor: Anchor) -> None:
        """Store a proof of an anchor that the contract holds now, if a node gives one."""
        claim = self._storage_claim(anchor)
        if not self.has_proof(anchor):
            self._prover.prepare(claim, self._context.contract_view())

    def has_proof(self, anchor: Anchor) -> bool:
        """Tell whether a proof of an anchor is stored, be its block final or not."""
        claim = self._storage_claim(anchor)
        return any(
            read_stored_proof(path, claim.claim) is not None
            for path in (claim.path, claim.prepared_path)
        )

    def stored(self, anchor: Anchor) -> dict[str, Any] | None:
        """Return the stored field `chain` of evidence, None if there is none that holds."""
        claim = self._storage_claim(anchor)
        return read_stored_proof(claim.path, claim.claim)

    def evidence(self, anchor: Anchor) -> dict[str, Any]:
        """Return the field `chain` of evidence of an anchor.

        Raises `NotFound` (`not_committed`), `LedgerError` (`not_final`, `not_proven`).
        """
        return self.stored(anchor) or self._capture(anchor)

    def _capture(self, anchor: Anchor) -> dict[str, Any]:
        view = self._context.contract_view()
        final = self._prover.final_view(view)

        def find_view() -> QuorumView:
            events = self._context.events.find_anchored(view, anchor.sender, anchor.log)
            return self._last_view_held(events, anchor, final)

        return self._prover.capture(self._storage_claim(anchor), final, find_view)

    def _last_view_held(
        self, events: Sequence[AnchoredEvent], anchor: Anchor, final: QuorumView
    ) -> QuorumView:
        """Return the last final block whose state holds an anchor."""
        error: LedgerError | NotFound = NotFound(
            f"{self._context.config.name} does not hold the checkpoint of the log",
            code="not_committed",
            hint="anchor the log with `brain chain batch`",
        )
        for number, event in enumerate(events, 1):
            follower = events[number].block if number < len(events) else final.block.number + 1
            if event.checkpoint != anchor.checkpoint:
                continue
            if event.block > final.block.number:
                error = not_final_error(event.block)
            elif follower == event.block:
                error = not_proven_error("the next anchor followed in the same block")
            else:
                last = min(follower - 1, final.block.number)
                held = final if last == final.block.number else None
                held = held or self._context.nodes.view_at_number(last)
                if held is not None:
                    return held
        raise error

    def _storage_claim(self, anchor: Anchor) -> StorageClaim:
        claim = AnchorClaim(anchor.log, anchor.checkpoint)
        folder = self._prover.evidence_folder
        name = f"{anchor.sender}-{anchor.log.hex()[:16]}-{anchor.checkpoint.hex()}.json"
        return StorageClaim(
            kind=KIND_ANCHOR,
            address=anchor.sender,
            slots=offline_check.claimed_slots(bytes.fromhex(anchor.sender[2:]), claim),
            claim=claim,
            path=folder / name,
            prepared_path=folder / "prepared" / name,
            stored_fields={},
        )


def _anchor_calldata(log: bytes, checkpoint: bytes) -> bytes:
    return abi.encode_call(abi.ANCHOR_SELECTOR, log, checkpoint)
