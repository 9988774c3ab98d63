"""What a job of the scheduler is given: the brain, a model that is counted, and its pauses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

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
FIRST_PAUSE_MS = 60_000
MAX_PAUSE_MS = 6 * 3_600_000
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
        pause = read_pause(self.store, self.model.model_name, self.now())
        return pause.describe() if pause else self.budget.find_obstacle()

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


# Pauses after failures of the model: each is longer than the one before, up to a bound


class ModelPause(NamedTuple):
    """After `failures` in a row the model is not asked before `until`; ms since 1970."""

    failures: int
    until: int
    reason: str

    def describe(self) -> str:
        """Return why the model is not asked, and until when."""
        times = "once" if self.failures == 1 else f"{self.failures} times in a row"
        until = utc_time(self.until).isoformat(timespec="seconds")
        return f"the model failed {times} and is not asked before {until}: {self.reason}"


def pause_length(failures: int) -> int:
    """Return the ms to wait after so many failures: 1, 4, 16, 64 … minutes, at most 6 h."""
    return min(FIRST_PAUSE_MS << 2 * min(failures - 1, 8), MAX_PAUSE_MS)


def read_pause(store: Store, model: str, now: int) -> ModelPause | None:
    """Return the pause that lasts, None if the model may be asked.

    The pause of another model does not count, nor one that the clock would make longer than
    its length: then the clock was set back.
    """
    fields = store.fact(_PAUSE)
    if not fields or fields["model"] != model:
        return None
    pause = ModelPause(fields["failures"], fields["until"], fields["reason"])
    return pause if now < pause.until <= now + pause_length(pause.failures) else None


def add_failure(store: Store, model: str, now: int, error: ModelError) -> ModelPause:
    """Count a failure of the model; return the pause that follows."""

    def add(fields: dict[str, Any]) -> dict[str, Any]:
        failures = 1 + (fields["failures"] if fields.get("model") == model else 0)
        return {
            "model": model,
            "failures": failures,
            "until": now + pause_length(failures),
            "reason": printable_text(error.message, 300),
        }

    fields = store.change(_PAUSE, add)
    return ModelPause(fields["failures"], fields["until"], fields["reason"])


def end_pause(store: Store) -> None:
    """Note that the model answered well."""
    store.change(_PAUSE, lambda _: {})
