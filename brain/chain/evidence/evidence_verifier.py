"""Verifies evidence in six steps, from the evidence and the expectations alone.

1. It is about the brain and the snapshot that the reader expects.
2. A path, if one is shown, is in the snapshot, which is of the brain.
3. The committed snapshot is the snapshot, or descends from it in the same brain.
4. It was committed to a log, to a contract, or to a log that is anchored in a contract.
5. The log: its checkpoint is signed, and holds the commitment as an entry.
6. The chain: the contract held, in the block, that head or that checkpoint of that log.

Hashes connect the steps; the key of the log and the hash of the block are the trust anchors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidInput
from . import storage_layout
from .chain_part import AnchorClaim, HeadClaim, ProvenStorage, verify_chain_part
from .evidence_model import (
    KIND_ANCHOR,
    KIND_BRAIN,
    EvidenceDocument,
    Expectations,
    LogPart,
    require_evidence,
)

if TYPE_CHECKING:
    from ...proofs.check import ProvenFact
    from ...proofs.proof import DescentProof, PathProof
    from ..tlog.log_verifier import VerifiedEntry


_KNOWN_KEY_HINT = "compare the key, or ask for evidence that it signed"


class VerifiedEvidence(NamedTuple):
    """The proven path, entry of a log and storage of a contract; None for an absent part."""

    path: ProvenFact | None
    log: VerifiedEntry | None
    chain: ProvenStorage | None


def verify_evidence(evidence: EvidenceDocument, expected: Expectations) -> VerifiedEvidence:
    """Return the facts that `evidence` proves.

    Raises `InvalidInput` (`no_block`, `no_owner`, `no_log`) for expectations about an
    absent part, and `ProofError`: `not_this_brain`, `not_this_snapshot`, `wrong_snapshot`,
    `wrong_brain`, `no_descent`, `wrong_descent`, `no_ledger`, `wrong_ledger`,
    `wrong_parent`, `wrong_key`, `not_witnessed`, `wrong_entry`, and the codes of
    `verify_proof`, `log_verifier.verify_inclusion` and `verify_chain_part`.
    """
    # 1. It is about the brain and the snapshot that the reader expects.
    _check_comparable(evidence, expected)
    _check_subject(evidence, expected)
    # 2. A path, if one is shown, is in the snapshot, which is of the brain.
    path = _check_path(evidence)
    # 3. The committed snapshot is the snapshot, or descends from it.
    _check_descent(evidence)
    # 4. It was committed to a log, a contract, or a log that is anchored in a contract.
    _check_ledger(evidence)
    # 5. The checkpoint of the log is signed, and holds the commitment.
    log = _verify_log(evidence.log, evidence, expected) if evidence.log else None
    # 6. The contract held that head, or that checkpoint of that log.
    chain = None
    if evidence.chain:
        chain = verify_chain_part(evidence.chain, _chain_claim(evidence, log), expected)
    return VerifiedEvidence(path, log, chain)


def _chain_claim(evidence: EvidenceDocument, log: VerifiedEntry | None) -> HeadClaim | AnchorClaim:
    """Return what the contract has to hold."""
    if evidence.log and log:
        return AnchorClaim(
            log=storage_layout.log_id(evidence.log.key),
            checkpoint=storage_layout.checkpoint_hash(log.checkpoint_text),
        )
    return HeadClaim(evidence.brain, evidence.committed.snapshot, evidence.committed.seq)


def _check_comparable(evidence: EvidenceDocument, expected: Expectations) -> None:
    """Refuse expectations about a part that the evidence does not have."""
    for expectation, part, name in (
        (expected.block_hash, evidence.chain, "block"),
        (expected.owner, evidence.chain, "owner"),
        (expected.log_key or expected.witnesses, evidence.log, "log"),
    ):
        if expectation and not part:
            raise InvalidInput(
                f"the evidence names no {name} to compare with yours",
                code=f"no_{name}",
                hint="leave out that option, or ask for evidence that has it",
            )


def _check_subject(evidence: EvidenceDocument, expected: Expectations) -> None:
    for name in ("brain", "snapshot"):
        wanted_id, actual = getattr(expected, name), getattr(evidence, name)
        matches = not wanted_id or wanted_id == actual
        require_evidence(
            matches,
            f"not_this_{name}",
            f"it is about the {name} {actual.hex()}, not {wanted_id.hex()}",
            f"compare the id, or ask for evidence about that {name}",
        )


def _check_path(evidence: EvidenceDocument) -> ProvenFact | None:
    if evidence.proof is None:
        return None
    proven = _verify_proof(evidence.proof)
    require_evidence(
        proven.snapshot == evidence.snapshot, "wrong_snapshot", "its path is of another snapshot"
    )
    require_evidence(proven.brain == evidence.brain, "wrong_brain", "its path is of another brain")
    return proven


def _check_descent(evidence: EvidenceDocument) -> None:
    committed, descent = evidence.committed.snapshot, evidence.descent
    if descent is None:
        same_snapshot = committed == evidence.snapshot
        require_evidence(
            same_snapshot, "no_descent", "another snapshot was committed, and it shows no descent"
        )
        return
    require_evidence(
        committed != evidence.snapshot, "wrong_descent", "it shows a descent where none is needed"
    )
    proven = _verify_proof(descent)
    require_evidence(
        proven.snapshot == committed, "wrong_descent", "its descent is that of another snapshot"
    )
    require_evidence(
        proven.ancestor == evidence.snapshot,
        "wrong_descent",
        "its descent is from another snapshot",
    )
    same_brain = proven.brain == evidence.brain == proven.ancestor_brain
    require_evidence(same_brain, "wrong_brain", "its descent is in another brain")


def _check_ledger(evidence: EvidenceDocument) -> None:
    """Check that there is a log alone, a brain's contract alone, or a log that is anchored."""
    log, chain = evidence.log, evidence.chain
    require_evidence(log or chain, "no_ledger", "it names no ledger")
    fits = not chain or chain.kind == (KIND_ANCHOR if log else KIND_BRAIN)
    require_evidence(fits, "wrong_ledger", "the log and the contract do not belong together")
    has_parent = evidence.committed.parent is not None
    require_evidence(
        has_parent == bool(log), "wrong_parent", "only a log states a parent, and it always does"
    )


def _verify_proof(proof: PathProof | DescentProof) -> ProvenFact:
    from ...proofs.check import verify_proof

    return verify_proof(proof)


def _verify_log(part: LogPart, evidence: EvidenceDocument, expected: Expectations) -> VerifiedEntry:
    """Return the entry of the log, which must be the commitment of `evidence`.

    The operator of a log can sign two different logs. Witnesses, or a chain in which the log
    is anchored, show that there is one.
    """
    from ..tlog.log_verifier import verify_inclusion

    # The key is the one that the reader knows.
    same_key = part.key == (expected.log_key or part.key)
    require_evidence(
        same_key, "wrong_key", "the log has another key than the one you know", _KNOWN_KEY_HINT
    )
    # The key signed the checkpoint, which holds the entry.
    logged = verify_inclusion(
        part.checkpoint, part.key, part.leaf_index, part.entry, part.path, expected.witnesses
    )
    # The witnesses that the reader requires cosigned it.
    cosigners = {str(witness.key) for witness in logged.witnesses}
    for witness in expected.witnesses:
        name = witness.split("+")[0]
        require_evidence(
            witness in cosigners,
            "not_witnessed",
            f"the witness {name} has not signed it",
            _KNOWN_KEY_HINT,
        )
    # The entry is the commitment.
    snapshot, parent, seq = evidence.committed
    entry = logged.entry
    same_commitment = entry[:4] == (evidence.brain, seq, snapshot, parent)
    require_evidence(same_commitment, "wrong_entry", "the entry of the log is another commitment")
    return logged
