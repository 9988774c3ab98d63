"""The parts of evidence, the expectations of its reader, and the error if it does not hold.

Evidence connects a snapshot, or a file in it, with a commitment in a log or a contract, and
that with a signed checkpoint or a block hash (docs/FORMAT.md). `evidence_format` parses it.
The types are tuples built by keyword: importing dataclasses would slow the checker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import ProofError
from ...proofs.proof import DescentProof, PathProof

KIND_BRAIN = "brain"
KIND_ANCHOR = "anchor"

TRUST_ONE_NODE, TRUST_MANY_NODES, TRUST_READER = "L1", "L2", "L3"
"""The source of a block hash: one node of the chain, several nodes, or the reader."""
TRUST_NONE = "L0"
"""Hashes and signatures alone."""


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
    checkpoint of a log that it anchored. `account_proof` has the nodes from the state root of
    the encoded `header` down to the contract.
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
    committed: CommittedSnapshot
    proof: PathProof | None = None
    descent: DescentProof | None = None
    log: LogPart | None = None
    chain: ChainPart | None = None


class Expectations(NamedTuple):
    """The values that the reader knows and evidence must match; an empty field matches any.

    `owner` is the account that owns the brain or anchored the log, `block_hash` may be the first
    bytes of one; `trust` is its source. Keys of the log and of witnesses are C2SP verifier keys.
    """

    brain: bytes = b""
    snapshot: bytes = b""
    owner: bytes = b""
    block_hash: bytes = b""
    trust: str = TRUST_READER
    log_key: str = ""
    witnesses: Sequence[str] = ()


INVALID_EVIDENCE_HINT = "it was changed, or made wrongly: do not rely on it, and ask for a new one"


def require_evidence(
    condition: object, code: str, reason: str, hint: str = INVALID_EVIDENCE_HINT
) -> None:
    """Raise `ProofError` unless `condition` is true."""
    if not condition:
        raise ProofError(
            f"the evidence does not hold: {reason}",
            code=code,
            hint=hint,
        )
