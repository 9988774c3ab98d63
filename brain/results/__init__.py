"""Results of the API: named tuples, ready to be printed as JSON.

Ids are hex text, times are `datetime` in UTC, paths are relative to
the brain. A version is an integer where the skill writes an integer, else text.

Defining all of them takes 7 ms, and a short command returns one or two, so each module is
loaded at its first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers see it; importing typing costs more than all of this
if TYPE_CHECKING:
    from typing import Any

    from .accounts import *  # noqa: F403
    from .common import *  # noqa: F403
    from .evolution import *  # noqa: F403
    from .folder_changes import *  # noqa: F403
    from .gaps import *  # noqa: F403
    from .history import *  # noqa: F403
    from .ledgers import *  # noqa: F403
    from .merges import *  # noqa: F403
    from .patterns import *  # noqa: F403
    from .programs import *  # noqa: F403
    from .skills import *  # noqa: F403
    from .trust import *  # noqa: F403
    from .usage import *  # noqa: F403
    from .work import *  # noqa: F403

_NAMES = {
    "accounts": "AccountBound AccountUnbound BoundAccount",
    "common": "Committed FileInfo Finding NotCommitted Notice SnapshotInfo Upserted",
    "evolution": (
        "BudgetStatus BudgetUse CaseAdded EarlierAttempt EvolutionDecision EvolutionStatus "
        "EvolverCost EvolverStatus GateNumbers GateOutcome GuardCounts RateStatus Recheck "
        "RecheckedCase RecheckedNumber ScheduledStep SkillCase StreamStatus UnrunGuards"
    ),
    "folder_changes": (
        "Adopted AdoptedFile Collected Imported Init LeftOutSkills MemoryChanged MemoryRead "
        "Published Recorded Redacted Restored SkillSurvey Status Undone Watched"
    ),
    "gaps": "FailedGoal GapEvent GapResult OpenGaps RateUse",
    "history": (
        "BlameLine Diff DiffStat FileState GrepMatch Operation PathChange "
        "SectionInfo SkillChange SnapshotDetails UndiffableFile"
    ),
    "ledgers": (
        "Batch ContractInclusion CostQuote Evidence LedgerStatus LedgerVerdict "
        "LedgersVerified LeftOutBrain LogAnchor LogInclusion Superseded"
    ),
    "merges": (
        "Ancestry Branch Branches Forked MergeConflict Merged MergedSkill Proposal Proposals "
        "Switched Tag"
    ),
    "patterns": "PatternResult SkillPattern SkillPatterns",
    "programs": (
        "Attempt AttemptView Decided ImportedRegistry ImportedSkill ProgramCall ProgramRun "
        "ProposedProgram RefusedSkill SkillProgram"
    ),
    "skills": (
        "Index IndexPage Prompt Selected Selection Similar Skill SkillFile SkillMergeResult "
        "SkillProblem SkillVersion SkillView"
    ),
    "trust": (
        "DoctorCheck Equivocation EquivocationResult Proof RecordedSecret Revocation "
        "SecretScan Signature Signer TrustChanged Trusted TrustedKey Uncovered Verified"
    ),
    "usage": "HealthChange Pinned RunCounted SkillUsage UsageStats VersionUses",
    "work": (
        "ReceiptVerified RunInfo RunSummary SkillDecision SkillReasons Synthesized VersionReason"
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a result with its module and keep it (PEP 562)."""
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value
