"""The ledger that needs nothing: a log in a folder of its own, for all brains of a user.

What a log that one runs oneself cannot prove: that it tells everybody the same. Whoever
holds its key can copy the folder, or bring back an old one, and go on differently on
both; each history is then whole and well signed. That shows only to who holds a
checkpoint of the other one: so a checkpoint binds the operator once it has left the
machine, by being handed over, cosigned by a witness, or anchored in a chain. What can be
noticed here is noticed: a database that ends before, or differs from, what was last
acknowledged in this folder; one that is gone; and checkpoints brought back from outside.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from ...errors import Conflict, InvalidInput, NotFound, ProofError
from ...store import mark
from ..protocol import FINALIZED, NO_PARENT, Commitment, Fault, LedgerHead, Wish
from . import audit, check, files, keys, note, showing
from .appending import LogWriter
from .cosignature import Cosigned
from .entry import MAX_TIME
from .hashing import SIZE
from .reading import LogReader, Placed, Signed, proven


def now() -> int:
    """Return the time, in ms since 1970, UTC."""
    return time.time_ns() // 1_000_000


class Exported(NamedTuple):
    """A whole log: its last checkpoint, its verifier key, and the data of its leaves."""

    checkpoint: str
    key: str
    entries: Iterator[bytes]


class EmbeddedLedger:
    """A `Ledger` in `folder`, which appears with the first commitment; see there.

    A commitment is durable, and final, once it is returned. Reading never writes. Any
    number of processes may use one folder, each with an object of its own; an object is
    for one thread. `clock` gives ms since 1970; `timeout` is in seconds, for other
    writers. Every method may raise `StoreError`, of a damaged log with code `bad_log` or
    `bad_store`.
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], int] = now,
        name: str = "local",
        timeout: float = files.TIMEOUT,
    ) -> None:
        self.name = name
        self._folder = folder
        self._clock = clock
        self._timeout = timeout
        self._log: LogReader | None = None
        self._seed = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; the ledger can be used again, and opens them again."""
        if self._log is not None:
            self._log.close()
            self._log = None
            self._seed = b""

    @property
    def identity(self) -> str:
        """`tlog:` and the origin of the log; "" as long as there is none."""
        log = self._reader()
        return log.identity if log else ""

    @property
    def key(self) -> str:
        """The verifier key of the log, which checks its checkpoints; "" if there is none."""
        log = self._reader()
        return str(log.key) if log else ""

    def head(self, brain: bytes) -> LedgerHead | None:
        """See `Ledger.head`. A log knows no owners."""
        log = self._reader()
        placed = log.head(brain) if log else None
        return LedgerHead(placed.seq, placed.snapshot, "", "") if placed else None

    def open(self, brain: bytes, snapshot: bytes) -> Commitment:
        """See `Ledger.open`."""
        if self.head(brain) is None:
            try:
                return self.commit(brain, snapshot, NO_PARENT)
            except Conflict as error:  # another process was faster
                raise _already_open(brain) from error
        raise _already_open(brain)

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        """See `Ledger.commit`. After `NO_PARENT` it opens the brain: that costs nothing here."""
        return self.commit_many([Wish(brain, snapshot, parent)])[0]

    def commit_many(self, wishes: Sequence[Wish]) -> list[Commitment]:
        """Record all wishes in one transaction, or none of them; return them in their order.

        Several wishes of one brain follow each other. Errors as for `commit`.
        """
        if not wishes:
            return []
        _check_wishes(wishes)
        log = self._writer()
        moment = min(max(self._clock(), 0), MAX_TIME)
        return self._told(log, log.append(wishes, moment, self._signer(log)))

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        """See `Ledger.status`: what is recorded is finalized."""
        log, placed = self._found(brain, snapshot)
        return self._told(log, [placed])[0]

    def history(self, brain: bytes) -> list[Commitment]:
        """See `Ledger.history`."""
        log = self._reader()
        return self._told(log, log.history(brain)) if log else []

    def trust_level(self, commitment: Commitment) -> str:
        """Return "L0": hashes and signatures of a log that somebody runs himself."""
        return "L0"

    def evidence(self, brain: bytes, snapshot: bytes, size: int | None = None) -> dict[str, Any]:
        """Return `log`, with everything `check.check_inclusion` needs, and no `chain`.

        It is under the checkpoint of the first `size` entries; without a size under the
        last one that a witness cosigned, or else the last one. Raises `NotFound`
        (`not_committed`, `no_checkpoint`, `no_key`).
        """
        log, placed = self._found(brain, snapshot)
        wanted = log.cosigned_size(placed.place + 1) if size is None else size
        return {"log": showing.inclusion(log, placed, self._signed(log, wanted)), "chain": None}

    def checkpoint(self, size: int | None = None) -> str:
        """Return the signed checkpoint of the first `size` entries, or of all of them.

        The cosignatures that were added to it come with it. Raises `NotFound`:
        `no_checkpoint` for a size the log does not have, `no_key` for one that was not
        kept if the key is gone.
        """
        log = self._there()
        return showing.told(log, self._signed(log, size))

    def consistency(self, old_size: int, new_size: int) -> list[bytes]:
        """Return the path for `check.check_consistency` between two checkpoints.

        Raises `NotFound` (`no_checkpoint`), `InvalidInput` (`bad_sizes`).
        """
        if old_size > new_size:
            raise InvalidInput(f"{old_size} is more than {new_size}", code="bad_sizes")
        return showing.consistency(self._there(), old_size, new_size)

    def add_cosignature(self, text: str, witnesses: Sequence[str]) -> list[Cosigned]:
        """Keep what witnesses signed of a checkpoint of this log; return who and when.

        `text` is the checkpoint with lines added to it; `witnesses` are verifier keys of
        kind cosignature, and lines of others are left out. Raises `ProofError` as
        `check.check_checkpoint`, and `no_cosignature`; `VerificationFailed`
        (`rolled_back`, `log_forked`) if the log signed it but does not hold it.
        """
        log = self._writer()
        said, found = check.check_checkpoint(text, str(log.key), witnesses)
        log.refuse_loss(said.size.to_bytes(8, "big") + said.root)
        if not found:
            raise ProofError("no line of it is by one of the witnesses", code="no_cosignature")
        log.cosign(note.parse(text), said, found)
        return list(found)

    def export(self) -> Exported:
        """Return the whole log as anybody can check it; the entries are read as they are taken."""
        log = self._there()
        last = log.last()
        rows = log.every_entry(last.checkpoint.size)
        data = (proven(row).data for row in rows)
        return Exported(showing.told(log, last), str(log.key), data)

    def verify(self, older: Sequence[str] = ()) -> list[Fault]:
        """Make all hashes anew and compare; `older` are checkpoints that were kept elsewhere.

        Finds what is damaged or missing, and if the log was rolled back or forked since
        one of `older`, or since what was last acknowledged in this folder.
        """
        log = self._reader()
        if log is not None:
            return audit.audit(log, self._folder, older)
        if older or mark.read(os.fspath(self._folder / files.NAME)):
            return [Fault("rolled_back", "the log is gone, though it was committed to")]
        return []

    def _reader(self) -> LogReader | None:
        if self._log is None:
            db = files.open_readonly(self._folder, self._timeout)
            self._log = LogReader(db) if db else None
        return self._log

    def _there(self) -> LogReader:
        log = self._reader()
        if log is None:
            raise showing.no_checkpoint(0)
        return log

    def _writer(self) -> LogWriter:
        if isinstance(self._log, LogWriter):
            return self._log
        self.close()
        files.create(self._folder, self._timeout)
        db = files.open_writable(self._folder, self._timeout)
        self._log = LogWriter(db, os.fspath(self._folder / files.NAME))
        return self._log

    def _signer(self, log: LogReader) -> bytes:
        """Return the private key; errors as for `keys.load`."""
        if not self._seed:
            self._seed = keys.load(self._folder, log)
        return self._seed

    def _signed(self, log: LogReader, size: int | None) -> Signed:
        last = log.last()
        if size is None or size == last.checkpoint.size:
            return last
        return showing.signed(log, size, lambda: self._signer(log))

    def _found(self, brain: bytes, snapshot: bytes) -> tuple[LogReader, Placed]:
        log = self._reader()
        placed = log.find(brain, snapshot) if log else None
        if log is None or placed is None:
            raise NotFound(
                f"the log does not hold the snapshot {snapshot.hex()} of this brain",
                code="not_committed",
                hint="commit it first",
            )
        return log, placed

    def _told(self, log: LogReader, entries: Iterable[Placed]) -> list[Commitment]:
        name, identity = self.name, log.identity
        return [
            Commitment(name, identity, brain, seq, snapshot, parent, FINALIZED, time, place)
            for place, brain, seq, snapshot, parent, time in entries
        ]


def _check_wishes(wishes: Sequence[Wish]) -> None:
    for brain, snapshot, parent in wishes:
        if not len(brain) == len(snapshot) == len(parent) == SIZE or snapshot == NO_PARENT:
            raise InvalidInput("a wish with an id that cannot be one", code="bad_id")


def _already_open(brain: bytes) -> Conflict:
    return Conflict(
        f"the log holds the brain {brain.hex()} already",
        code="already_open",
        hint="commit after its head",
    )
