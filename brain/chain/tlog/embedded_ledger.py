"""The embedded ledger: a log in a folder of its own, for all brains of a user.

A log cannot prove by itself that its operator shows the same log to everybody. With the key,
the operator can copy the folder, or restore an old copy, and append different entries to
each; both histories are valid. Only readers with a checkpoint of the other one notice.
So a checkpoint binds the operator once it has left the machine: handed over, cosigned by a
witness, or anchored in a chain. The ledger itself detects a database that is missing, or that
is older than or differs from the last acknowledged state, and checkpoints that do not match.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from ...errors import Conflict, InvalidInput, NotFound, ProofError, VerificationFailed
from ..ledger_protocol import (
    FINALIZED,
    NO_PARENT,
    Commitment,
    CommitRequest,
    LedgerFault,
    LedgerHead,
    already_open_error,
    witness_trust,
)
from . import audit, log_store, note
from .log_store import IndexedEntry, LogReader, LogWriter, SignedCheckpoint
from .merkle import HASH_BYTES
from .note import MAX_TIME_MS, Cosignature


def now_ms() -> int:
    """Return the time, in ms since 1970, UTC."""
    return time.time_ns() // 1_000_000


class EmbeddedLedger:
    """A `Ledger` in `folder`, which the first commitment creates.

    A commitment is durable and final when it is returned. Reading never writes. Any number
    of processes may use one folder; an object is for one thread. `clock` returns ms since
    1970; `timeout` is how many seconds to wait for other writers; `kept` are checkpoints of it
    that were kept elsewhere, which `verify` compares. Every method may raise
    `StoreError`, for a damaged log with the code `bad_log` or `bad_store`, and
    `VerificationFailed` (`rolled_back`) for one whose database is gone.
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], int] = now_ms,
        name: str = "local",
        timeout: float = log_store.LOG_LOCK_SECONDS,
        kept: Sequence[str] = (),
    ) -> None:
        self._kept = kept
        self.name = name
        self._folder = folder
        self._clock = clock
        self._timeout = timeout
        self._log: LogReader | None = None
        self._seed = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; the next call opens them again."""
        if self._log is not None:
            self._log.close()
            self._log = None
            self._seed = b""

    @property
    def identity(self) -> str:
        """`tlog:` and the origin of the log; "" while there is none."""
        log = self._open_reader()
        return log.identity if log else ""

    @property
    def key(self) -> str:
        """The verifier key of the log; "" while there is none."""
        log = self._open_reader()
        return str(log.key) if log else ""

    def head(self, brain: bytes) -> LedgerHead | None:
        """See `Ledger.head`; a log has no owners."""
        log = self._open_reader()
        entry = log.head(brain) if log else None
        return LedgerHead(entry.seq, entry.snapshot) if entry else None

    def open(self, brain: bytes, snapshot: bytes) -> Commitment:
        """See `Ledger.open`."""
        if self.head(brain) is None:
            try:
                return self.commit(brain, snapshot, NO_PARENT)
            except Conflict as error:  # another process was faster
                raise already_open_error(self.name) from error
        raise already_open_error(self.name)

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        """See `Ledger.commit`. With the parent `NO_PARENT` it opens the brain."""
        return self.commit_many([CommitRequest(brain, snapshot, parent)])[0]

    def commit_many(self, requests: Sequence[CommitRequest]) -> list[Commitment]:
        """Record all requests in one transaction, or none; return their commitments in order.

        Several requests for one brain have to follow each other. Raises as `commit`.
        """
        if not requests:
            return []
        _check_requests(requests)
        log = self._open_writer()
        time_ms = min(max(self._clock(), 0), MAX_TIME_MS)
        return self._as_commitments(log, log.append(requests, time_ms, self._load_seed(log)))

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        """See `Ledger.status`; every recorded commitment is finalized."""
        log, entry = self._find_entry(brain, snapshot)
        return self._as_commitments(log, [entry])[0]

    def history(self, brain: bytes) -> list[Commitment]:
        """See `Ledger.history`."""
        log = self._open_reader()
        return self._as_commitments(log, log.history(brain)) if log else []

    def trust_level(self, commitment: Commitment) -> str:
        """Return "L0", "L1" if a witness cosigned the commitment, "L2" if several did."""
        log = self._open_reader()
        if log is None or commitment.block is None:
            return witness_trust(0)
        return witness_trust(log.count_witnesses(commitment.block + 1))

    def evidence(self, brain: bytes, snapshot: bytes, size: int | None = None) -> dict[str, Any]:
        """Return `log`, with the arguments of `note.verify_inclusion`, and no `chain`.

        The checkpoint is that of the first `size` entries; by default the last one that a
        witness cosigned, or else the last one. Raises `NotFound`
        (`not_committed`, `no_checkpoint`, `no_key`).
        """
        log, entry = self._find_entry(brain, snapshot)
        checkpoint_size = log.last_cosigned_size(entry.leaf_index + 1) if size is None else size
        return {
            "log": log_store.inclusion_evidence(
                log, entry, self._signed_checkpoint(log, checkpoint_size)
            ),
            "chain": None,
        }

    def checkpoint(self, size: int | None = None) -> str:
        """Return the signed checkpoint of the first `size` entries, or of all of them.

        It includes the stored cosignatures. Raises `NotFound`: `no_checkpoint` for a size
        that the log does not have, `no_key` if it has to be signed and the key is gone.
        """
        log = self._require_log()
        return log_store.checkpoint_note(log, self._signed_checkpoint(log, size))

    def add_cosignature(self, text: str, witnesses: Sequence[str]) -> list[Cosignature]:
        """Store the cosignatures of witnesses on a checkpoint of this log, and return them.

        `text` is the checkpoint with the lines of the witnesses; `witnesses` are verifier
        keys for cosignatures, and lines of other keys are ignored. Raises `ProofError` as
        `verify_checkpoint`, and `no_cosignature`; `VerificationFailed` (`rolled_back`,
        `log_forked`) if the log signed the checkpoint but does not hold it.
        """
        log = self._open_writer()
        state, _, cosignatures = note.verify_checkpoint(text, str(log.key), witnesses)
        log.refuse_rollback(state.size.to_bytes(8, "big") + state.root)
        if not cosignatures:
            raise ProofError(
                "none of the witnesses signed the checkpoint",
                code="no_cosignature",
                hint="compare the keys of the witnesses, or ask them to sign it",
            )
        log.store_cosignatures(note.parse_note(text), state, cosignatures)
        return list(cosignatures)

    def verify(self, older: Sequence[str] = ()) -> list[LedgerFault]:
        """Recompute and compare all hashes, and return the faults.

        `older` are checkpoints that were stored elsewhere, besides those kept. Reports damage,
        and whether the log was rolled back or forked since one of them, or since the state that
        was last acknowledged in this folder.
        """
        older = [*self._kept, *older]
        try:
            log = self._open_reader()
        except VerificationFailed as error:
            return [LedgerFault(error.code, error.message)]
        if log is not None:
            return audit.audit_log(log, self._folder, older)
        if older:
            return [LedgerFault("rolled_back", log_store.NO_LOG_HERE)]
        return []

    def _open_reader(self) -> LogReader | None:
        if self._log is None:
            db = log_store.open_log_readonly(self._folder, self._timeout)
            self._log = LogReader(db) if db else None
        return self._log

    def _require_log(self) -> LogReader:
        log = self._open_reader()
        if log is None:
            raise log_store.no_checkpoint_error(0)
        return log

    def _open_writer(self) -> LogWriter:
        if isinstance(self._log, LogWriter):
            return self._log
        self.close()
        log_store.create_log(self._folder, self._timeout)
        db = log_store.open_log_writable(self._folder, self._timeout)
        self._log = LogWriter(db, os.fspath(self._folder / log_store.LOG_DATABASE))
        return self._log

    def _load_seed(self, log: LogReader) -> bytes:
        if not self._seed:
            self._seed = log_store.load_log_key(self._folder, log)
        return self._seed

    def _signed_checkpoint(self, log: LogReader, size: int | None) -> SignedCheckpoint:
        last = log.last_checkpoint()
        if size is None or size == last.checkpoint.size:
            return last
        return log_store.signed_checkpoint_at(log, size, lambda: self._load_seed(log))

    def _find_entry(self, brain: bytes, snapshot: bytes) -> tuple[LogReader, IndexedEntry]:
        log = self._open_reader()
        entry = log.find_entry(brain, snapshot) if log else None
        if log is None or entry is None:
            raise NotFound(
                f"the log does not hold the snapshot {snapshot.hex()} of this brain",
                code="not_committed",
                hint="commit it first, with `brain chain commit`",
            )
        return log, entry

    def _as_commitments(self, log: LogReader, entries: Iterable[IndexedEntry]) -> list[Commitment]:
        name, identity = self.name, log.identity
        return [
            Commitment(
                ledger=name,
                identity=identity,
                brain=entry.brain,
                seq=entry.seq,
                snapshot=entry.snapshot,
                parent=entry.parent,
                status=FINALIZED,
                time=entry.time,
                block=entry.leaf_index,
            )
            for entry in entries
        ]


def _check_requests(requests: Sequence[CommitRequest]) -> None:
    for brain, snapshot, parent in requests:
        if not len(brain) == len(snapshot) == len(parent) == HASH_BYTES or snapshot == NO_PARENT:
            raise InvalidInput(
                "an id to commit does not have 32 bytes, or the snapshot is all zeros",
                code="bad_id",
                hint="commit a snapshot that `brain log` lists",
            )
