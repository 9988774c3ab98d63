"""The transactions that one key has sent on one chain, written down before they are sent.

A folder for each key of each chain, since a nonce belongs to the two: it holds the lock
of its one writer, and a file for each transaction, named by its nonce. Those that may
still change are in `open`; what the chain has made final goes to `done`. A transaction
that was given up stays until its nonce is used: it may still wait at some node.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import Locked, StoreError
from ...store.writer_lock import writer_lock
from . import durable_files
from .account import SignedTransaction
from .fees import Fees

LOCK_WAIT_SECONDS = 60.0
"""Seconds to wait for another process that sends with the same key."""
RECORD_SUFFIX = ".json"
JOURNAL_FORMAT = 1

TX_LIVE = "live"
TX_ABANDONED = "given up"
TX_DONE = "done"
TX_FAILED = "failed"
TX_REPLACED = "replaced"


class TxIntent(NamedTuple):
    """What a transaction is for: `kind` in one word; the ids are empty where they mean nothing."""

    kind: str
    brain: bytes = b""
    snapshot: bytes = b""
    parent: bytes = b""


class TxAttempt(NamedTuple):
    """One signed form of a transaction, made at a block; later ones offer more, or are for
    something else."""

    hash: str
    raw: bytes
    fees: Fees
    data: bytes
    block: int


class TxRecord(NamedTuple):
    """A transaction. `to` is "" where it makes a contract; `state` is one of the words above."""

    nonce: int
    intent: TxIntent
    to: str
    data: bytes
    gas: int
    attempts: tuple[TxAttempt, ...]
    state: str = TX_LIVE

    @property
    def last_attempt(self) -> TxAttempt:
        """The attempt that offers most."""
        return self.attempts[-1]

    def with_attempt(self, signed: SignedTransaction, fees: Fees, block: int) -> TxRecord:
        """Return the record with one more attempt."""
        new = TxAttempt(signed.hash, signed.raw, fees, self.data, block)
        return self._replace(attempts=(*self.attempts, new))


class TxJournal:
    """The transactions of one key on one chain, in `folder`, which is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """Be the only one who sends with this key. Raises `Locked`."""
        with ExitStack() as stack:
            try:
                stack.enter_context(
                    writer_lock(durable_files.make_private_folder(self._folder), LOCK_WAIT_SECONDS)
                )
            except Locked as error:
                raise Locked(
                    "another process sends with this key",
                    hint="wait until it is done, and try again",
                ) from error
            durable_files.make_private_folder(self._folder / "open")
            durable_files.make_private_folder(self._folder / "done")
            yield

    def write_record(self, record: TxRecord) -> None:
        """Note a transaction, durable when this returns."""
        durable_files.write_durably(self._open_path(record.nonce), _encode_record(record))

    def settle_record(self, record: TxRecord) -> None:
        """Note how a transaction ended, for good."""
        self.write_record(record)
        durable_files.move_durably(self._open_path(record.nonce), self._done_path(record))

    def unsettled_records(self) -> list[TxRecord]:
        """Return the transactions that may still change, by their nonce."""
        folder = self._folder / "open"
        records = [
            self._read_record(folder / name)
            for name in durable_files.list_files(folder, RECORD_SUFFIX)
        ]
        return [record for record in records if record is not None]

    def find_record(self, brain: bytes, snapshot: bytes) -> TxRecord | None:
        """Return the last transaction that was to commit a snapshot, None if there is none."""
        for record in reversed(self.unsettled_records()):
            if record.intent.brain == brain and record.intent.snapshot == snapshot:
                return record
        folder = self._folder / "done"
        ending = f"-{_short_id(brain)}-{_short_id(snapshot)}{RECORD_SUFFIX}"
        names = durable_files.list_files(folder, ending)
        return self._read_record(folder / names[-1]) if names else None

    def _open_path(self, nonce: int) -> Path:
        return self._folder / "open" / f"{nonce:012}{RECORD_SUFFIX}"

    def _done_path(self, record: TxRecord) -> Path:
        what = f"{_short_id(record.intent.brain)}-{_short_id(record.intent.snapshot)}"
        return self._folder / "done" / f"{record.nonce:012}-{what}{RECORD_SUFFIX}"

    def _read_record(self, path: Path) -> TxRecord | None:
        content = durable_files.read_if_exists(path)
        try:
            return None if content is None else _decode_record(json.loads(content))
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise StoreError(
                f"the journal of transactions is damaged: {path.name}",
                code="bad_journal",
                hint="restore it from a copy; what is on the chain stays there",
            ) from error


def _short_id(id: bytes) -> str:
    return id.hex()[:16]


def _encode_record(record: TxRecord) -> bytes:
    intent = record.intent
    fields = {
        "format": JOURNAL_FORMAT,
        "nonce": record.nonce,
        "state": record.state,
        "kind": intent.kind,
        "brain": intent.brain.hex(),
        "snapshot": intent.snapshot.hex(),
        "parent": intent.parent.hex(),
        "to": record.to,
        "data": record.data.hex(),
        "gas": record.gas,
        "attempts": [
            {
                "hash": one.hash,
                "raw": one.raw.hex(),
                "max_fee": one.fees.max_fee,
                "tip": one.fees.tip,
                "data": one.data.hex(),
                "block": one.block,
            }
            for one in record.attempts
        ],
    }
    return json.dumps(fields, indent=1).encode() + b"\n"


def _decode_record(fields: dict[str, Any]) -> TxRecord:
    if fields["format"] != JOURNAL_FORMAT or not fields["attempts"]:
        raise ValueError
    ids = (bytes.fromhex(fields[name]) for name in ("brain", "snapshot", "parent"))
    return TxRecord(
        int(fields["nonce"]),
        TxIntent(str(fields["kind"]), *ids),
        str(fields["to"]),
        bytes.fromhex(fields["data"]),
        int(fields["gas"]),
        tuple(
            TxAttempt(
                str(one["hash"]),
                bytes.fromhex(one["raw"]),
                Fees(int(one["max_fee"]), int(one["tip"])),
                bytes.fromhex(one["data"]),
                int(one["block"]),
            )
            for one in fields["attempts"]
        ),
        str(fields["state"]),
    )
