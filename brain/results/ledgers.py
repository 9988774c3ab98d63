"""What ledgers hold of a brain. Ids are hex text, fees are in wei, times in ms UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .trust import Finding


class Committed(NamedTuple):
    """One commitment: a snapshot recorded in a ledger after `parent`, None for the first.

    `status` is pending, included, safe, finalized, replaced or failed; `snapshots` is how
    many snapshots it covers that the one before did not, None where that one is not here.
    `block`, `block_hash`, `transaction`, `sender`, `gas` and `fee` are of a chain; of a
    log, `block` is the place of the entry.
    """

    ledger: str
    identity: str
    brain: str
    snapshot: str
    parent: str | None
    seq: int
    status: str
    trust_level: str
    time: int | None
    snapshots: int | None
    block: int | None
    block_hash: str | None
    transaction: str | None
    sender: str | None
    gas: int | None
    fee: int | None


class NotCommitted(NamedTuple):
    """A commitment that was asked for and failed; the snapshot stands all the same."""

    ledger: str
    snapshot: str
    status: str
    code: str
    message: str
    hint: str


class LedgerStatus(NamedTuple):
    """Where a ledger stands with a brain.

    `snapshot` and `seq` are of its last commitment, None and 0 if there is none, and
    `status`, `transaction`, `gas` are that one's; `behind` is how many snapshots of the
    revision it does not cover, None if it holds one that is not here. `commitments` has
    all, the first first.
    """

    ledger: str
    identity: str
    brain: str
    snapshot: str | None
    seq: int
    status: str
    trust_level: str
    owner: str | None
    signer: str | None
    behind: int | None
    transaction: str | None
    gas: int | None
    commitments: list[Committed]


class Vouched(NamedTuple):
    """What a ledger vouches for of a brain, as verification found it."""

    ledger: str
    identity: str
    snapshot: str | None
    seq: int
    status: str
    trust_level: str
    behind: int | None


class LedgersVerified(NamedTuple):
    """The lineage against ledgers; `ok` means that no finding is an error."""

    ok: bool
    brain: str
    head: str
    trust_level: str
    ledgers: list[Vouched]
    findings: list[Finding]


class Quoted(NamedTuple):
    """What recording something would cost; nothing was sent. Prices and costs are in wei.

    `gas` is the limit, `expected_gas` the estimate; `expected` is the cost at the base
    fee of now, `worst` what it cannot exceed.
    """

    ledger: str
    identity: str
    brain: str | None
    snapshot: str | None
    status: str
    gas: int
    expected_gas: int
    base_fee: int
    max_fee: int
    expected: int
    worst: int
