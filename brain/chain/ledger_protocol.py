"""The interface of a ledger: an ordered list of the committed snapshots of each brain.

A commitment is compare-and-swap on the ledger's head of that brain: of two commitments after
one parent, the second fails and names the head. So both sides of a fork cannot be committed.

A new kind of ledger implements `Ledger`, passes `tests/conformance/test_ledger.py`, and is opened
in `cli/settings/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from ..errors import Conflict, NotFound

if TYPE_CHECKING:
    from .evm.fees import Quote

NO_PARENT = bytes(32)
"""The parent of the first commitment of a brain."""

PENDING = "pending"
INCLUDED = "included"
SAFE = "safe"
FINALIZED = "finalized"
REPLACED = "replaced"
"""Another transaction used the nonce of this one, which can never be included."""
FAILED = "failed"
"""The transaction was reverted: it is in a block, and changed nothing."""

STATUS_ORDER = (PENDING, INCLUDED, SAFE, FINALIZED)
"""Statuses from the easiest to the hardest to take back."""


class LedgerHead(NamedTuple):
    """The last commitment of a brain: `seq` counts from 1; a log has the first two fields only.

    `epoch` counts the changes of the signer, `repairs` how often the owner disowned commitments.
    """

    seq: int
    snapshot: bytes
    owner: str = ""
    signer: str = ""
    epoch: int = 0
    repairs: int = 0


class Commitment(NamedTuple):
    """One snapshot of a brain, recorded in a ledger after its parent.

    `ledger` is the user's name of the ledger, `identity` its global one: `tlog:ORIGIN` or
    `eip155:CHAIN:CONTRACT`. `parent` is `NO_PARENT` for the first. `time` is in ms UTC, 0
    while unknown. `transaction` and `block_hash` are 0x… text, `fee` is in wei; in a log,
    `block` is the index of the entry, and the later fields are empty. `sender` paid, and `author`
    had the right: a wallet contract may be asked by another account. `disowned_by` is the number
    of the commitment with which the owner disowned this one, 0 if it stands. Always built by
    keyword; a tuple because importing dataclasses slows the checker.
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
    author: str = ""
    gas: int | None = None
    fee: int | None = None
    disowned_by: int = 0


class CommitRequest(NamedTuple):
    """A snapshot to commit after `parent`, which is `NO_PARENT` to open the brain."""

    brain: bytes
    snapshot: bytes
    parent: bytes


class Offer(NamedTuple):
    """A brain that its owner offers to the account `to`, until the second `ends` since 1970."""

    to: str
    ends: int


class LedgerFault(NamedTuple):
    """A fault that a ledger found in itself: `code` in snake case, `message` in words."""

    code: str
    message: str


class Ledger(Protocol):
    """A ledger; `tests/conformance/test_ledger.py` is the full specification.

    Ids are 32 bytes. Every method may raise `LedgerError` if the ledger cannot be reached
    or gives an invalid answer.
    """

    @property
    def name(self) -> str:
        """The name that the user configured."""

    @property
    def identity(self) -> str:
        """The global name: `tlog:ORIGIN` or `eip155:CHAIN:CONTRACT`; "" while there is none."""

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
        """Return a commitment with its present status. Raises `NotFound` (`not_committed`)."""

    def history(self, brain: bytes) -> list[Commitment]:
        """Return all commitments of a brain, oldest first; none if it was never opened."""

    def evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        """Return the ledger's part of the evidence of a commitment: fields `log`, `chain`.

        Raises `NotFound` (`not_committed`).
        """

    def trust_level(self, commitment: Commitment) -> str:
        """Return the trust level of a commitment read from this ledger, "L0" to "L2".

        L0: hashes and signatures of a ledger with one operator. L1: one node of a chain
        reported it, or one witness cosigned the log. L2: several nodes agree on a finalized
        block, and its state was proven against that block here, or several witnesses cosigned.
        L3 needs a block hash from the reader of the evidence.
        """

    def verify(self) -> list[LedgerFault]:
        """Check the ledger itself, and return the faults found."""


@runtime_checkable
class PricedLedger(Protocol):
    """A ledger whose commitments cost money; both methods send nothing."""

    def quote_open(self, brain: bytes, snapshot: bytes) -> Quote:
        """Return the cost of `open`; raises as it does."""

    def quote_commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Quote:
        """Return the cost of `commit`; raises as it does."""


@runtime_checkable
class ChainLedger(Protocol):
    """A ledger on a chain, which may take back a commitment until that is final."""

    def entry_name(self, brain: bytes) -> str:
        """Return the global name of a brain's entry in this ledger, from its identity on.

        Differs by the first block of the chain and the account that opened the brain.
        """

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Return a commitment with its present status, as `Ledger.status`."""


@runtime_checkable
class OwnedLedger(Protocol):
    """A ledger in which each brain has an owner, who may offer it to another."""

    def offer(self, brain: bytes) -> Offer | None:
        """Return the offer of a brain, None if there is none; it may have ended."""


def witness_trust(witnesses: int) -> str:
    """Return the trust level of an entry of a log that so many witnesses cosigned."""
    return ("L0", "L1", "L2")[min(witnesses, 2)]


def already_open_error(ledger: str) -> Conflict:
    """Return the error for opening a brain that a ledger has."""
    return Conflict(
        f"{ledger} has this brain already",
        code="already_open",
        hint=f"commit after its head, with `brain chain commit --ledger {ledger}`",
    )


def not_open_error(ledger: str, creator: str) -> NotFound:
    """Return the error for a brain that an account, the creator, never opened on a chain."""
    return NotFound(
        f"the account {creator} never opened this brain in {ledger}",
        code="not_open",
        hint=f"open it there once, with `brain chain open --ledger {ledger}`; if another account"
        f" opened it, name that with `brain config ledger.{ledger}.creator ADDRESS`",
    )
