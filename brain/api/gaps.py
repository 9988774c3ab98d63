"""`brain.gaps`: goals that fail repeatedly, and the skills that are learned for them."""

from __future__ import annotations

import logging
import os
from contextlib import closing
from typing import TYPE_CHECKING

from .locked_session import Part

if TYPE_CHECKING:
    import builtins
    from collections.abc import Sequence

    from .. import results
    from ..evolve.gaps.gap_reporter import GapReporter, GoalSuccess
    from ..evolve.gaps.open_gaps import GapReport
    from ..experience.experience_protocol import ExperienceStore
    from ..experience.open_stores import BrainExperience
    from ..repo.open.gap_policy import GapPolicy
    from ..repo.open.session import Session

logger = logging.getLogger(__name__)

SKILLS_ENABLED_VARIABLE = "SKILLS_ENABLED"
"""Turns learning from gaps off in the environment, if it is false, 0, no or off."""
_FALSE_WORDS = ("false", "0", "no", "off")


class GapsPart(Part):
    """Goals that fail, and what was learned from them.

    A task that ends in failure reports itself. Reports are noted by a thread of its own: they
    take no time, and nothing that goes wrong with them reaches the agent.
    """

    def report(
        self, goal: str, error: str = "", *, tool: str = "", reflections: Sequence[str] = ()
    ) -> None:
        """Report that a goal failed; never raises, and returns at once.

        `tool` tells goals with the same text apart. `reflections` are what the agent says of its
        work. If evolution is off in the manifest, nothing is noted.
        """
        from ..evolve.gaps.open_gaps import GapReport

        self._submit(
            GapReport(
                goal=goal,
                at=self._locked.session.timestamp_ms(),
                error=error,
                tool=tool,
                reflections=tuple(reflections),
            )
        )

    def report_success(self, goal: str, *, tool: str = "") -> None:
        """Report that a goal succeeded, which ends the row of its failures; as `report`."""
        from ..evolve.gaps.gap_reporter import GoalSuccess

        self._submit(GoalSuccess(goal=goal, tool=tool))

    def wait(self, timeout: float | None = None) -> builtins.list[results.Notice]:
        """Wait until what was reported is noted; return why reports could not be noted."""
        reporter = self._locked.gap_reporter
        if reporter is None:
            return []
        reporter.wait(timeout)
        return reporter.take_notices()

    def list(self, *, now: int | None = None) -> results.OpenGaps:
        """Return the goals that fail, what would happen to them, and how many attempts count.

        `now` is ms since 1970. Raises `StoreError`.
        """
        from ..evolve.gaps.list_gaps import list_gaps

        return list_gaps(
            self.open_stores(),
            brain=self._locked.session.brain_id().hex(),
            mode=self.read_mode(),
            policy=self.read_policy(),
            now=self._locked.session.timestamp_ms() if now is None else now,
        )

    def log(self, last: int = 100) -> builtins.list[results.GapEvent]:
        """Return the last events of the audit, oldest first. Raises `StoreError`."""
        from ..evolve.gaps.gap_audit import describe_event
        from ..evolve.gaps.open_gaps import GAPS

        return [describe_event(event) for event in self.open_stores().store.read_events(GAPS, last)]

    def read_policy(self) -> GapPolicy:
        """Return the settings `evolution.gaps` of the manifest.

        Raises `InvalidInput` (`bad_manifest`).
        """
        from ..repo.open import manifest

        return self._locked.run(manifest.load_manifest).gaps

    def read_mode(self) -> str:
        """Return what becomes of what is learned: propose, gated or off.

        Raises `InvalidInput` (`bad_manifest`).
        """
        from ..repo.open import manifest

        if _is_disabled():
            return manifest.OFF
        return self._locked.run(manifest.load_manifest).evolution

    def open_stores(self) -> BrainExperience:
        """Return the stores of experience and of rates. Raises `InvalidInput`."""
        return self._locked.session.experience

    def _submit(self, report: GapReport | GoalSuccess) -> None:
        try:
            if _is_disabled() or self._locked.run(_is_off):
                return
            if self._locked.gap_reporter is None:
                self._locked.gap_reporter = _make_reporter(self._locked.session)
            self._locked.gap_reporter.submit(report)
        except Exception as error:  # noqa: BLE001  the agent goes on whatever happens here
            logger.warning("a goal is not noted: %s", error)


def _is_disabled() -> bool:
    return os.environ.get(SKILLS_ENABLED_VARIABLE, "").strip().lower() in _FALSE_WORDS


def _is_off(session: Session) -> bool:
    """Tell whether the manifest turns evolution off; one that cannot be read does not."""
    from ..errors import BrainError
    from ..repo.open import manifest

    try:
        return manifest.turns_evolution_off(session)
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
