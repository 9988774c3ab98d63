"""What a job of the scheduler is, and what it is given."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ...errors import ModelError, printable_text
from ...experience.experience_protocol import RateLimit
from ...repo.open.manifest import OFF
from ...results import GateOutcome, ScheduledStep
from ..held_work import Wait, wait_for_event
from ..saved_answers import Interrupted
from .costs import MAX_PROMPT_CHARS, add_cost

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore
    from ...models import Model
    from ..gaps.brain_protocol import GapBrain

DONE, FAILED, WAITING, BUSY = "done", "failed", "waiting", "busy"
"""Results of a step."""
SYNTHESIS = "synthesis"
"""The evolver of hard runs, and the kind of their work; its key is the id of the run."""
SYNTHESIS_LIMITS = (
    RateLimit(name="hour", seconds=3600, most=6),
    RateLimit(name="day", seconds=86_400, most=24),
)
"""Runs that a brain learns from in an hour and a day."""
OFF_REASON = "the evolution mode of this brain is off"
NO_MODEL_REASON = "no model is configured; choose one with `brain config model`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """`now` is the time in ms since 1970, which may jump; `seconds` never goes back.

    `wait` waits until an event is set, or some seconds, and tells whether it is set.
    """

    now: Callable[[], int] = field(default=lambda: time.time_ns() // 1_000_000)
    seconds: Callable[[], float] = time.monotonic
    wait: Wait = wait_for_event


def make_owner() -> str:
    """Return a name for a scheduler, with its host; ids of processes repeat in containers."""
    return f"{printable_text(os.uname().nodename, 40)} {secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """The brain, the stores, and the model that jobs work with.

    `should_stop` tells that the scheduler was asked to end; `owner` names this scheduler.
    """

    brain: GapBrain
    store: ExperienceStore
    model: Model | None
    clocks: Clocks
    should_stop: Callable[[], bool]
    owner: str = field(default_factory=make_owner)

    def rate_key(self, evolver: str) -> str:
        """Return the key under which the attempts of an evolver are counted for this brain."""
        return f"{evolver}:{self.brain.id}"

    def metered_model(self, evolver: str) -> Model | None:
        """Return the model, whose requests count as cost of an evolver."""
        if self.model is None:
            return None
        from ...models.paid_once import MeteredModel

        def check(chars: int) -> None:
            if self.should_stop():
                raise Interrupted("the scheduler ends")
            if self.brain.gate.read_mode() == OFF:
                raise Interrupted(OFF_REASON)
            if evolver != SYNTHESIS and chars > MAX_PROMPT_CHARS:
                error = ModelError(
                    f"the prompt has {chars} characters, more than {MAX_PROMPT_CHARS}",
                    code="too_long",
                    hint="nothing was asked",
                )
                error.requests = 0
                raise error

        return MeteredModel(self.model, check, partial(add_cost, self.store, evolver))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job: its evolver, how often it runs, and what it does.

    A job with `period` (ms) runs once in each; 0 is only for a queue. `queue` is the kind of work
    that makes it run sooner, "" for none. `find_new` lists what it would queue: names, and
    since when, None for since it last looked. A job that `works_off` claims each item itself; any
    other one is run by one process at a time. `find_switch` says what turns the job off, "" if
    nothing does. `limits` are shown by the status, and `max_tokens` is the most that one attempt
    may cost, with a model that calls tools or one that does not.
    """

    evolver: str
    run: Callable[[JobContext], Iterator[ScheduledStep]]
    period: int = 0
    queue: str = ""
    works_off: bool = False
    needs_model: bool = True
    find_switch: Callable[[JobContext], str] = field(default=lambda context: "")
    find_new: Callable[[JobContext], list[tuple[str, int | None]]] = field(default=lambda _: [])
    limits: tuple[RateLimit, ...] = ()
    max_tokens: Callable[[bool], int] = field(default=lambda has_tools: 0)


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
