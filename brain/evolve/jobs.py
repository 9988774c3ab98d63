"""What a job of the scheduler is given: the brain, a model that is counted, and its pauses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ModelError, printable_text
from ..experience.run_end import SYNTHESIS
from ..repo.open.manifest import NO_BOUNDS, OFF, Bounds
from ..results import GateOutcome, ScheduledStep
from ..util.utc_time import utc_time
from .budget import Budget, Interrupted, now_ms, open_budget

if TYPE_CHECKING:
    from ..api.brain import Brain
    from ..experience.store import Store
    from ..models import Model
    from ..models.calls import RequestBound
    from ..models.config import Prices

DONE, FAILED, WAITING, BUSY = "done", "failed", "waiting", "busy"
"""Results of a step."""
OFF_REASON = "the evolution mode of this brain is off"
NO_MODEL_REASON = "no model is configured; choose one with `brain config model`"
MAX_PROMPT_BYTES = 200_000
"""Size of a request about a pattern or a gap, which bounds what it may cost."""
PAUSE_MS = 600_000
"""How long a model that failed is not asked."""
_PAUSE = "model pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """The brain, the store, and the model that jobs work with; `now` is the time in ms.

    `should_stop` tells that the scheduler was asked to end.
    """

    brain: Brain
    store: Store
    model: Model | None
    budget: Budget
    now: Callable[[], int] = now_ms
    should_stop: Callable[[], bool] = lambda: False

    def find_obstacle(self) -> str:
        """Say why the model is not asked now, "" if it is."""
        if self.model is None:
            return NO_MODEL_REASON
        pause, _ = read_pause(self.store, self.model.model_name, self.now())
        return pause or self.budget.find_obstacle()

    def metered_model(self, evolver: str) -> Model | None:
        """Return the model, whose requests count as cost of an evolver."""
        if self.model is None:
            return None

        def check(bound: RequestBound) -> None:
            if self.should_stop():
                raise Interrupted("the scheduler ends")
            if self.brain.gate.read_mode() == OFF:
                raise Interrupted(OFF_REASON)
            if evolver != SYNTHESIS and bound.bytes > MAX_PROMPT_BYTES:
                error = ModelError(
                    f"the prompt has {bound.bytes} bytes, more than {MAX_PROMPT_BYTES}",
                    code="too_long",
                    hint="nothing was asked",
                )
                error.requests = 0
                raise error

        return self.budget.meter(self.model, evolver, check)


def open_context(
    brain: Brain,
    model: Model | None = None,
    now: Callable[[], int] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    budget: Bounds = NO_BOUNDS,
    prices: Prices | None = None,
) -> JobContext:
    """Return what jobs over a brain are given. Raises `StoreError`, `InvalidInput`.

    `prices` are for where there is no model.
    """
    return JobContext(
        brain=brain,
        store=brain.gaps.open_store(),
        model=model,
        budget=open_budget(brain, model, prices, budget, now or now_ms),
        now=now or now_ms,
        should_stop=should_stop,
    )


def make_step(
    evolver: str,
    result: str,
    reason: str,
    *,
    key: str = "",
    slug: str = "",
    outcome: GateOutcome | None = None,
) -> ScheduledStep:
    """Return a step of an evolver."""
    return ScheduledStep(
        evolver=evolver, key=key, result=result, reason=reason, slug=slug, outcome=outcome
    )


def pause_model(store: Store, model: str, now: int, error: ModelError) -> str:
    """Let nobody ask a model that failed for a while; return that as a sentence."""
    until = now + PAUSE_MS
    time = utc_time(until).isoformat(timespec="seconds")
    why = printable_text(error.message, 300)
    reason = f"the model failed and is not asked before {time}: {why}"
    store.change(_PAUSE, lambda _: {"model": model, "until": until, "reason": reason})
    return reason


def read_pause(store: Store, model: str, now: int) -> tuple[str, int]:
    """Return why the model is not asked, and until when; "" and 0 if it may be.

    The pause of another model does not count, nor one that the clock would make longer than
    its length: then the clock was set back.
    """
    pause = store.fact(_PAUSE)
    if pause.get("model") == model and now < pause["until"] <= now + PAUSE_MS:
        return pause["reason"], pause["until"]
    return "", 0


def end_pause(store: Store) -> None:
    """Let the model be asked again."""
    store.change(_PAUSE, lambda _: {})
