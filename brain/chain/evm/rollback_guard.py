"""Remembers the highest commitment seen of each brain, and detects a rollback of the ledger.

A reorganisation may take back a commitment that is not final; then the block in which it was
seen is gone too. A lower commitment is a rollback if the block is still on the chain, or if
the higher commitment was final.

One node that lies can make it note what never was. So before it raises the alarm, it asks for
a proof of what the brain had in the noted block; what the hash of that block disproves is
forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import BrainError, LedgerError, VerificationFailed
from ..evidence import evidence_format, offline_check
from ..evidence.evidence_model import KIND_BRAIN, require_evidence
from ..ledger_protocol import LedgerHead
from . import durable_files
from .abi import ZERO_ADDRESS
from .nodes import NodeQuorum, QuorumView
from .registry import BlockProofs, ProofRequest


class ObservedHead(NamedTuple):
    """The head of a brain at a block; `final` if that commitment was seen as final."""

    seq: int
    snapshot: str
    block: int
    hash: str
    final: bool


class RollbackGuard:
    """The highest commitments seen in one ledger: a file for each brain, in `folder`."""

    def __init__(self, folder: Path, nodes: NodeQuorum, proofs: BlockProofs) -> None:
        self._folder = folder
        self._nodes = nodes
        self._proofs = proofs

    def check_head(self, view: QuorumView, id: bytes, head: LedgerHead | None) -> None:
        """Compare a head with the highest one seen, and store it if it is higher.

        Raises `VerificationFailed` (`rolled_back`).
        """
        observed = self._read_observed(id)
        seq, snapshot = (head.seq, head.snapshot.hex()) if head else (0, "")
        if observed and (seq, snapshot) == (observed.seq, observed.snapshot):
            return
        if observed and seq <= observed.seq and self._contradicts(observed, id):
            raise VerificationFailed(
                f"commitment {observed.seq} of this brain was seen at block {observed.block}, "
                f"and now the ledger is at {seq}",
                code="rolled_back",
                hint="a node lies or lags, or the chain was rolled back; use other nodes",
            )
        if head:
            self._write_observed(
                id, ObservedHead(seq, snapshot, view.block.number, view.block.hash, False)
            )

    def mark_final(self, id: bytes, seq: int) -> None:
        """Store that a commitment is final."""
        observed = self._read_observed(id)
        if observed and observed.seq == seq and not observed.final:
            self._write_observed(id, observed._replace(final=True))

    def _contradicts(self, observed: ObservedHead, id: bytes) -> bool:
        """Tell whether the chain must not be behind a head that was seen."""
        view = self._nodes.view_at_number(observed.block)
        if view is None or view.block.hash != observed.hash:
            return observed.final
        return not self._is_disproven(observed, id, view)

    def _is_disproven(self, observed: ObservedHead, id: bytes, view: QuorumView) -> bool:
        """Tell whether a proof shows that the brain was not that far at the block of a view."""

        def check(fields: Mapping[str, Any]) -> None:
            part = evidence_format.parse_chain_part(fields)
            head = offline_check.read_brain(part, id, bytes.fromhex(view.block.hash[2:]))
            proven = (head.seq, head.snapshot.hex()) if head else (0, "")
            differs = proven != (observed.seq, observed.snapshot)
            require_evidence(differs, "wrong_head", "the brain had that head")

        slots = offline_check.brain_slots(id)
        try:
            self._proofs.prove(view, ProofRequest(KIND_BRAIN, ZERO_ADDRESS, slots), check)
        except LedgerError:
            return False
        return True

    def _read_observed(self, id: bytes) -> ObservedHead | None:
        content = durable_files.read_if_exists(self._observed_path(id))
        with suppress(ValueError, TypeError):
            return ObservedHead(**json.loads(content)) if content else None
        return None

    def _write_observed(self, id: bytes, observed: ObservedHead) -> None:
        with suppress(BrainError):  # a user without write access may still read the ledger
            durable_files.make_private_folder(self._folder)
            durable_files.write_durably(
                self._observed_path(id), json.dumps(observed._asdict()).encode() + b"\n"
            )

    def _observed_path(self, id: bytes) -> Path:
        return self._folder / f"{id.hex()}.json"
