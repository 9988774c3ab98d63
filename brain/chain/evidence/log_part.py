"""Verifies the log's part of evidence: from an entry up to a signed checkpoint.

The operator of a log can sign two different logs. Witnesses, or a chain in which the log is
anchored, show that there is one.
"""

from __future__ import annotations

from ..tlog.log_verifier import VerifiedEntry, verify_inclusion
from .evidence_model import EvidenceDocument, LogPart, require_evidence
from .expectations import Expectations


def verify_log_part(
    part: LogPart, evidence: EvidenceDocument, expected: Expectations
) -> VerifiedEntry:
    """Return the entry of the log, which must be the commitment of `evidence`.

    Raises `ProofError`: `wrong_entry`, `wrong_key`, `not_witnessed`, and the codes of
    `log_verifier.verify_inclusion`.
    """
    # The key is the one that the reader knows.
    same = part.key == (expected.log_key or part.key)
    require_evidence(same, "wrong_key", "the log has another key than the one you know")
    # The key signed the checkpoint, which holds the entry.
    logged = verify_inclusion(
        part.checkpoint, part.key, part.leaf_index, part.entry, part.path, expected.witnesses
    )
    # The witnesses that the reader requires cosigned it.
    signed = {str(one.key) for one in logged.witnesses}
    for witness in expected.witnesses:
        require_evidence(
            witness in signed, "not_witnessed", f"{witness.split('+')[0]} has not signed it"
        )
    # The entry is the commitment.
    snapshot, parent, seq = evidence.committed
    entry = logged.entry
    same = (entry.brain, entry.seq, entry.snapshot) == (evidence.brain, seq, snapshot)
    require_evidence(
        same and entry.parent == parent, "wrong_entry", "the entry is another commitment"
    )
    return logged
