"""`brain.gaps`: goals that fail repeatedly, from which `brain.evolve` learns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part
from .run_end import are_skills_disabled, may_have_failures, open_recorder, submit_report

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Sequence

    from .. import results
    from ..experience.store import Store


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
        submit_report(
            self._locked,
            goal=goal,
            at=self._locked.session.timestamp_ms(),
            error=error,
            tool=tool,
            reflections=tuple(reflections),
        )

    def report_success(self, goal: str, *, tool: str = "") -> None:
        """Report that a goal succeeded, which ends the row of its failures; as `report`."""
        if may_have_failures(self._locked):
            submit_report(self._locked, goal=goal, tool=tool, succeeded=True)

    def wait(self, timeout: float | None = None) -> builtins.list[results.Notice]:
        """Wait until what was reported is noted; return why reports could not be noted."""
        recorder = self._locked.recorder
        if recorder is None:
            return []
        recorder.wait(timeout)
        return recorder.take_notices()

    def call_when_due(self, on_due: Callable[[], object] | None) -> None:
        """From now on, call `on_due` in the background as soon as a gap is due; None ends this.

        What goes wrong in it is in the notices of `wait`.
        """
        open_recorder(self._locked).on_due = on_due

    def list(self, *, now: int | None = None) -> results.OpenGaps:
        """Return the goals that fail, what would happen to them, and how many attempts count.

        `now` is ms since 1970. Raises `StoreError`.
        """
        from ..experience.gaps import list_gaps
        from ..repo.learning.record import is_proposed

        return list_gaps(
            self.open_store(),
            mode=self.read_mode(),
            periodic=self.is_periodic(),
            is_proposed=lambda name: self._locked.run(is_proposed, name),
            now=self._locked.session.timestamp_ms() if now is None else now,
        )

    def log(self, last: int = 100) -> builtins.list[results.GapEvent]:
        """Return the last events of the audit, oldest first. Raises `StoreError`."""
        from ..experience.gaps import GAPS, describe_event

        return [describe_event(event) for event in self.open_store().events(GAPS, last)]

    def is_periodic(self) -> bool:
        """Tell whether gaps are looked for every hour, as the manifest says.

        Raises `InvalidInput` (`bad_manifest`).
        """
        from ..repo import manifest

        return self._locked.run(manifest.load_manifest).gaps_are_periodic

    def read_mode(self) -> str:
        """Return what becomes of what is learned, as `brain.gate.read_mode`.

        Raises `InvalidInput` (`bad_manifest`).
        """
        from ..repo import manifest

        if are_skills_disabled():
            return manifest.OFF
        return self._locked.run(manifest.load_mode)

    def open_store(self) -> Store:
        """Return the store of experience. Raises `StoreError`, `InvalidInput`."""
        return self._locked.open_experience()
