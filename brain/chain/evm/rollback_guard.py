"""Remembers the highest commitment seen of each brain, and detects a rollback of the ledger.

A reorganisation may take back a commitment that is not final; then the block in which it was
seen is gone too. A lower commitment is a rollback if the block is still on the chain, or if
the higher commitment was final.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...errors import BrainError, VerificationFailed
from ..ledger_protocol import LedgerHead
from . import durable_files
from .node_quorum import NodeQuorum, QuorumView


class ObservedHead(NamedTuple):
    """The head of a brain at a block; `final` if that commitment was seen as final."""

    seq: int
    snapshot: str
    block: int
    hash: str
    final: bool


class RollbackGuard:
    """The highest commitments seen in one ledger: a file for each brain, in `folder`."""

    def __init__(self, folder: Path, nodes: NodeQuorum) -> None:
        self._folder = folder
        self._nodes = nodes

    def check_head(self, view: QuorumView, id: bytes, head: LedgerHead | None) -> None:
        """Compare a head with the highest one seen, and store it if it is higher.

        Raises `VerificationFailed` (`rolled_back`).
        """
        observed = self._read_observed(id)
        seq, snapshot = (head.seq, head.snapshot.hex()) if head else (0, "")
        if observed and (seq, snapshot) == (observed.seq, observed.snapshot):
            return
        if observed and seq <= observed.seq and (observed.final or self._is_on_chain(observed)):
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

    def _is_on_chain(self, observed: ObservedHead) -> bool:
        view = self._nodes.view_at_number(observed.block)
        return view is not None and view.block.hash == observed.hash

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
