"""Checking the log's part of evidence: from an entry up to a signed checkpoint.

Whoever runs a log can make two that differ, so that one is signed shows no more than
that the log said so. A chain it is anchored in, or witnesses, keep it to one.
"""

from __future__ import annotations

from ..tlog.check import Logged, check_inclusion
from .evidence import Evidence, LogPart
from .holds import require
from .known import Known


def check_log(part: LogPart, evidence: Evidence, known: Known) -> Logged:
    """Return the entry of the log, which is what `evidence` says was committed.

    Raises `ProofError`: `wrong_entry`, `wrong_key`, `not_witnessed`, and the codes of
    `tlog.check.check_inclusion`.
    """
    # The key is the one that the reader knows.
    same = part.key == (known.log_key or part.key)
    require(same, "wrong_key", "the log has another key than the one you know")
    # The checkpoint is signed by it, and holds the entry.
    logged = check_inclusion(
        part.checkpoint, part.key, part.place, part.entry, part.path, known.witnesses
    )
    # The witnesses that the reader asks for have signed it too.
    signed = {str(one.key) for one in logged.witnesses}
    for witness in known.witnesses:
        require(witness in signed, "not_witnessed", f"{witness.split('+')[0]} has not signed it")
    # The entry is the commitment.
    snapshot, parent, seq = evidence.committed
    entry = logged.entry
    same = (entry.brain, entry.seq, entry.snapshot) == (evidence.brain, seq, snapshot)
    require(same and entry.parent == parent, "wrong_entry", "the entry is another commitment")
    return logged
