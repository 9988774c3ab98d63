"""A log whose root is anchored on a chain: one transaction for any number of brains.

What the log holds is then shown by two steps: an entry of it is under the root, and the
root is in the contract's storage, at a block. The root kept last covers all that the
earlier ones did, since the log only grows. Which size of the log had that root is noted
in a file beside what the ledgers keep, a line of JSON an anchor.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BrainError, InvalidInput, LedgerError, NotFound
from ..results import LogAnchor
from .evm.evm_ledger import EvmLedger
from .ledger_protocol import FINALIZED, INCLUDED, Commitment, Ledger, LedgerFault, LedgerHead
from .tlog import checkpoints, signed_note
from .tlog.checkpoints import Checkpoint
from .tlog.embedded_ledger import EmbeddedLedger

_ANCHORS_FILE = "anchors.jsonl"


class AnchorRecord(NamedTuple):
    """A root of a log that `sender` has kept in a contract, named as `identity` does."""

    identity: str
    log: str
    sender: str
    root: str
    size: int


def anchor_log(log: EmbeddedLedger, chain: EvmLedger) -> LogAnchor:
    """Keep the root that the log has now on a chain, and note it in the chain's folder.

    A root that is there already is not sent again. Raises as `EvmLedger.anchor`, and
    `NotFound` (`no_checkpoint`) for an empty log.
    """
    now = _checkpoint_at(log)
    sender = chain.sender
    record = AnchorRecord(chain.identity, log.identity, sender, now.root.hex(), now.size)
    if chain.anchored_root(sender) == now.root:
        _append_anchor_record(chain.folder, record)
        return _anchored_result(chain, record, _anchor_status(chain, record))
    sent = chain.anchor(now.root, now.size)
    _append_anchor_record(chain.folder, record)
    return _anchored_result(chain, record, sent.status)._replace(
        transaction=sent.transaction, block=sent.block, gas=sent.gas, fee=sent.fee
    )


def find_holding_ledger(brain: bytes, chain: EvmLedger, log: EmbeddedLedger) -> Ledger:
    """Return what holds a brain on a chain: the contract itself, or a log anchored in it."""
    noted = any(one.identity == chain.identity for one in _read_anchor_records(chain.folder))
    if not noted or _may_hold_brain(chain, brain):
        return chain
    anchored = AnchoredLog(log, chain)
    return anchored if _may_hold_brain(anchored, brain) else chain


def _may_hold_brain(ledger: Ledger, brain: bytes) -> bool:
    try:
        return ledger.head(brain) is not None
    except BrainError:
        return True  # who asks it next is told why


class AnchoredLog:
    """A ledger to be read: what a log held when its root was last kept on a chain.

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
        return (
            LedgerHead(commitments[-1].seq, commitments[-1].snapshot, "", "")
            if commitments
            else None
        )

    def open(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Raise `InvalidInput` (`only_batches`)."""
        raise _only_batches_error(self.name)

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        """Raise `InvalidInput` (`only_batches`)."""
        raise _only_batches_error(self.name)

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Return a commitment, as final as the anchor is."""
        for one in self.history(brain):
            if one.snapshot == snapshot:
                return one
        raise NotFound(
            f"the log anchored in {self.name} does not hold {snapshot.hex()[:12]}",
            code="not_committed",
            hint=f"anchor it again with `brain chain batch --ledger {self.name}`",
        )

    def history(self, brain: bytes) -> list[Commitment]:
        """Return the commitments of a brain that the anchored log holds."""
        last = self._latest_anchor()
        if last is None:
            return []
        status = _anchor_status(self._chain, last)
        return [
            one._replace(
                ledger=self.name, identity=self.identity, status=status, sender=last.sender
            )
            for one in self._log.history(brain)
            if one.block is not None and one.block < last.size
        ]

    def evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        """Return both parts: of the log at the anchored size, and of the anchor on the chain."""
        self.status(brain, snapshot)
        last = self._latest_anchor()
        assert last is not None  # or there were no such commitment
        part = self._log.evidence(brain, snapshot, last.size)
        chain = self._chain.anchor_evidence(bytes.fromhex(last.root), last.sender)
        return {**part, "chain": chain}

    def trust_level(self, commitment: Commitment) -> str:
        """Return that of the chain, which vouches for the log."""
        return self._chain.trust_level(commitment)

    def verify(self) -> list[LedgerFault]:
        """Check the contract, and the log against the root that is kept."""
        last = self._latest_anchor()
        older = [self._log.checkpoint(last.size)] if last else []
        return [*self._chain.verify(), *self._log.verify(older)]

    def _latest_anchor(self) -> AnchorRecord | None:
        """Return the anchor that the chain holds now. Raises `LedgerError` (`log_forked`)."""
        if self._cached_anchor is None:
            self._cached_anchor = self._find_anchor()
        return self._cached_anchor

    def _find_anchor(self) -> AnchorRecord | None:
        identities = (self._chain.identity, self._log.identity)
        noted = [
            one
            for one in _read_anchor_records(self._chain.folder)
            if (one.identity, one.log) == identities
        ]
        for sender in dict.fromkeys(one.sender for one in reversed(noted)):
            root = self._chain.anchored_root(sender).hex()
            for one in noted:
                if (one.sender, one.root) == (sender, root):
                    self._check_against_log(one)
                    return one
        return None

    def _check_against_log(self, one: AnchorRecord) -> None:
        if _checkpoint_at(self._log, one.size).root.hex() != one.root:
            raise LedgerError(
                f"the log of this machine is not the one anchored in {self.name}",
                code="log_forked",
                hint="it was rolled back, or is another one: bring the right one back",
            )


def _checkpoint_at(log: EmbeddedLedger, size: int | None = None) -> Checkpoint:
    return checkpoints.parse_checkpoint(signed_note.parse_note(log.checkpoint(size)).text)


def _anchor_status(chain: EvmLedger, record: AnchorRecord) -> str:
    """Return how final an anchor is: evidence of it can be had once it is."""
    try:
        chain.anchor_evidence(bytes.fromhex(record.root), record.sender)
    except LedgerError as error:
        if error.code == "not_final":
            return INCLUDED
        raise
    return FINALIZED


def _anchored_result(chain: EvmLedger, record: AnchorRecord, status: str) -> LogAnchor:
    return LogAnchor(
        chain.name, chain.identity, record.root, record.size, status, None, None, None, None
    )


def _append_anchor_record(folder: Path, record: AnchorRecord) -> None:
    """Note an anchor, durably."""
    if record in _read_anchor_records(folder):
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    handle = os.open(folder / _ANCHORS_FILE, flags, 0o600)
    try:
        os.write(handle, json.dumps(record._asdict()).encode() + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def _read_anchor_records(folder: Path) -> list[AnchorRecord]:
    """Return the anchors noted in `folder`, the first first; half a line at the end is none."""
    try:
        lines = (folder / _ANCHORS_FILE).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    out = []
    for line in lines[:-1]:
        try:
            out.append(AnchorRecord(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise BrainError(
                f"{folder / _ANCHORS_FILE} is damaged",
                code="bad_ledger",
                hint="move it away, and run `brain chain batch` again",
            ) from error
    return out


def _only_batches_error(name: str) -> InvalidInput:
    return InvalidInput(
        f"this brain is in {name} by a log that is anchored there",
        code="only_batches",
        hint=f"commit it with `brain chain batch --ledger {name}`, or open it there by itself",
    )
