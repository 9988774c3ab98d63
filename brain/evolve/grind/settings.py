"""Settings of a grind, with the names and defaults of the seed page, and what follows from them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Self, get_args

from ...errors import InvalidInput
from ...gating.held_out import is_held_out
from ...repo.learning.rounds import DEFAULT_LIMITS
from ...tasks.task import Task
from ..task_runner import case_input
from .feedback import FeedbackLevel

TaskSkills = Literal["off", "retry_only", "pre_generate_and_retry"]
OnSuccess = Literal["off", "draft_only", "gated_promotion"]
SelectBy = Literal["keywords", "embedding"]
ScoreMode = Literal["reward", "binary", "dual"]
_CHOICES = {
    "feedback": FeedbackLevel,
    "task_skills": TaskSkills,
    "success": OnSuccess,
    "select_by": SelectBy,
    "score_mode": ScoreMode,
}
MIN_HOLDOUT = 10
"""Where the share asked for leaves fewer tasks, all that are held out are tried on."""
MAX_HOLDOUT = DEFAULT_LIMITS.cases
"""More tasks than a gate tries would be solved for nothing."""
EGL_THRESHOLD = 0.05
_BOOLS = {"1": True, "true": True, "True": True, "0": False, "false": False, "False": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class GrindSettings:
    """How tasks are ground. `evolve_*` say what the evolver may edit; nothing else ever is.

    `holdout` is the share of all tasks that the gate tries a promotion on, at most as many as it
    tries, drawn by `seed` from the half that the hash of its input holds out. `select_limit` is the
    most skills in front of a solver, 0 for all. `is_deterministic`: the solver does the same each
    time.
    """

    max_cycles: int = 3
    batch_size: int = 1
    workers: int = 1
    evolve_skills: bool = True
    evolve_memory: bool = False
    evolve_prompts: bool = False
    evolve_tools: bool = False
    distill: bool = False
    feedback: FeedbackLevel = "tests"
    no_direct_answers: bool = True
    task_skills: TaskSkills = "pre_generate_and_retry"
    select_limit: int = 0
    select_by: SelectBy = "keywords"
    success: OnSuccess = "gated_promotion"
    promotion_threshold: int = 1
    score_mode: ScoreMode = "dual"
    holdout: float = 0.2
    seed: int = 42
    limit: int = 0
    egl_window: int = 3
    is_deterministic: bool = False
    seconds: float = 600.0
    """The most that the evolver may take for one step."""

    @classmethod
    def parse(cls, **texts: Any) -> Self:
        """Return settings from values or texts; None is the default. Raises `InvalidInput`."""
        values = {}
        for one in fields(cls):
            value, default = texts.get(one.name), one.default
            if value is None:
                continue
            if isinstance(value, str):
                read: Any = _BOOLS.__getitem__ if isinstance(default, bool) else type(default)
                try:
                    value = read(value)
                except (KeyError, ValueError):
                    raise _bad_setting(one.name, f"like {default}") from None
            values[one.name] = value
        return cls(**values)

    def __post_init__(self) -> None:
        for name, wanted in _CHOICES.items():
            if getattr(self, name) not in get_args(wanted):
                raise _bad_setting(name, f"one of {', '.join(get_args(wanted))}")
        least = dict.fromkeys(("max_cycles", "batch_size", "workers", "egl_window", "seconds"), 1)
        for name, lowest in {
            **least,
            "promotion_threshold": 1,
            "select_limit": 0,
            "limit": 0,
        }.items():
            if getattr(self, name) < lowest:
                raise _bad_setting(name, f"at least {lowest}")
        if not 0 < self.holdout < 1:
            raise _bad_setting("holdout", "a share between 0 and 1")


class Split(NamedTuple):
    """Tasks by their use; no task has two."""

    practice: tuple[Task, ...]
    holdout: tuple[Task, ...]
    test: tuple[Task, ...]


def split_tasks(tasks: Sequence[Task], settings: GrindSettings) -> Split:
    """Return tasks for practice, for the gate and for the one pass at the end.

    The hash of its input says whether a task is held out, so nobody chooses; of the held-out ones
    a seeded draw takes `max(1, n * holdout)` for the gate, and all if those were too few to decide
    anything. `limit` is the most tasks for practice.
    """
    held_out = [task for task in tasks if is_held_out(case_input(task))]
    practice = [task for task in tasks if not is_held_out(case_input(task))]
    wanted = max(1, int(len(tasks) * settings.holdout))
    drawn = sorted(held_out, key=lambda task: task.name)
    random.Random(settings.seed).shuffle(drawn)
    most = MAX_HOLDOUT if wanted < MIN_HOLDOUT else min(wanted, MAX_HOLDOUT)
    kept = {task.name for task in drawn[:most]}
    return Split(
        practice=tuple(practice[: settings.limit or None]),
        holdout=tuple(task for task in held_out if task.name in kept),
        test=tuple(task for task in held_out if task.name not in kept),
    )


def compute_egl(new_skills: int, solved: int) -> float:
    """Return the evolutionary generality loss: new skills for each 1,000 tasks solved.

    Without a solved task it counts as if there were one.
    """
    return new_skills / max(solved, 1) * 1000


def is_converged(egls: Sequence[float], window: int = 3, threshold: float = EGL_THRESHOLD) -> bool:
    """Tell whether the last `window` values are all below the threshold.

    Since a single new skill in 1,000 solved tasks is 1.0, that says that no skill was new.
    """
    return len(egls) >= window and all(value < threshold for value in egls[-window:])


def _bad_setting(name: str, wanted: str) -> InvalidInput:
    return InvalidInput(
        f"the setting {name} of the grind is not {wanted}",
        code="bad_setting",
        hint="see `brain evolve grind --help`",
    )
