"""Keep a program that a check of its code refused as a rejected attempt, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Conflict, InvalidInput
from ...programs import PROGRAM_FILE
from ...programs.program import fit_summary
from ...repo.learning.attempts import EVOLVER_TRAILER
from ...repo.learning.change import ChangeRequest, PlannedChange
from ...repo.learning.record import DecidedChange
from ...verdicts.verdict_types import ProgramFile, Verdict
from ..prompts import GENERATED_CATEGORY, GENERATED_PROFILE
from .brain_protocol import GapBrain
from .open_gaps import GAPS

if TYPE_CHECKING:
    from ..drafts import ToolDraft


def keep_refused_draft(brain: GapBrain, draft: ToolDraft, message: str) -> str:
    """Keep a refused program with its fault; return the name of the attempt.

    "" if it cannot be a snapshot, such as one that is too large. An equal attempt is kept once.
    """
    code = draft.program.code.encode("utf-8", "replace")
    fault = fit_summary(draft.fault)
    for known in brain.programs.attempts(draft.slug):
        kept = brain.programs.read_attempt(known.attempt).files
        if known.reason == fault and kept.get(PROGRAM_FILE) == code:
            return known.attempt
    request = ChangeRequest(
        name=draft.slug,
        description=draft.program.description,
        files={PROGRAM_FILE: code},
        category=GENERATED_CATEGORY,
    )
    try:
        planned = brain.gate.plan(request)
        decided = DecidedChange(
            planned=planned,
            verdict=_build_verdict(planned, fault),
            program=planned.program,
            message=f"{message}\n\n{EVOLVER_TRAILER}{GAPS}",
        )
        return brain.gate.record(decided).attempt
    except (InvalidInput, Conflict):  # the fault is in the audit, and shown all the same
        return ""


def _build_verdict(planned: PlannedChange, fault: str) -> Verdict:
    blobs = planned.program.blobs if planned.program else ()
    return Verdict(
        decision="reject",
        skill=planned.slug,
        decider="rule",
        decided_by=GAPS,
        reason=fault,
        files=tuple(ProgramFile(path, blob) for path, blob in blobs),
        code_check=GENERATED_PROFILE,
        findings=(fault,),
    )
