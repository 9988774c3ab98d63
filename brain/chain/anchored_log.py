"""A log that is anchored on a chain: one transaction for any number of brains.

An entry is proven in two steps: it is under the root of a checkpoint of the log, and the
contract stored that checkpoint at a block. The log only grows, so each checkpoint covers all
earlier entries.

A contract stores no size of a log, so the size is noted here: one JSON object per line in
`anchors.jsonl`, in the folder that all ledgers on chains share.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BrainError, InvalidInput, LedgerError, NotFound
from ..results import LogAnchor
from ..util import settings
from .evidence import offline_check
from .evm import durable_files
from .evm.anchors import Anchor, IncludedAnchor
from .evm.evm_ledger import EvmLedger
from .evm.fees import Quote
from .evm.tx_sender import SentTransaction
from .ledger_protocol import FINALIZED, INCLUDED, Commitment, Ledger, LedgerFault, LedgerHead
from .tlog import note
from .tlog.embedded_ledger import EmbeddedLedger
from .tlog.note import Checkpoint

ANCHORS_FILE = "anchors.jsonl"


class AnchorRecord(NamedTuple):
    """A root of the log `log`, over `size` entries, that `sender` anchored in `identity`."""

    identity: str
    log: str
    sender: str
    root: str
    size: int


def append_anchor_record(folder: Path, record: AnchorRecord) -> None:
    """Append a record to the file in `folder`, unless it is there; durable on return.

    The file is replaced as a whole, so a last line that was not written to its end is
    dropped. Raises as `read_anchor_records` does, and `StoreError`.
    """
    path = folder / ANCHORS_FILE
    with settings.exclusive_lock(path):
        records = read_anchor_records(folder)
        if record in records:
            return
        lines = [json.dumps(each._asdict()) + "\n" for each in (*records, record)]
        durable_files.write_durably(path, "".join(lines).encode())


def read_anchor_records(folder: Path) -> list[AnchorRecord]:
    """Return the records in `folder`, oldest first.

    A last line without a line feed was not written to its end, and is left out. Raises
    `BrainError` (`bad_ledger`) for any other line that is not a record.
    """
    try:
        lines = (folder / ANCHORS_FILE).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    try:
        return [AnchorRecord(**json.loads(line)) for line in lines[:-1]]
    except (ValueError, TypeError) as error:
        raise BrainError(
            f"a line of {folder / ANCHORS_FILE} is not the record of an anchor",
            code="bad_ledger",
            hint="move it away, and run `brain chain batch` again",
        ) from error


def anchor_log(log: EmbeddedLedger, chain: EvmLedger) -> LogAnchor:
    """Anchor the current checkpoint of a log on a chain, and record it in the chain's folder.

    A checkpoint that is anchored already is not sent again. Raises as `Anchors.anchor`, and
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
    anchor = _anchor_of(log, record)
    if chain.anchors.anchored_checkpoint(anchor.sender, anchor.log) == anchor.checkpoint:
        append_anchor_record(chain.folder, record)
        return _anchor_result(chain, record, _last_status(chain, anchor))
    sent = chain.anchors.anchor(anchor.log, anchor.checkpoint)
    append_anchor_record(chain.folder, record)
    return _anchor_result(chain, record, sent.status, sent)


def quote_log_anchor(log: EmbeddedLedger, chain: EvmLedger) -> Quote:
    """Return the cost of `anchor_log`, and send nothing."""
    return chain.anchors.quote_anchor(offline_check.log_id(log.key))


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


class _HeldAnchor(NamedTuple):
    """A recorded anchor of the log, and where the chain has it."""

    record: AnchorRecord
    included: IncludedAnchor


class AnchoredLog:
    """A read-only ledger: the entries of a log that its checkpoints on a chain cover.

    Raises what `EvmLedger` and `EmbeddedLedger` raise.
    """

    def __init__(self, log: EmbeddedLedger, chain: EvmLedger) -> None:
        self.name = chain.name
        self.identity = f"{chain.identity}:{log.identity}"
        self._log = log
        self._chain = chain
        self._cached_anchors: list[_HeldAnchor] | None = None

    def head(self, brain: bytes) -> LedgerHead | None:
        """Return the last commitment of a brain that the anchored log holds."""
        commitments = self.history(brain)
        if not commitments:
            return None
        return LedgerHead(commitments[-1].seq, commitments[-1].snapshot)

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
        """Return the commitments of a brain that an anchored checkpoint covers, oldest first.

        Each has the status of the first anchor that covers it.
        """
        anchors = self._anchors()
        commitments = []
        for commitment in self._log.history(brain):
            held = next((each for each in anchors if _covers(each, commitment)), None)
            if held is not None:
                commitments.append(
                    commitment._replace(
                        ledger=self.name,
                        identity=self.identity,
                        status=held.included.status,
                        transaction=held.included.transaction,
                        sender=held.record.sender,
                    )
                )
        return commitments

    def evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        """Return both parts: of the log at an anchored size, and of that anchor on the chain.

        The first anchor that covers the commitment and can be proven is used: each of them had
        its turn in the contract. Raises `LedgerError` (`not_final`, `not_proven`).
        """
        commitment = self.status(brain, snapshot)
        covering = [each for each in self._anchors() if _covers(each, commitment)]
        stored = [each for each in covering if self._chain.anchors.stored(self._anchor(each))]
        failure: BrainError | None = None
        for held in (*stored, *covering):
            try:
                chain_part = self._chain.anchors.evidence(self._anchor(held))
            except LedgerError as error:
                failure = failure or error
            else:
                log_part = self._log.evidence(brain, snapshot, held.record.size)
                return {**log_part, "chain": chain_part}
        assert failure is not None  # `status` found an anchor that covers it
        raise failure

    def trust_level(self, commitment: Commitment) -> str:
        """Return the level of the anchor, as of a commitment on the chain, or of the witnesses."""
        return max(self._anchor_trust(commitment), self._log.trust_level(commitment))

    def _anchor_trust(self, commitment: Commitment) -> str:
        """Return "L2" if several nodes call its anchor final and a proof is stored, else "L1"."""
        if self._chain.config.quorum < 2 or commitment.status != FINALIZED:
            return "L1"
        covering = [each for each in self._anchors() if _covers(each, commitment)]
        proven = any(self._chain.anchors.stored(self._anchor(each)) for each in covering)
        return "L2" if proven else "L1"

    def verify(self) -> list[LedgerFault]:
        """Check the contract, and compare the log with all anchored checkpoints."""
        older = [self._log.checkpoint(each.record.size) for each in self._anchors()]
        return [*self._chain.verify(), *self._log.verify(older)]

    def _anchors(self) -> list[_HeldAnchor]:
        """Return the anchors of the log on the chain, oldest first.

        The proof of the last one is prepared, and evidence of the last final one captured: later
        anchors replace them. Raises `LedgerError` (`log_forked`).
        """
        if self._cached_anchors is None:
            self._cached_anchors = self._read_anchors()
        return self._cached_anchors

    def _read_anchors(self) -> list[_HeldAnchor]:
        identities = (self._chain.identity, self._log.identity)
        records = {
            _anchor_of(self._log, record): record
            for record in read_anchor_records(self._chain.folder)
            if (record.identity, record.log) == identities
        }
        held = []
        for sender in dict.fromkeys(anchor.sender for anchor in records):
            log = offline_check.log_id(self._log.key)
            for included in self._chain.anchors.history(sender, log):
                record = records.get(Anchor(sender, log, included.checkpoint))
                if record is not None:
                    self._check_against_log(record)
                    held.append(_HeldAnchor(record, included))
        held.sort(key=lambda each: (each.included.block, each.record.size))
        self._keep_proofs(held)
        return held

    def _keep_proofs(self, held: list[_HeldAnchor]) -> None:
        final = [each for each in held if each.included.status == FINALIZED]
        for each in final[-1:]:
            with suppress(BrainError):  # evidence is asked for again when it is needed
                self._chain.anchors.evidence(self._anchor(each))
        for each in held[-1:]:
            if each.included.status != FINALIZED:
                self._chain.anchors.prepare(self._anchor(each))

    def _anchor(self, held: _HeldAnchor) -> Anchor:
        return _anchor_of(self._log, held.record)

    def _check_against_log(self, record: AnchorRecord) -> None:
        if _checkpoint_at(self._log, record.size).root.hex() != record.root:
            raise LedgerError(
                f"the log of this machine is not the one anchored in {self.name}",
                code="log_forked",
                hint="it was rolled back, or it is another log: restore its folder from a backup",
            )


def _covers(held: _HeldAnchor, commitment: Commitment) -> bool:
    return commitment.block is not None and commitment.block < held.record.size


def _anchor_of(log: EmbeddedLedger, record: AnchorRecord) -> Anchor:
    origin = note.parse_verifier_key(log.key).name
    text = Checkpoint(origin, record.size, bytes.fromhex(record.root)).text
    return Anchor(record.sender, offline_check.log_id(log.key), offline_check.checkpoint_hash(text))


def _checkpoint_at(log: EmbeddedLedger, size: int | None = None) -> Checkpoint:
    return note.parse_checkpoint(note.parse_note(log.checkpoint(size)).text)


def _last_status(chain: EvmLedger, anchor: Anchor) -> str:
    """Return the status of the anchor that the contract holds now."""
    anchors = chain.anchors.history(anchor.sender, anchor.log)
    held = [each for each in anchors if each.checkpoint == anchor.checkpoint]
    return held[-1].status if held else INCLUDED


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
