"""Results about ledgers: commitments, costs, batches and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .common import Committed, Finding


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


class LedgerVerdict(NamedTuple):
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
    ledgers: list[LedgerVerdict]
    findings: list[Finding]


class CostQuote(NamedTuple):
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


class LeftOutBrain(NamedTuple):
    """A brain that was left out of a batch, or could not note its commitment, and why."""

    path: str
    code: str
    message: str


class LogAnchor(NamedTuple):
    """The root of a log, kept on a chain."""

    ledger: str
    identity: str
    root: str
    size: int
    status: str
    transaction: str | None
    block: int | None
    gas: int | None
    fee: int | None


class Batch(NamedTuple):
    """The outcome of a batch: what was committed to the log, and where that is anchored.

    `unchanged` are brains whose head the log held already; they are covered all the same.
    """

    ledger: str
    committed: list[Committed]
    unchanged: int
    left: list[LeftOutBrain]
    anchored: LogAnchor | None


class LogInclusion(NamedTuple):
    """A log: the entry `place` of `size`, counted from 0, made at `time`.

    `origin`, `size` and `root` are what its checkpoint says, signed by `key`, which is
    `known` if the reader gave it. `witnesses` are the keys that the reader gave; all of
    them signed it, too.
    """

    origin: str
    key: str
    known: bool
    place: int
    size: int
    root: str
    time: int
    witnesses: list[str]


class ContractInclusion(NamedTuple):
    """A contract on a chain, as it was in `block`.

    `chain_id` is what the evidence says: nothing but the hash of the block ties it to a
    chain. `kind` is "brain", whose head is that of `creator`'s brain with its `owner` and
    `signer`, or "anchor", under which `sender` anchored the root of the log.
    """

    kind: str
    chain_id: int
    contract: str
    code_hash: str
    block: int
    block_hash: str
    time: int
    creator: str | None
    owner: str | None
    signer: str | None
    sender: str | None


class Evidence(NamedTuple):
    """What evidence shows: `snapshot`, or `committed`, which descends from it, was committed.

    `seq` counts the commitments of the brain in that ledger; `parent` is the one before,
    None for the first, and where the ledger shows none. `path` is a file of the snapshot,
    of `type` "file", "executable" or "link", with the content `blob` of `size` bytes; None
    if no path is shown. `log` and `chain` are None where it is in none. `trust_level` is
    L0 to L3 (docs/SECURITY.md). `missing` says what the reader still has to know. `ok` is
    true: evidence that does not hold is an error.
    """

    ok: bool
    claim: str
    trust_level: str
    brain: str
    snapshot: str
    committed: str
    parent: str | None
    seq: int
    path: str | None
    type: str | None
    blob: str | None
    size: int | None
    log: LogInclusion | None
    chain: ContractInclusion | None
    missing: list[str]
