"""The parts that evidence consists of, and the error for evidence that does not hold.

Evidence connects a snapshot, or a file in it, with a commitment in a log or a contract, and
that with a signed checkpoint or a block hash (docs/FORMAT.md). `evidence_format` parses it.
The types are tuples built by keyword: importing dataclasses would slow the checker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import ProofError
from ...proofs.proof_types import DescentProof, PathProof

KIND_BRAIN = "brain"
KIND_ANCHOR = "anchor"


class CommittedSnapshot(NamedTuple):
    """A commitment: `parent` is None for a contract, which stores the last head only."""

    snapshot: bytes
    parent: bytes | None
    seq: int


class LogPart(NamedTuple):
    """An entry of a log, and the path to the root of `checkpoint`, which `key` signed."""

    checkpoint: str
    key: str
    leaf_index: int
    entry: bytes
    path: Sequence[bytes]


class StorageSlot(NamedTuple):
    """A word in the storage of a contract: `proof` has the nodes from the storage root down."""

    slot: bytes
    value: bytes
    proof: Sequence[bytes]


class ChainPart(NamedTuple):
    """The storage of a contract at a block.

    `kind` is `KIND_BRAIN` for a brain that `account_address` opened, `KIND_ANCHOR` for the
    root of a log that it anchored. `account_proof` has the nodes from the state root of the
    encoded `header` down to the contract.
    """

    chain_id: int
    contract: bytes
    kind: str
    account_address: bytes
    header: bytes
    account_proof: Sequence[bytes]
    slots: Sequence[StorageSlot]


class EvidenceDocument(NamedTuple):
    """Evidence that `snapshot`, or a descendant of it, was committed."""

    brain: bytes
    snapshot: bytes
    proof: PathProof | None
    descent: DescentProof | None
    committed: CommittedSnapshot
    log: LogPart | None
    chain: ChainPart | None


def storage_claim(brain: bytes, committed: CommittedSnapshot) -> EvidenceDocument:
    """Return the claim that a storage proof is checked against: no path, descent or ledger."""
    return EvidenceDocument(
        brain=brain,
        snapshot=committed.snapshot,
        proof=None,
        descent=None,
        committed=committed,
        log=None,
        chain=None,
    )


def require_evidence(condition: object, code: str, what: str) -> None:
    """Raise `ProofError` unless `condition` is true."""
    if not condition:
        raise ProofError(f"the evidence does not hold: {what}", code=code)
