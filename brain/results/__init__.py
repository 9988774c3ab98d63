"""What the API returns: named tuples, ready to be printed as JSON.

Ids are hex text, times are milliseconds since 1970 in UTC, paths are relative to
the brain. A version is an integer where the skill writes an integer, else text.

Defining all of them takes 7 ms, and a short command returns one or two, so each kind is
loaded at its first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers see it; importing typing costs more than all of this
if TYPE_CHECKING:
    from typing import Any

    from .common import (
        Committed,
        FileInfo,
        Finding,
        NotCommitted,
        Notice,
        SnapshotInfo,
        Upserted,
    )
    from .folder_changes import (
        Adopted,
        AdoptedFile,
        Collected,
        Imported,
        Init,
        MemoryChanged,
        MemoryRead,
        Published,
        Recorded,
        Redacted,
        Restored,
        Status,
        Watched,
    )
    from .history import (
        Bisected,
        BisectTest,
        BlameLine,
        Diff,
        DiffStat,
        FileState,
        Operation,
        PathChange,
        SectionInfo,
        SkillChange,
        SnapshotDetails,
        UndiffableFile,
    )
    from .ledgers import (
        Batch,
        ContractInclusion,
        CostQuote,
        Evidence,
        LedgerStatus,
        LedgersVerified,
        LedgerVerdict,
        LeftOutBrain,
        LogAnchor,
        LogInclusion,
    )
    from .merges import (
        Ancestry,
        Branch,
        Branches,
        Forked,
        MergeConflict,
        Merged,
        MergedSkill,
        Proposal,
        Proposals,
        Switched,
    )
    from .skills import (
        Index,
        Prompt,
        Selected,
        Selection,
        Similar,
        Skill,
        SkillFile,
        SkillMergeResult,
        SkillProblem,
        SkillVersion,
        SkillView,
    )
    from .trust import (
        DoctorCheck,
        Equivocation,
        EquivocationResult,
        Proof,
        RecordedSecret,
        Revocation,
        SecretScan,
        Signature,
        TrustChanged,
        Trusted,
        TrustedKey,
        Verified,
    )
    from .work import ReceiptVerified, RunInfo, RunSummary, SkillReasons, Synthesized, VersionReason

__all__ = [
    "Adopted",
    "AdoptedFile",
    "Ancestry",
    "Batch",
    "BisectTest",
    "Bisected",
    "BlameLine",
    "Branch",
    "Branches",
    "Collected",
    "Committed",
    "ContractInclusion",
    "CostQuote",
    "Diff",
    "DiffStat",
    "DoctorCheck",
    "Equivocation",
    "EquivocationResult",
    "Evidence",
    "FileInfo",
    "FileState",
    "Finding",
    "Forked",
    "Imported",
    "Index",
    "Init",
    "LedgerStatus",
    "LedgerVerdict",
    "LedgersVerified",
    "LeftOutBrain",
    "LogAnchor",
    "LogInclusion",
    "MemoryChanged",
    "MemoryRead",
    "MergeConflict",
    "Merged",
    "MergedSkill",
    "NotCommitted",
    "Notice",
    "Operation",
    "PathChange",
    "Prompt",
    "Proof",
    "Proposal",
    "Proposals",
    "Published",
    "ReceiptVerified",
    "Recorded",
    "RecordedSecret",
    "Redacted",
    "Restored",
    "Revocation",
    "RunInfo",
    "RunSummary",
    "SecretScan",
    "SectionInfo",
    "Selected",
    "Selection",
    "Signature",
    "Similar",
    "Skill",
    "SkillChange",
    "SkillFile",
    "SkillMergeResult",
    "SkillProblem",
    "SkillReasons",
    "SkillVersion",
    "SkillView",
    "SnapshotDetails",
    "SnapshotInfo",
    "Status",
    "Switched",
    "Synthesized",
    "TrustChanged",
    "Trusted",
    "TrustedKey",
    "UndiffableFile",
    "Upserted",
    "Verified",
    "VersionReason",
    "Watched",
]

_KINDS = {
    "common": "Committed FileInfo Finding NotCommitted Notice SnapshotInfo Upserted",
    "folder_changes": (
        "Adopted AdoptedFile Collected Imported Init MemoryChanged MemoryRead "
        "Published Recorded Redacted Restored Status Watched"
    ),
    "history": (
        "BisectTest Bisected BlameLine Diff DiffStat FileState Operation PathChange "
        "SectionInfo SkillChange SnapshotDetails UndiffableFile"
    ),
    "ledgers": (
        "Batch ContractInclusion CostQuote Evidence LedgerStatus LedgerVerdict "
        "LedgersVerified LeftOutBrain LogAnchor LogInclusion"
    ),
    "merges": (
        "Ancestry Branch Branches Forked MergeConflict Merged MergedSkill Proposal Proposals "
        "Switched"
    ),
    "skills": (
        "Index Prompt Selected Selection Similar Skill SkillFile SkillMergeResult "
        "SkillProblem SkillVersion SkillView"
    ),
    "trust": (
        "DoctorCheck Equivocation EquivocationResult Proof RecordedSecret Revocation "
        "SecretScan Signature TrustChanged Trusted TrustedKey Verified"
    ),
    "work": "ReceiptVerified RunInfo RunSummary SkillReasons Synthesized VersionReason",
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
