"""The interface of a ledger: an ordered list of the committed snapshots of each brain.

A commitment is compare-and-swap on the ledger's head of that brain, so a lineage that
forked cannot be committed on both sides unseen: who comes second is told the head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from ..errors import NotFound

if TYPE_CHECKING:
    from .evm.fees import Quote

NO_PARENT = bytes(32)
"""The parent of the first commitment of a brain."""

PENDING = "pending"
INCLUDED = "included"
SAFE = "safe"
FINALIZED = "finalized"
REPLACED = "replaced"
"""Another transaction took the place of this one, which can never be included."""
FAILED = "failed"
"""The ledger refused it: it is recorded, and changed nothing."""

STATUS_ORDER = (PENDING, INCLUDED, SAFE, FINALIZED)
"""What a commitment goes through, each harder to take back than the one before."""


class LedgerHead(NamedTuple):
    """The last commitment of a brain: `seq` counts from 1, `owner` is "" where none is known."""

    seq: int
    snapshot: bytes
    owner: str
    signer: str


class Commitment(NamedTuple):
    """One snapshot of a brain, recorded in a ledger after the one before it.

    `identity` names the ledger wherever it is spoken of: `tlog:ORIGIN` or
    `eip155:CHAIN:CONTRACT`. `parent` is `NO_PARENT` for the first. `time` is in ms UTC,
    0 while unknown. `transaction`, `block_hash` are 0x… text, `fee` is in wei; of a
    log, `block` is the place of the entry, and the other four are empty.
    """

    ledger: str
    identity: str
    brain: bytes
    seq: int
    snapshot: bytes
    parent: bytes
    status: str
    time: int
    block: int | None = None
    transaction: str = ""
    block_hash: str = ""
    sender: str = ""
    gas: int | None = None
    fee: int | None = None


class CommitRequest(NamedTuple):
    """A snapshot to be committed after `parent`, which is `NO_PARENT` to open the brain."""

    brain: bytes
    snapshot: bytes
    parent: bytes


class LedgerFault(NamedTuple):
    """Something a ledger found wrong with itself: `code` in snake case, in words `message`."""

    code: str
    message: str


class Ledger(Protocol):
    """What all ledgers do; `tests/conformance/test_ledger.py` says it in full.

    Ids are 32 bytes. Every method may raise `LedgerError` where the ledger cannot
    be reached or does not answer as it should.
    """

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def identity(self) -> str:
        """What names it wherever it is spoken of; "" while there is none."""

    def head(self, brain: bytes) -> LedgerHead | None:
        """Return the last commitment of a brain, None if it was never opened here."""

    def open(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Make the first commitment of a brain. Raises `Conflict` (`already_open`)."""

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        """Record `snapshot` after `parent`, which must be the head.

        If the head is `snapshot` already, nothing is sent and its commitment returned.
        Raises `Conflict` (`stale_parent`) or `NotFound` (`not_open`).
        """

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Return how far a commitment is. Raises `NotFound` (`not_committed`)."""

    def history(self, brain: bytes) -> list[Commitment]:
        """Return all commitments of a brain, the first first; none if it was never opened."""

    def evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        """Return the ledger's part of the evidence of a commitment: fields `log`, `chain`.

        Raises `NotFound` (`not_committed`).
        """

    def trust_level(self, commitment: Commitment) -> str:
        """Return what a commitment as told by this ledger is worth, "L0" to "L2".

        L0: hashes and signatures of a ledger that somebody runs himself. L1: one node
        of a chain said so. L2: several nodes agree on a finalized block, and its state
        was proven against it here. L3 takes a block hash that the reader brings.
        """

    def verify(self) -> list[LedgerFault]:
        """Check the ledger itself, as far as it can be seen from here."""


@runtime_checkable
class PricedLedger(Protocol):
    """What a ledger does besides whose commitments cost something; both send nothing."""

    def quote_open(self, brain: bytes, snapshot: bytes) -> Quote:
        """Return what `open` would cost; raises as it does."""

    def quote_commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Quote:
        """Return what `commit` would cost; raises as it does."""


def not_open_error(ledger: str) -> NotFound:
    """Return the error for a brain that has to be opened in a ledger first."""
    return NotFound(
        f"this brain was never opened in {ledger}",
        code="not_open",
        hint=f"open it there once, with `brain chain open --ledger {ledger}`",
    )
