"""Note a report in the store of experience: count the failure, and queue the gap if it is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .gap_audit import SCORE_PHASE, SKIPPED, build_gap_event
from .gap_report import GapReport, GoalSuccess
from .open_gaps import add_gap_work, record_failure, record_success

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore


def note_report(store: ExperienceStore, report: GapReport | GoalSuccess) -> bool:
    """Note a report; queue the gap if it is due, and return whether it is.

    Raises `StoreError`.
    """
    if isinstance(report, GoalSuccess):
        record_success(store, report.goal, report.tool)
        return False
    gap = record_failure(store, report)
    if gap.score.is_due:
        add_gap_work(store, gap, report.at)
    else:
        event = build_gap_event(gap, report.at, SCORE_PHASE, SKIPPED, reason="below the threshold")
        store.append_event(event)
    return gap.score.is_due
