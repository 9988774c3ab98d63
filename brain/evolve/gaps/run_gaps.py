"""Learn from the goals that fail: write a skill for each gap that is due, and propose it.

Each attempt goes this way, and each end of it is one event of the audit:

1. The oldest item of the queue is started: a goal with the failures that it had.
2. The attempt is counted under the limits, before anything is spent.
3. The model writes a program, which passes four checks of its code; after a refused answer it may
   try again, a few times in all.
4. The gate tries the program on held-out cases, and admits it, proposes it to a person, or stores
   it as a rejected attempt.
5. What was admitted becomes a record of the memory, so that later prompts know of it.

What an attempt has done is stored with its item: after a kill, the next one goes on where that
stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...errors import BrainError, SandboxError
from ...experience.gaps import (
    COMPLETE_PHASE,
    GAPS,
    MODEL_PHASE,
    SKIPPED,
    SUCCESS,
    EndedAttempt,
    build_gap_event,
    list_proposed,
    queue_open_gaps,
    read_gap,
)
from ...repo.open.manifest import OFF
from ...results import GapResult
from ...sandbox.find_sandbox import find_sandbox
from ..evolution_mode import meter, now_ms, require_evolution
from .gap_attempt import GapAttempt, describe_attempt, remember_capability

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...experience.store import Store
    from ...models import Model
    from ...repo.learning.gate import Gate

_MAX_ATTEMPTS = 100
"""Items that one call works off."""
_ACCEPTED = "gaps accepted"
"""The kind of the items that remember what was accepted."""


def run_gaps(brain: Brain, model: Model | None, *, now: int | None = None) -> list[GapResult]:
    """Attempt the gaps that are due with a model; return what became of each.

    Without a model nothing is attempted, and the results say so. `now` is ms since 1970.
    Raises `Conflict` (`evolution_off`), `InvalidInput` (`bad_manifest`), `StoreError`, `Locked`
    (`learning`) while another process learns from this brain, or `ModelError` if the model
    fails: its gap waits, and what was done before is in the audit.
    """
    if model is not None:
        model = meter(brain, model, GAPS)
    with brain.gaps.open_store().learning():
        return list(work_off_gaps(brain, model, now=now_ms() if now is None else now))


def attempt_gaps_at_once(brain: Brain, model: Model | None) -> None:
    """From now on, attempt each gap as soon as it is due, in the background.

    None ends this. What goes wrong is in the notices of `brain.gaps.wait`.
    """
    brain.gaps.call_when_due(None if model is None else lambda: run_gaps(brain, model))


def work_off_gaps(
    brain: Brain,
    model: Model | None,
    *,
    now: int,
    gate: Gate | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[GapResult]:
    """Attempt the gaps that are due, and yield what became of each; `now` is ms since 1970.

    Only for a process that holds the learning of the brain. Without a model or a sandbox nothing is
    attempted, and the results say so; nor is anything if the environment turns gaps off. After a
    failure of the model nothing more is attempted. Raises `Conflict` (`evolution_off`),
    `InvalidInput` (`bad_manifest`), `ModelError`, or `StoreError` if the store of experience does
    not work.
    """
    require_evolution(brain)
    if brain.gaps.read_mode() == OFF:
        return
    store = brain.gaps.open_store()
    _remember_accepted(brain, store, now)
    if brain.gaps.is_periodic():
        queue_open_gaps(store, now)
    obstacle = _find_obstacle(model)
    if model is None or obstacle:
        ended = EndedAttempt(phase=MODEL_PHASE, result=SKIPPED, reason=obstacle)
        for item in store.items(GAPS):
            if item.result is None:
                yield describe_attempt(read_gap(item.data), ended)
        return
    for _ in range(_MAX_ATTEMPTS):
        work = None if should_stop() else store.next(GAPS, now)
        if work is None:
            return
        attempt = GapAttempt(brain, model, work, now, gate)
        result = attempt.make()
        if result is not None:
            yield result
        if attempt.model_error is not None:
            raise attempt.model_error


def _find_obstacle(model: Model | None) -> str:
    """Return why nothing can be attempted, "" if it can."""
    if model is None:
        return "no model is configured; choose one with `brain config model`"
    try:
        find_sandbox()
    except SandboxError as error:
        return error.message
    return ""


def _remember_accepted(brain: Brain, store: Store, now: int) -> None:
    """Remember the capabilities that a person accepted since they were proposed, and that may run.

    Each is an item, whose time is that of the record: a process that was killed adds the same
    record to the memory, which has it once. Raises `StoreError`.
    """
    proposed = list_proposed(store.items(GAPS))
    if not proposed:
        return
    for one in brain.programs.list():
        if one.status == "runnable" and one.slug in proposed:
            store.add(_ACCEPTED, one.slug, now, proposed[one.slug])
    while (item := store.next(_ACCEPTED, now)) is not None:
        gap, name, reason = read_gap(item.data), item.key.replace("-", "_"), ""
        try:
            remember_capability(brain, gap, name, item.at)
        except BrainError as error:
            reason = f"it is not in the memory: {error.message}"
        event = build_gap_event(gap, item.at, COMPLETE_PHASE, SUCCESS, name=name, reason=reason)
        item.finish({}, event)
