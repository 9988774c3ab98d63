"""The stages of a trial, and which guards run in each.

What repeats itself comes first. A model is asked about the cases of other skills only if the
change passes that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...gating.case_types import Case
from ...results import GuardCounts, UnrunGuards
from .case_runner import CaseRunner, SkillsUnderTest
from .combined_runner import CombinedRunner, RememberingRunner
from .guard_cases import take_cases

MAX_LISTED = 100
"""Rows about guards that did not run, those with the most cases first."""
_NOT_REACHED = "the change failed without them"

_Unrun = Counter[tuple[str, str]]
"""Counts of cases by skill and reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStage:
    """A runner, and the guards that run beside the cases of the changed skill."""

    runner: CaseRunner
    guards: tuple[Case, ...]
    counts: GuardCounts


def plan_stages(
    runners: Sequence[CaseRunner], skills: SkillsUnderTest, touched: Sequence[Case], limit: int
) -> list[TrialStage]:
    """Return the stages of a trial, of which the last decides if all before it admit.

    `runners` begin with the one that runs the cases of the changed skill. `touched` are the cases
    of other skills that the change could touch; at most `limit` run. Those that no runner can run
    take no place from the others.
    """
    main = runners[0]
    unrun: _Unrun = Counter()
    able = []
    for case in touched:
        if obstacle := CombinedRunner(runners).find_obstacle(skills, case):
            unrun[case.skill, f"{main.name} cannot run them: {obstacle}"] += 1
        else:
            able.append(case)
    guards = take_cases(able, limit)
    chosen = {case.path for case in guards}
    unrun.update((case.skill, f"at most {limit} run") for case in able if case.path not in chosen)
    needed = [
        runner
        for runner in runners[1:]
        if any(
            main.find_obstacle(skills, case) and not runner.find_obstacle(skills, case)
            for case in guards
        )
    ]
    if not needed:
        return [_build_stage(main, guards, unrun)]
    if not main.repeats_itself:
        return [_build_stage(CombinedRunner([main, *needed]), guards, unrun)]
    remembering = RememberingRunner(main)
    first = [case for case in guards if not main.find_obstacle(skills, case)]
    later = Counter((case.skill, _NOT_REACHED) for case in guards if case not in first)
    return [
        _build_stage(remembering, first, unrun + later),
        _build_stage(CombinedRunner([remembering, *needed]), guards, unrun),
    ]


def _build_stage(runner: CaseRunner, guards: Sequence[Case], unrun: _Unrun) -> TrialStage:
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
