"""Verifies evidence in six steps, from the evidence and the expectations alone.

1. It is about the brain and the snapshot that the reader expects.
2. A path, if one is shown, is in the snapshot, which is of the brain.
3. The committed snapshot is the snapshot, or descends from it in the same brain.
4. It was committed to a log, to a contract, or to a log whose root is in a contract.
5. The log: its checkpoint is signed, and holds the commitment as an entry.
6. The chain: the contract held, in the block, that head or the root of that checkpoint.

Hashes connect the steps; the key of the log and the hash of the block are the trust anchors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .chain_part import ProvenStorage, verify_chain_part
from .evidence_model import KIND_ANCHOR, KIND_BRAIN, EvidenceDocument, require_evidence
from .expectations import Expectations, check_comparable

if TYPE_CHECKING:
    from ...proofs.proof_types import DescentProof, PathProof
    from ...proofs.proof_verification import ProvenFact
    from ..tlog.log_verifier import VerifiedEntry


class VerifiedEvidence(NamedTuple):
    """What was proven of a path, of a log and of a contract; None for parts that are absent."""

    path: ProvenFact | None
    log: VerifiedEntry | None
    chain: ProvenStorage | None


def verify_evidence(evidence: EvidenceDocument, expected: Expectations) -> VerifiedEvidence:
    """Return what `evidence` proves.

    Raises `InvalidInput` as `check_comparable` does, and `ProofError`: `not_this_brain`,
    `not_this_snapshot`, `wrong_snapshot`, `wrong_brain`, `no_descent`, `wrong_descent`,
    `no_ledger`, `wrong_ledger`, `wrong_parent`, `wrong_root`, and the codes of
    `verify_proof`, `verify_log_part` and `verify_chain_part`.
    """
    # 1. It is about the brain and the snapshot that the reader expects.
    check_comparable(evidence, expected)
    _check_subject(evidence, expected)
    # 2. A path, if one is shown, is in the snapshot, which is of the brain.
    path = _check_path(evidence)
    # 3. The committed snapshot is the snapshot, or descends from it.
    _check_descent(evidence)
    # 4. It was committed to a log, a contract, or a log whose root is in a contract.
    _check_ledger(evidence)
    # 5. The checkpoint of the log is signed, and holds the commitment.
    log = _verify_log(evidence, expected)
    # 6. The contract held that head, or the root of that checkpoint.
    chain = verify_chain_part(evidence.chain, evidence, expected) if evidence.chain else None
    same = not (log and chain) or log.checkpoint.root == chain.root
    require_evidence(same, "wrong_root", "another root is anchored than that of the checkpoint")
    return VerifiedEvidence(path, log, chain)


def _check_subject(evidence: EvidenceDocument, expected: Expectations) -> None:
    for name in ("brain", "snapshot"):
        wanted, actual = getattr(expected, name), getattr(evidence, name)
        same = not wanted or wanted == actual
        require_evidence(same, f"not_this_{name}", f"it is about the {name} {actual.hex()}")


def _check_path(evidence: EvidenceDocument) -> ProvenFact | None:
    if evidence.proof is None:
        return None
    proven = _verify_proof(evidence.proof)
    require_evidence(
        proven.snapshot == evidence.snapshot, "wrong_snapshot", "a path of another snapshot"
    )
    require_evidence(proven.brain == evidence.brain, "wrong_brain", "a path of another brain")
    return proven


def _check_descent(evidence: EvidenceDocument) -> None:
    committed, descent = evidence.committed.snapshot, evidence.descent
    if descent is None:
        same = committed == evidence.snapshot
        require_evidence(
            same, "no_descent", "another snapshot was committed, and no descent is shown"
        )
        return
    require_evidence(
        committed != evidence.snapshot, "wrong_descent", "a descent where none is needed"
    )
    proven = _verify_proof(descent)
    require_evidence(proven.snapshot == committed, "wrong_descent", "another snapshot descends")
    require_evidence(
        proven.ancestor == evidence.snapshot, "wrong_descent", "it descends from another"
    )
    same = proven.brain == evidence.brain == proven.ancestor_brain
    require_evidence(same, "wrong_brain", "a descent in another brain")


def _check_ledger(evidence: EvidenceDocument) -> None:
    """Check that there is a log alone, a brain's contract alone, or a log that is anchored."""
    log, chain = evidence.log, evidence.chain
    require_evidence(log or chain, "no_ledger", "it names no ledger")
    fits = not chain or chain.kind == (KIND_ANCHOR if log else KIND_BRAIN)
    require_evidence(fits, "wrong_ledger", "the log and the contract do not belong together")
    has_parent = evidence.committed.parent is not None
    require_evidence(
        has_parent == bool(log), "wrong_parent", "a log states a parent, and a contract none"
    )


def _verify_proof(proof: PathProof | DescentProof) -> ProvenFact:
    from ...proofs.proof_verification import verify_proof

    return verify_proof(proof)


def _verify_log(evidence: EvidenceDocument, expected: Expectations) -> VerifiedEntry | None:
    if evidence.log is None:
        return None
    from .log_part import verify_log_part

    return verify_log_part(evidence.log, evidence, expected)
