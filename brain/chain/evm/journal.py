"""The journal of the transactions that one key sends on one chain.

Each key of each chain has a folder, since a nonce belongs to both. It holds the lock of its
one writer and a file for each transaction, named by its nonce: in `open` while its status
may change, in `done` once its nonce is used in a final block. An abandoned transaction stays
in `open` too: some node may still have it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import Locked, StoreError
from ...store.writer import writer_lock
from ..ledger_protocol import FAILED, INCLUDED, PENDING, REPLACED
from . import durable_files
from .account import SignedTransaction
from .fees import Fees

LOCK_WAIT_SECONDS = 60.0
"""Seconds to wait for another process that sends with the same key."""
RECORD_SUFFIX = ".json"
JOURNAL_FORMAT = 1

ABANDONED = "abandoned"
"""The status of a pending transaction that is no longer wanted: its nonce may be reused."""
_STATE_OF_STATUS = {
    PENDING: "live",
    ABANDONED: "given up",
    INCLUDED: "done",
    FAILED: "failed",
    REPLACED: "replaced",
}
"""The field `state` in the file, by the status of the record."""
_STATUS_OF_STATE = {state: status for status, state in _STATE_OF_STATUS.items()}


class TxIntent(NamedTuple):
    """The purpose of a transaction: `kind` in one word; ids that do not apply are empty."""

    kind: str
    brain: bytes = b""
    snapshot: bytes = b""
    parent: bytes = b""


class TxAttempt(NamedTuple):
    """One signed form of a transaction, made at `block`; later attempts offer more."""

    hash: str
    raw: bytes
    fees: Fees
    data: bytes
    block: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TxRecord:
    """A transaction. `to` is "" for the creation of a contract; the last attempt offers most.

    An abandoned transaction that is replaced leaves its attempts to the new record, so
    `data` of an attempt may differ from that of the record.
    """

    nonce: int
    intent: TxIntent
    to: str
    data: bytes
    gas: int
    attempts: tuple[TxAttempt, ...]
    status: str = PENDING

    @property
    def last_attempt(self) -> TxAttempt:
        """The attempt that offers most."""
        return self.attempts[-1]

    def with_attempt(self, signed: SignedTransaction, fees: Fees, block: int) -> TxRecord:
        """Return the record with one more attempt."""
        attempt = TxAttempt(signed.hash, signed.raw, fees, self.data, block)
        return replace(self, attempts=(*self.attempts, attempt))

    def with_status(self, status: str) -> TxRecord:
        """Return the record with another status."""
        return replace(self, status=status)


class TxJournal:
    """The journal in `folder`, which is created by the lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """Keep other processes from sending with this key. Raises `Locked`."""
        with ExitStack() as stack:
            try:
                stack.enter_context(
                    writer_lock(durable_files.make_private_folder(self._folder), LOCK_WAIT_SECONDS)
                )
            except Locked as error:
                raise Locked(
                    f"another process sends transactions with the key of {self._folder.name}",
                    hint="wait until it is done, and try again",
                ) from error
            durable_files.make_private_folder(self._folder / "open")
            durable_files.make_private_folder(self._folder / "done")
            yield

    def write_record(self, record: TxRecord) -> None:
        """Write the record of a transaction, durably."""
        durable_files.write_durably(self._open_path(record.nonce), _encode_record(record))

    def settle_record(self, record: TxRecord) -> None:
        """Write the final record of a transaction, and move it to `done`."""
        self.write_record(record)
        durable_files.move_durably(self._open_path(record.nonce), self._done_path(record))

    def unsettled_records(self) -> list[TxRecord]:
        """Return the records in `open`, by their nonce."""
        folder = self._folder / "open"
        records = [
            self._read_record(folder / name)
            for name in durable_files.list_files(folder, RECORD_SUFFIX)
        ]
        return [record for record in records if record is not None]

    def find_record(self, brain: bytes, snapshot: bytes) -> TxRecord | None:
        """Return the last transaction to commit a snapshot, None if there is none.

        An abandoned one is returned only if there is no other.
        """
        matching = [
            record
            for record in self.unsettled_records()
            if record.intent.brain == brain and record.intent.snapshot == snapshot
        ]
        if matching:
            return max(matching, key=lambda record: (record.status != ABANDONED, record.nonce))
        folder = self._folder / "done"
        ending = f"-{_short_id(brain)}-{_short_id(snapshot)}{RECORD_SUFFIX}"
        names = durable_files.list_files(folder, ending)
        return self._read_record(folder / names[-1]) if names else None

    def read_again(self, record: TxRecord) -> TxRecord:
        """Return a record with the attempts that others have made for the same call since."""
        for path in (self._open_path(record.nonce), self._done_path(record)):
            found = self._read_record(path)
            if found is not None and (found.to, found.data) == (record.to, record.data):
                return found
        return record

    def _open_path(self, nonce: int) -> Path:
        return self._folder / "open" / f"{nonce:012}{RECORD_SUFFIX}"

    def _done_path(self, record: TxRecord) -> Path:
        intent = record.intent
        name = f"{record.nonce:012}-{_short_id(intent.brain)}-{_short_id(intent.snapshot)}"
        return self._folder / "done" / f"{name}{RECORD_SUFFIX}"

    def _read_record(self, path: Path) -> TxRecord | None:
        content = durable_files.read_if_exists(path)
        try:
            return None if content is None else _decode_record(json.loads(content))
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise StoreError(
                f"the record of a transaction in {path} is damaged",
                code="bad_journal",
                hint="restore it from a copy; the chain is not affected",
            ) from error


class TxJournals:
    """The journals of all keys on one chain, each in a folder named by its address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def journal(self, address: str) -> TxJournal:
        """Return the journal of a key."""
        return TxJournal(self._folder / address)

    def find_records(self, brain: bytes, snapshot: bytes) -> Iterator[tuple[str, TxRecord]]:
        """Yield the last transaction of each key to commit a snapshot, after its address."""
        for address in durable_files.list_files(self._folder, ""):
            record = self.journal(address).find_record(brain, snapshot)
            if record is not None:
                yield address, record


def _short_id(id: bytes) -> str:
    return id.hex()[:16]


def _encode_record(record: TxRecord) -> bytes:
    intent = record.intent
    fields = {
        "format": JOURNAL_FORMAT,
        "nonce": record.nonce,
        "state": _STATE_OF_STATUS[record.status],
        "kind": intent.kind,
        "brain": intent.brain.hex(),
        "snapshot": intent.snapshot.hex(),
        "parent": intent.parent.hex(),
        "to": record.to,
        "data": record.data.hex(),
        "gas": record.gas,
        "attempts": [
            {
                "hash": attempt.hash,
                "raw": attempt.raw.hex(),
                "max_fee": attempt.fees.max_fee,
                "tip": attempt.fees.tip,
                "data": attempt.data.hex(),
                "block": attempt.block,
            }
            for attempt in record.attempts
        ],
    }
    return json.dumps(fields, indent=1).encode() + b"\n"


def _decode_record(fields: dict[str, Any]) -> TxRecord:
    if fields["format"] != JOURNAL_FORMAT or not fields["attempts"]:
        raise ValueError
    ids = (bytes.fromhex(fields[name]) for name in ("brain", "snapshot", "parent"))
    return TxRecord(
        nonce=int(fields["nonce"]),
        intent=TxIntent(str(fields["kind"]), *ids),
        to=str(fields["to"]),
        data=bytes.fromhex(fields["data"]),
        gas=int(fields["gas"]),
        attempts=tuple(
            TxAttempt(
                str(attempt["hash"]),
                bytes.fromhex(attempt["raw"]),
                Fees(int(attempt["max_fee"]), int(attempt["tip"])),
                bytes.fromhex(attempt["data"]),
                int(attempt["block"]),
            )
            for attempt in fields["attempts"]
        ),
        status=_STATUS_OF_STATE[fields["state"]],
    )
