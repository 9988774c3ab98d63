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

    from .changes import *  # noqa: F403
    from .learning import *  # noqa: F403
    from .runs import *  # noqa: F403
    from .skills import *  # noqa: F403
    from .trust import *  # noqa: F403
_NAMES = {
    "changes": (
        "Adopted AdoptedFile Ancestry BlameLine Branch Branches Collected Diff DiffStat "
        "FileState Forked GrepMatch Imported Init LeftOutSkills MemoryChanged MemoryRead "
        "MergeConflict Merged MergedSkill Operation PathChange Proposal Proposals "
        "Published Recorded Redacted Restored SectionInfo SkillChange SkillSurvey "
        "SnapshotDetails Status Switched Tag UndiffableFile Undone Watched"
    ),
    "learning": (
        "BudgetStatus BudgetUse CaseAdded EarlierAttempt EvolutionDecision "
        "EvolutionStatus EvolverCost EvolverStatus FailedGoal GapEvent GapResult "
        "GateNumbers GateOutcome GuardCounts HealthChange OpenGaps PatternResult Pinned "
        "RateStatus RateUse Recheck RecheckedCase RecheckedNumber RunCounted "
        "ScheduledStep SkillCase SkillPattern SkillPatterns SkillUsage StreamStatus "
        "UnrunGuards UsageStats VersionUses"
    ),
    "runs": (
        "Attempt AttemptView Decided ImportedRegistry ImportedSkill ProgramCall "
        "ProgramRun ProposedProgram ReceiptVerified RefusedSkill RunInfo RunSummary "
        "SkillDecision SkillProgram SkillReasons Synthesized VersionReason"
    ),
    "skills": (
        "Committed FileInfo Finding Index IndexPage NotCommitted Notice Prompt Selected "
        "Selection Similar Skill SkillFile SkillMergeResult SkillProblem SkillVersion "
        "SkillView SnapshotInfo Upserted"
    ),
    "trust": (
        "AccountBound AccountUnbound Batch BoundAccount ContractInclusion CostQuote "
        "DoctorCheck Equivocation EquivocationResult Evidence LedgerStatus LedgerVerdict "
        "LedgersVerified LeftOutBrain LogAnchor LogInclusion Proof RecordedSecret "
        "Revocation SecretScan Signature Signer Superseded TrustChanged Trusted "
        "TrustedKey Uncovered Verified"
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
