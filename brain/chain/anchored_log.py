"""A log whose root is anchored on a chain: one transaction for any number of brains.

An entry is proven in two steps: it is under the root of the log, and the contract stores
that root at a block. The log only grows, so its newest root covers all earlier entries.
"""

from __future__ import annotations

from typing import Any

from ..errors import BrainError, InvalidInput, LedgerError, NotFound
from ..results import LogAnchor
from .anchor_records import AnchorRecord, append_anchor_record, read_anchor_records
from .evm.evm_ledger import EvmLedger
from .evm.tx_status import SentTransaction
from .ledger_protocol import FINALIZED, INCLUDED, Commitment, Ledger, LedgerFault, LedgerHead
from .tlog import checkpoints, signed_note
from .tlog.checkpoints import Checkpoint
from .tlog.embedded_ledger import EmbeddedLedger


def anchor_log(log: EmbeddedLedger, chain: EvmLedger) -> LogAnchor:
    """Anchor the current root of a log on a chain, and record it in the chain's folder.

    A root that is anchored already is not sent again. Raises as `Anchors.anchor`, and
    `NotFound` (`no_checkpoint`) for an empty log.
    """
    checkpoint = _checkpoint_at(log)
    record = AnchorRecord(
        identity=chain.identity,
        log=log.identity,
        sender=chain.sender,
        root=checkpoint.root.hex(),
        size=checkpoint.size,
    )
    if chain.anchors.anchored_root(record.sender) == checkpoint.root:
        append_anchor_record(chain.folder, record)
        return _anchor_result(chain, record, _anchor_status(chain, record))
    sent = chain.anchors.anchor(checkpoint.root, checkpoint.size)
    append_anchor_record(chain.folder, record)
    return _anchor_result(chain, record, sent.status, sent)


def find_holding_ledger(brain: bytes, chain: EvmLedger, log: EmbeddedLedger) -> Ledger:
    """Return the ledger that holds a brain on a chain: the contract, or a log anchored in it."""
    records = read_anchor_records(chain.folder)
    is_anchored = any(record.identity == chain.identity for record in records)
    if not is_anchored or _may_hold_brain(chain, brain):
        return chain
    anchored = AnchoredLog(log, chain)
    return anchored if _may_hold_brain(anchored, brain) else chain


def _may_hold_brain(ledger: Ledger, brain: bytes) -> bool:
    try:
        return ledger.head(brain) is not None
    except BrainError:
        return True  # the next call to this ledger raises the error


class AnchoredLog:
    """A read-only ledger: the entries of a log that its root on a chain covers.

    Raises what `EvmLedger` and `EmbeddedLedger` raise.
    """

    def __init__(self, log: EmbeddedLedger, chain: EvmLedger) -> None:
        self.name = chain.name
        self.identity = f"{chain.identity}:{log.identity}"
        self._log = log
        self._chain = chain
        self._cached_anchor: AnchorRecord | None = None

    def head(self, brain: bytes) -> LedgerHead | None:
        """Return the last commitment of a brain that the anchored log holds."""
        commitments = self.history(brain)
        if not commitments:
            return None
        return LedgerHead(commitments[-1].seq, commitments[-1].snapshot, "", "")

    def open(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Raise `InvalidInput` (`only_batches`)."""
        raise _only_batches_error(self.name)

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        """Raise `InvalidInput` (`only_batches`)."""
        raise _only_batches_error(self.name)

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Return a commitment with the status of the anchor."""
        for commitment in self.history(brain):
            if commitment.snapshot == snapshot:
                return commitment
        raise NotFound(
            f"the log anchored in {self.name} does not hold the snapshot {snapshot.hex()[:12]}",
            code="not_committed",
            hint=f"anchor it again with `brain chain batch --ledger {self.name}`",
        )

    def history(self, brain: bytes) -> list[Commitment]:
        """Return the commitments of a brain that the anchored log holds, oldest first."""
        anchor = self._latest_anchor()
        if anchor is None:
            return []
        status = _anchor_status(self._chain, anchor)
        return [
            commitment._replace(
                ledger=self.name, identity=self.identity, status=status, sender=anchor.sender
            )
            for commitment in self._log.history(brain)
            if commitment.block is not None and commitment.block < anchor.size
        ]

    def evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        """Return both parts: of the log at the anchored size, and of the anchor on the chain."""
        self.status(brain, snapshot)
        anchor = self._latest_anchor()
        assert anchor is not None  # else `status` raises
        log_part = self._log.evidence(brain, snapshot, anchor.size)
        chain_part = self._chain.anchors.anchor_evidence(bytes.fromhex(anchor.root), anchor.sender)
        return {**log_part, "chain": chain_part}

    def trust_level(self, commitment: Commitment) -> str:
        """Return the trust level of the chain, which fixes the log."""
        return self._chain.trust_level(commitment)

    def verify(self) -> list[LedgerFault]:
        """Check the contract, and compare the log with the anchored root."""
        anchor = self._latest_anchor()
        older = [self._log.checkpoint(anchor.size)] if anchor else []
        return [*self._chain.verify(), *self._log.verify(older)]

    def _latest_anchor(self) -> AnchorRecord | None:
        """Return the anchor that the chain holds now. Raises `LedgerError` (`log_forked`)."""
        if self._cached_anchor is None:
            self._cached_anchor = self._find_anchor()
        return self._cached_anchor

    def _find_anchor(self) -> AnchorRecord | None:
        identities = (self._chain.identity, self._log.identity)
        records = [
            record
            for record in read_anchor_records(self._chain.folder)
            if (record.identity, record.log) == identities
        ]
        for sender in dict.fromkeys(record.sender for record in reversed(records)):
            root = self._chain.anchors.anchored_root(sender).hex()
            for record in records:
                if (record.sender, record.root) == (sender, root):
                    self._check_against_log(record)
                    return record
        return None

    def _check_against_log(self, record: AnchorRecord) -> None:
        if _checkpoint_at(self._log, record.size).root.hex() != record.root:
            raise LedgerError(
                f"the log of this machine is not the one anchored in {self.name}",
                code="log_forked",
                hint="it was rolled back, or it is another log: restore its folder from a backup",
            )


def _checkpoint_at(log: EmbeddedLedger, size: int | None = None) -> Checkpoint:
    return checkpoints.parse_checkpoint(signed_note.parse_note(log.checkpoint(size)).text)


def _anchor_status(chain: EvmLedger, record: AnchorRecord) -> str:
    """Return how final an anchor is: the chain gives evidence of it only once it is final."""
    try:
        chain.anchors.anchor_evidence(bytes.fromhex(record.root), record.sender)
    except LedgerError as error:
        if error.code == "not_final":
            return INCLUDED
        raise
    return FINALIZED


def _anchor_result(
    chain: EvmLedger, record: AnchorRecord, status: str, sent: SentTransaction | None = None
) -> LogAnchor:
    return LogAnchor(
        ledger=chain.name,
        identity=chain.identity,
        root=record.root,
        size=record.size,
        status=status,
        transaction=sent.transaction if sent else None,
        block=sent.block if sent else None,
        gas=sent.gas if sent else None,
        fee=sent.fee if sent else None,
    )


def _only_batches_error(name: str) -> InvalidInput:
    return InvalidInput(
        f"this brain is in {name} only by the log of this machine, which is anchored there",
        code="only_batches",
        hint=f"commit it with `brain chain batch --ledger {name}`, or open it there by itself",
    )
