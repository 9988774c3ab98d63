"""The stages of a trial, and which guards run in each.

What repeats itself comes first. A model is asked about the cases of other skills only if the
change passes that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...repo.gate.touched_cases import CaseKind, TouchedCase
from ...results import GuardCounts, UnrunGuards
from .case_runner import CaseRunner
from .combined_runner import CombinedRunner, RememberingRunner
from .guard_cases import take_cases

MAX_LISTED = 100
"""Rows about guards that did not run, those with the most cases first."""
_NOT_REACHED = "the change failed without them"
_NO_RUNNER: dict[CaseKind, str] = {
    "program": "no sandbox is there to run a program",
    "text": "no model is there to read a text",
}

_Unrun = Counter[tuple[str, str]]
"""Counts of cases by skill and reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStage:
    """A runner, and the guards that run beside the cases of the changed skill."""

    runner: CaseRunner
    guards: tuple[TouchedCase, ...]
    counts: GuardCounts


def plan_stages(
    runners: Sequence[CaseRunner], touched: Sequence[TouchedCase], limit: int
) -> list[TrialStage]:
    """Return the stages of a trial, of which the last decides if all before it admit.

    `runners` begin with the one that runs the cases of the changed skill. `touched` are the cases
    of other skills that the change could touch; at most `limit` run, always the same ones. Those
    that no runner can run take no place from the others.
    """
    main = runners[0]
    kinds = {kind for runner in runners for kind in runner.kinds}
    unrun = Counter((one.skill, _NO_RUNNER[one.kind]) for one in touched if one.kind not in kinds)
    guards, others = take_cases([one for one in touched if one.kind in kinds], limit)
    unrun.update((one.skill, f"at most {limit} run") for one in others)
    missing = {one.kind for one in guards}.difference(main.kinds)
    if not missing:
        return [_build_stage(main, guards, unrun)]
    needed = [runner for runner in runners[1:] if not missing.isdisjoint(runner.kinds)]
    if not main.repeats_itself:
        return [_build_stage(CombinedRunner([main, *needed]), guards, unrun)]
    remembering = RememberingRunner(main)
    first = [one for one in guards if one.kind in main.kinds]
    later = Counter((one.skill, _NOT_REACHED) for one in guards if one.kind not in main.kinds)
    return [
        _build_stage(remembering, first, unrun + later),
        _build_stage(CombinedRunner([remembering, *needed]), guards, unrun),
    ]


def _build_stage(runner: CaseRunner, guards: Sequence[TouchedCase], unrun: _Unrun) -> TrialStage:
    rows = sorted(unrun.items(), key=lambda row: (-row[1], row[0]))
    counts = GuardCounts(
        found=len(guards) + unrun.total(),
        run=len(guards),
        unrun=[UnrunGuards(slug, cases, reason) for (slug, reason), cases in rows[:MAX_LISTED]],
    )
    return TrialStage(runner=runner, guards=tuple(guards), counts=counts)


def add_guard_note(reason: str, counts: GuardCounts) -> str:
    """Return a reason that also says how many guards did not run; it names no skill."""
    missing = counts.found - counts.run
    if not missing:
        return reason
    why = "; ".join(dict.fromkeys(row.reason for row in counts.unrun))
    return f"{reason}; {missing} of {counts.found} cases of other skills did not run: {why}"
