"""Learn from the goals that fail: write a skill for each gap that is due, and propose it.

Each attempt goes this way, and each end of it is one event of the audit:

1. An item of the queue is claimed: a goal with the failures that it had.
2. The attempt is counted under the limits, before anything is spent.
3. The model writes a program, which passes four checks of its code; after a refused answer it may
   try again, a few times in all.
4. The gate tries the program on held-out cases, and admits it, proposes it to a person, or keeps
   it as a rejected attempt.
5. What was admitted becomes a record of the memory, so that later prompts know of it.

A process that takes over an attempt of a killed one goes on where that stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import Conflict, SandboxError
from ...repo.open.manifest import OFF
from ...results import GapResult
from ...sandbox.find_sandbox import find_sandbox
from ..evolution_mode import require_evolution
from ..held_work import HeldWork, clock_since
from . import gap_audit
from .accepted_proposals import remember_accepted
from .gap_attempt import AttemptContext, GapAttempt, describe_attempt
from .gap_queue import SUPERSEDED, EndedAttempt, queue_open_gaps
from .open_gaps import GAPS, OpenGap, parse_gap_work

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore
    from ...models import Model
    from .brain_protocol import GapBrain, ProposingGate

LEASE_MS = 30 * 60_000
"""An attempt takes no longer; what waits for a limit or the model is looked at again then."""
MAX_CLAIMS = 1_000_000
"""Claims of one item, which waits as long as the limits say; `MAX_TAKEOVERS` bounds the rest."""
_MAX_ATTEMPTS = 100
"""Items that one call works off."""


def run_gaps(
    brain: GapBrain,
    model: Model | None,
    *,
    now: int,
    gate: ProposingGate | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[GapResult]:
    """Attempt the gaps that are due, and yield what became of each; `now` is ms since 1970.

    Without a model or a sandbox nothing is attempted, and the results say so; nor is anything if
    the environment turns gaps off. After a failure of the model nothing more is attempted. Raises
    `Conflict` (`evolution_off`), `InvalidInput` (`bad_manifest`), `ModelError`, or `StoreError` if
    the store of experience does not work.
    """
    require_evolution(brain)
    if brain.gaps.read_mode() == OFF:
        return
    store = brain.gaps.open_stores().store
    run = _GapRun(
        brain=brain,
        store=store,
        now=now,
        gate=gate,
        should_stop=should_stop,
    )
    remember_accepted(brain, store, now)
    if brain.gaps.is_periodic():
        queue_open_gaps(store, now)
    obstacle = _find_obstacle(model)
    if model is None or obstacle:
        yield from (run.leave(gap, obstacle) for gap in run.list_waiting())
    else:
        yield from run.attempt_all(model)


def _find_obstacle(model: Model | None) -> str:
    """Return why nothing can be attempted, "" if it can."""
    if model is None:
        return "no model is configured; choose one with `brain config model`"
    try:
        find_sandbox()
    except SandboxError as error:
        return error.message
    return ""


@dataclass(kw_only=True)
class _GapRun:
    """One call of `run_gaps`."""

    brain: GapBrain
    store: ExperienceStore
    now: int
    gate: ProposingGate | None
    should_stop: Callable[[], bool]

    def list_waiting(self) -> Iterator[OpenGap]:
        """Yield the gaps in the queue."""
        for item, result in self.store.list_work(GAPS):
            gap = parse_gap_work(item)
            if not result and gap is not None:
                yield gap

    def leave(self, gap: OpenGap, reason: str) -> GapResult:
        """Return the result of a gap that is left in the queue."""
        ended = EndedAttempt(phase=gap_audit.MODEL_PHASE, result=gap_audit.SKIPPED, reason=reason)
        return describe_attempt(gap, ended)

    def attempt_all(self, model: Model) -> Iterator[GapResult]:
        """Work off the queue. Raises `ModelError` if the model failed, after the item is left."""
        context = AttemptContext(
            brain=self.brain,
            store=self.store,
            gate=self.gate,
            model=model,
            now=self.now,
        )
        clock = clock_since(self.now)  # the attempts before take time, too
        for _ in range(_MAX_ATTEMPTS):
            if self.should_stop():
                return
            work = self.store.claim_work(GAPS, clock(), LEASE_MS, MAX_CLAIMS)
            if work is None:
                return
            gap = parse_gap_work(work.item)
            if gap is None:
                self.store.finish_work(work, SUPERSEDED)
                continue
            held = HeldWork(store=self.store, work=work, lease=LEASE_MS, now=clock)
            attempt = GapAttempt(context, held, gap)
            try:
                with held.hold():
                    result = attempt.make()
            except Conflict as error:
                if error.code != "work_lost":  # another process took it over, and ends it
                    raise
                continue
            if result is not None:
                yield result
            if attempt.model_error is not None:
                raise attempt.model_error
