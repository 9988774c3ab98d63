"""What the façade returns: plain tuples with names, ready to be printed as JSON.

Ids are hex text, times are milliseconds since 1970 in UTC, paths are relative to
the brain. A version is an integer where the skill writes an integer, else text.

A short command returns one or two of them, and making all takes it 7 ms, so each is
loaded with its kind when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers see it; importing typing costs more than all of this
if TYPE_CHECKING:
    from typing import Any

    from .adoptions import Adopted, FileInfo, Imported, Placed, Published
    from .agent import Index, Prompt, Selected, Selection, Similar
    from .batches import Anchored, Batch, Left
    from .branches import Ancestry, Branch, Branches, Forked, Switched
    from .differences import Change, Content, Diff, SkillChange, Stat, Unshown
    from .evidence import Evidence, LoggedIn, StoredIn
    from .evolution import Synthesized
    from .folder import Init, Recorded, Restored, Status, Watched
    from .keys import (
        Equivocal,
        Equivocation,
        Revocation,
        Signature,
        TrustChanged,
        Trusted,
        TrustedKey,
    )
    from .leaks import Leak, Leaks
    from .ledgers import Committed, LedgerStatus, LedgersVerified, NotCommitted, Quoted, Vouched
    from .lineage import Operation, SectionInfo, Shown, SnapshotInfo
    from .merges import MergeConflict, Merged, MergedSkill
    from .notices import Notice
    from .proofs import Proof
    from .proposals import Proposal, Proposals
    from .receipts import Reason, ReceiptVerified, RunInfo, Why, Work
    from .removals import Collected, Redacted
    from .searches import Bisected, BlameLine, Tested
    from .skills import Skill, SkillFile, SkillProblem, SkillVersion, SkillView
    from .trust import Checkup, Finding, Verified
    from .upserts import Absorbed, Upserted

__all__ = [
    "Absorbed",
    "Adopted",
    "Ancestry",
    "Anchored",
    "Batch",
    "Bisected",
    "BlameLine",
    "Branch",
    "Branches",
    "Change",
    "Checkup",
    "Collected",
    "Committed",
    "Content",
    "Diff",
    "Equivocal",
    "Equivocation",
    "Evidence",
    "FileInfo",
    "Finding",
    "Forked",
    "Imported",
    "Index",
    "Init",
    "Leak",
    "Leaks",
    "LedgerStatus",
    "LedgersVerified",
    "Left",
    "LoggedIn",
    "MergeConflict",
    "Merged",
    "MergedSkill",
    "NotCommitted",
    "Notice",
    "Operation",
    "Placed",
    "Prompt",
    "Proof",
    "Proposal",
    "Proposals",
    "Published",
    "Quoted",
    "Reason",
    "ReceiptVerified",
    "Recorded",
    "Redacted",
    "Restored",
    "Revocation",
    "RunInfo",
    "SectionInfo",
    "Selected",
    "Selection",
    "Shown",
    "Signature",
    "Similar",
    "Skill",
    "SkillChange",
    "SkillFile",
    "SkillProblem",
    "SkillVersion",
    "SkillView",
    "SnapshotInfo",
    "Stat",
    "Status",
    "StoredIn",
    "Switched",
    "Synthesized",
    "Tested",
    "TrustChanged",
    "Trusted",
    "TrustedKey",
    "Unshown",
    "Upserted",
    "Verified",
    "Vouched",
    "Watched",
    "Why",
    "Work",
]

_KINDS = {
    "adoptions": "Adopted FileInfo Imported Placed Published",
    "batches": "Anchored Batch Left",
    "receipts": "Reason ReceiptVerified RunInfo Why Work",
    "removals": "Redacted Collected",
    "searches": "BlameLine Tested Bisected",
    "merges": "MergedSkill MergeConflict Merged",
    "branches": "Branch Branches Switched Forked Ancestry",
    "agent": "Index Prompt Selected Selection Similar",
    "differences": "Change Content Diff SkillChange Stat Unshown",
    "evidence": "Evidence LoggedIn StoredIn",
    "evolution": "Synthesized",
    "folder": "Init Recorded Restored Status Watched",
    "keys": "Equivocal Equivocation Revocation Signature Trusted TrustChanged TrustedKey",
    "leaks": "Leak Leaks",
    "ledgers": "Committed LedgerStatus LedgersVerified NotCommitted Quoted Vouched",
    "lineage": "Operation SectionInfo Shown SnapshotInfo",
    "notices": "Notice",
    "proofs": "Proof",
    "proposals": "Proposal Proposals",
    "skills": "Skill SkillFile SkillProblem SkillVersion SkillView",
    "trust": "Checkup Finding Verified",
    "upserts": "Absorbed Upserted",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a result with its kind and keep it (PEP 562)."""
    from importlib import import_module

    if name not in _KIND_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_KIND_OF[name]}", __name__), name)
    globals()[name] = value
    return value
