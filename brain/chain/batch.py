"""A log whose root is kept on a chain: one transaction for any number of brains.

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
from ..results import Anchored
from .evm.ledger import EvmLedger
from .protocol import FINALIZED, INCLUDED, Commitment, Fault, Ledger, LedgerHead
from .tlog import checkpoint, note
from .tlog.checkpoint import Checkpoint
from .tlog.ledger import EmbeddedLedger

_NOTES = "anchors.jsonl"


class Anchor(NamedTuple):
    """A root of a log that `sender` has kept in a contract, named as `identity` does."""

    identity: str
    log: str
    sender: str
    root: str
    size: int


def anchor(log: EmbeddedLedger, chain: EvmLedger) -> Anchored:
    """Keep the root that the log has now on a chain, and note it in the chain's folder.

    A root that is there already is not sent again. Raises as `EvmLedger.anchor`, and
    `NotFound` (`no_checkpoint`) for an empty log.
    """
    now = _state(log)
    sender = chain.sender
    made = Anchor(chain.identity, log.identity, sender, now.root.hex(), now.size)
    if chain.anchored(sender) == now.root:
        _keep(chain.folder, made)
        return _told(chain, made, _status(chain, made))
    sent = chain.anchor(now.root, now.size)
    _keep(chain.folder, made)
    return _told(chain, made, sent.status)._replace(
        transaction=sent.transaction, block=sent.block, gas=sent.gas, fee=sent.fee
    )


def holding(brain: bytes, chain: EvmLedger, log: EmbeddedLedger) -> Ledger:
    """Return what holds a brain on a chain: the contract itself, or a log anchored in it."""
    noted = any(one.identity == chain.identity for one in _notes(chain.folder))
    if not noted or _may_hold(chain, brain):
        return chain
    anchored = AnchoredLog(log, chain)
    return anchored if _may_hold(anchored, brain) else chain


def _may_hold(ledger: Ledger, brain: bytes) -> bool:
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
        self._found: Anchor | None = None

    def head(self, brain: bytes) -> LedgerHead | None:
        """Return the last commitment of a brain that the anchored log holds."""
        held = self.history(brain)
        return LedgerHead(held[-1].seq, held[-1].snapshot, "", "") if held else None

    def open(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Raise `InvalidInput` (`only_batches`)."""
        raise _only_batches(self.name)

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        """Raise `InvalidInput` (`only_batches`)."""
        raise _only_batches(self.name)

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
        last = self._last()
        if last is None:
            return []
        status = _status(self._chain, last)
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
        last = self._last()
        assert last is not None  # or there were no such commitment
        part = self._log.evidence(brain, snapshot, last.size)
        chain = self._chain.anchor_evidence(bytes.fromhex(last.root), last.sender)
        return {**part, "chain": chain}

    def trust_level(self, commitment: Commitment) -> str:
        """Return that of the chain, which vouches for the log."""
        return self._chain.trust_level(commitment)

    def verify(self) -> list[Fault]:
        """Check the contract, and the log against the root that is kept."""
        last = self._last()
        older = [self._log.checkpoint(last.size)] if last else []
        return [*self._chain.verify(), *self._log.verify(older)]

    def _last(self) -> Anchor | None:
        """Return the anchor that the chain holds now. Raises `LedgerError` (`log_forked`)."""
        if self._found is None:
            self._found = self._looked_up()
        return self._found

    def _looked_up(self) -> Anchor | None:
        mine = (self._chain.identity, self._log.identity)
        noted = [one for one in _notes(self._chain.folder) if (one.identity, one.log) == mine]
        for sender in dict.fromkeys(one.sender for one in reversed(noted)):
            root = self._chain.anchored(sender).hex()
            for one in noted:
                if (one.sender, one.root) == (sender, root):
                    self._hold_against_log(one)
                    return one
        return None

    def _hold_against_log(self, one: Anchor) -> None:
        if _state(self._log, one.size).root.hex() != one.root:
            raise LedgerError(
                f"the log of this machine is not the one anchored in {self.name}",
                code="log_forked",
                hint="it was rolled back, or is another one: bring the right one back",
            )


def _state(log: EmbeddedLedger, size: int | None = None) -> Checkpoint:
    return checkpoint.parse(note.parse(log.checkpoint(size)).text)


def _status(chain: EvmLedger, made: Anchor) -> str:
    """Return how final an anchor is: evidence of it can be had once it is."""
    try:
        chain.anchor_evidence(bytes.fromhex(made.root), made.sender)
    except LedgerError as error:
        if error.code == "not_final":
            return INCLUDED
        raise
    return FINALIZED


def _told(chain: EvmLedger, made: Anchor, status: str) -> Anchored:
    return Anchored(
        chain.name, chain.identity, made.root, made.size, status, None, None, None, None
    )


def _keep(folder: Path, made: Anchor) -> None:
    """Note an anchor, durably."""
    if made in _notes(folder):
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    handle = os.open(folder / _NOTES, flags, 0o600)
    try:
        os.write(handle, json.dumps(made._asdict()).encode() + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def _notes(folder: Path) -> list[Anchor]:
    """Return the anchors noted in `folder`, the first first; half a line at the end is none."""
    try:
        lines = (folder / _NOTES).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    out = []
    for line in lines[:-1]:
        try:
            out.append(Anchor(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise BrainError(
                f"{folder / _NOTES} is damaged",
                code="bad_ledger",
                hint="move it away, and run `brain chain batch` again",
            ) from error
    return out


def _only_batches(name: str) -> InvalidInput:
    return InvalidInput(
        f"this brain is in {name} by a log that is anchored there",
        code="only_batches",
        hint=f"commit it with `brain chain batch --ledger {name}`, or open it there by itself",
    )
