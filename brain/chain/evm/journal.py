"""What one key sent on one chain, written down before it is sent.

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
from ...store.lock import writer_lock
from . import files
from .account import Signed
from .fees import Fees

LOCK_WAIT = 60.0
"""Seconds to wait for another process that sends with the same key."""
SUFFIX = ".json"
FORMAT = 1

LIVE = "live"
GIVEN_UP = "given up"
DONE = "done"
FAILED = "failed"
REPLACED = "replaced"


class Intent(NamedTuple):
    """What a transaction is for: `kind` in one word; the ids are empty where they mean nothing."""

    kind: str
    brain: bytes = b""
    snapshot: bytes = b""
    parent: bytes = b""


class Attempt(NamedTuple):
    """One signed form of a transaction, made at a block; later ones offer more, or are for
    something else."""

    hash: str
    raw: bytes
    fees: Fees
    data: bytes
    block: int


class Record(NamedTuple):
    """A transaction. `to` is "" where it makes a contract; `state` is one of the words above."""

    nonce: int
    intent: Intent
    to: str
    data: bytes
    gas: int
    attempts: tuple[Attempt, ...]
    state: str = LIVE

    @property
    def last(self) -> Attempt:
        """The attempt that offers most."""
        return self.attempts[-1]

    def tried(self, signed: Signed, fees: Fees, block: int) -> Record:
        """Return the record with one more attempt."""
        new = Attempt(signed.hash, signed.raw, fees, self.data, block)
        return self._replace(attempts=(*self.attempts, new))


class Journal:
    """The transactions of one key on one chain, in `folder`, which is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only one who sends with this key. Raises `Locked`."""
        with ExitStack() as held:
            try:
                held.enter_context(writer_lock(files.make_folder(self._folder), LOCK_WAIT))
            except Locked as error:
                raise Locked(
                    "another process sends with this key",
                    hint="wait until it is done, and try again",
                ) from error
            files.make_folder(self._folder / "open")
            files.make_folder(self._folder / "done")
            yield

    def write(self, record: Record) -> None:
        """Note a transaction, durable when this returns."""
        files.write(self._open(record.nonce), _packed(record))

    def settle(self, record: Record) -> None:
        """Note how a transaction ended, for good."""
        self.write(record)
        files.move(self._open(record.nonce), self._done(record))

    def unsettled(self) -> list[Record]:
        """Return the transactions that may still change, by their nonce."""
        folder = self._folder / "open"
        records = [self._read(folder / name) for name in files.names(folder, SUFFIX)]
        return [record for record in records if record is not None]

    def about(self, brain: bytes, snapshot: bytes) -> Record | None:
        """Return the last transaction that was to commit a snapshot, None if there is none."""
        for record in reversed(self.unsettled()):
            if record.intent.brain == brain and record.intent.snapshot == snapshot:
                return record
        folder = self._folder / "done"
        ending = f"-{_short(brain)}-{_short(snapshot)}{SUFFIX}"
        names = files.names(folder, ending)
        return self._read(folder / names[-1]) if names else None

    def _open(self, nonce: int) -> Path:
        return self._folder / "open" / f"{nonce:012}{SUFFIX}"

    def _done(self, record: Record) -> Path:
        what = f"{_short(record.intent.brain)}-{_short(record.intent.snapshot)}"
        return self._folder / "done" / f"{record.nonce:012}-{what}{SUFFIX}"

    def _read(self, path: Path) -> Record | None:
        content = files.read(path)
        try:
            return None if content is None else _unpacked(json.loads(content))
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise StoreError(
                f"the journal of transactions is damaged: {path.name}",
                code="bad_journal",
                hint="restore it from a copy; what is on the chain stays there",
            ) from error


def _short(id: bytes) -> str:
    return id.hex()[:16]


def _packed(record: Record) -> bytes:
    intent = record.intent
    said = {
        "format": FORMAT,
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
    return json.dumps(said, indent=1).encode() + b"\n"


def _unpacked(said: dict[str, Any]) -> Record:
    if said["format"] != FORMAT or not said["attempts"]:
        raise ValueError
    ids = (bytes.fromhex(said[name]) for name in ("brain", "snapshot", "parent"))
    return Record(
        int(said["nonce"]),
        Intent(str(said["kind"]), *ids),
        str(said["to"]),
        bytes.fromhex(said["data"]),
        int(said["gas"]),
        tuple(
            Attempt(
                str(one["hash"]),
                bytes.fromhex(one["raw"]),
                Fees(int(one["max_fee"]), int(one["tip"])),
                bytes.fromhex(one["data"]),
                int(one["block"]),
            )
            for one in said["attempts"]
        ),
        str(said["state"]),
    )
