"""Report goals of an open brain that failed or succeeded, from its tasks and its API."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..evolve.gaps.gap_report import GapReport, GoalSuccess
    from ..evolve.gaps.gap_reporter import GapReporter
    from ..experience.experience_protocol import ExperienceStore
    from ..repo.open.session import Session
    from .locked_session import LockedSession

SKILLS_ENABLED_VARIABLE = "SKILLS_ENABLED"
"""Turns learning from gaps off in the environment, if it is false, 0, no or off."""
_EXPERIENCE_FILE = "evolution.db"
_EXPERIENCE_URL_VARIABLE = "BRAIN_EXPERIENCE_URL"
"""As in `brain.experience`, which a task that succeeds does not load."""
_FALSE_WORDS = ("false", "0", "no", "off")


def are_skills_disabled() -> bool:
    """Tell whether the environment turns learning from gaps off."""
    return os.environ.get(SKILLS_ENABLED_VARIABLE, "").strip().lower() in _FALSE_WORDS


def submit_report(locked: LockedSession, report: GapReport | GoalSuccess) -> None:
    """Queue a report; return at once, and never raise."""
    try:
        if not (are_skills_disabled() or locked.run(_is_off)):
            open_reporter(locked).submit(report)
    except Exception as error:  # noqa: BLE001  the agent goes on whatever happens here
        import logging  # loading it takes longer than all of a report

        logging.getLogger(__name__).warning("a goal is not noted: %s", error)


def submit_success(locked: LockedSession, goal: str, tool: str = "") -> None:
    """Report that a goal succeeded, as `submit_report`; nothing is done if none ever failed."""
    from ..evolve.gaps.gap_report import GoalSuccess

    if _may_have_failures(locked.session):
        submit_report(locked, GoalSuccess(goal, tool))


def _may_have_failures(session: Session) -> bool:
    """Tell, without opening it, whether the store of experience may hold failures."""
    is_elsewhere = (
        session.load_experience_settings is not None or _EXPERIENCE_URL_VARIABLE in os.environ
    )
    return is_elsewhere or os.path.exists(session.control_folder / _EXPERIENCE_FILE)


def open_reporter(locked: LockedSession) -> GapReporter:
    """Return what notes the reports of an open brain."""
    if locked.gap_reporter is None:
        locked.gap_reporter = _make_reporter(locked.session)
    return locked.gap_reporter


def _is_off(session: Session) -> bool:
    """Tell whether the manifest turns evolution off; one that cannot be read does not."""
    from ..errors import BrainError
    from ..repo.open import manifest

    try:
        return manifest.load_learning_policy(session)[1] == manifest.OFF
    except BrainError:
        return False


def _make_reporter(session: Session) -> GapReporter:
    from ..evolve.gaps.gap_reporter import GapReporter

    folder, brain = session.control_folder, session.brain_id().hex()
    load_settings = session.load_experience_settings

    def open_store() -> closing[ExperienceStore]:
        from ..experience.open_stores import BrainExperience

        opened = BrainExperience(folder, brain, load_settings and load_settings())
        return closing(opened.store)

    return GapReporter(open_store)
