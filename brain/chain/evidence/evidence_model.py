"""The parts that evidence consists of, and the error for evidence that does not hold.

It leads from a snapshot, or a file in one, to a commitment in a log or a contract, and
from there to a signed checkpoint or to the hash of a block. docs/FORMAT.md says how, and
document.py how it is written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import ProofError
from ...proofs.proof_types import DescentProof, PathProof

KIND_BRAIN = "brain"
KIND_ANCHOR = "anchor"


class CommittedSnapshot(NamedTuple):
    """A commitment: `parent` is None where the ledger keeps the last head alone."""

    snapshot: bytes
    parent: bytes | None
    seq: int


class LogPart(NamedTuple):
    """The entry at `place` of a log, and the way to the root that `checkpoint` signs by `key`."""

    checkpoint: str
    key: str
    leaf_index: int
    entry: bytes
    path: Sequence[bytes]


class StorageSlot(NamedTuple):
    """A word in the storage of a contract: nodes from the storage root down to it."""

    slot: bytes
    value: bytes
    proof: Sequence[bytes]


class ChainPart(NamedTuple):
    """The storage of a contract at a block.

    `kind` is `BRAIN`, for a brain that the account `by` has opened there, or `ANCHOR`,
    for the root of a log that `by` anchored. `account` are the nodes from the state root
    of the encoded `header` down to the contract.
    """

    chain_id: int
    contract: bytes
    kind: str
    account_address: bytes
    header: bytes
    account_proof: Sequence[bytes]
    slots: Sequence[StorageSlot]


class EvidenceDocument(NamedTuple):
    """Evidence that `snapshot`, or one that descends from it, was committed."""

    brain: bytes
    snapshot: bytes
    proof: PathProof | None
    descent: DescentProof | None
    committed: CommittedSnapshot
    log: LogPart | None
    chain: ChainPart | None


def require_evidence(condition: object, code: str, what: str) -> None:
    """Raise `ProofError` unless `truth`."""
    if not condition:
        raise ProofError(f"the evidence does not hold: {what}", code=code)
