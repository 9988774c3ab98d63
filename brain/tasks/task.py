"""A task: what a solver is asked, what it works on, and how its work is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from .images import EMPTY_IMAGE, Image, TaskFile

TaskFormat = Literal["harbor", "skillsbench", "evals", "claude-eval"]
DEFAULT_SECONDS = 600.0
MAX_SECONDS = 3600.0
"""What a solver, and a verifier, may take at most, whatever a task asks for."""

GraderKind = Literal["regex", "file_exists", "tool_used", "tool_order", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """Limits that a task asks for, cut to what is allowed; `memory` and `storage` are bytes."""

    solver_seconds: float = DEFAULT_SECONDS
    verifier_seconds: float = DEFAULT_SECONDS
    memory_bytes: int = 2 << 30
    storage_bytes: int = 1 << 30


class Grader(NamedTuple):
    """One check of what a solver did. `settings` are those of its kind; a judge has `criteria`."""

    name: str
    kind: GraderKind
    weight: float
    settings: Mapping[str, Any]
    criteria: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task; either `tests` or `graders` score it.

    `tests` are files below /tests with a `test.sh`, seen by no solver; `solution` holds those of
    the oracle, by their path below /solution. `files` are those of the folder that the solver
    starts in, beside those of the `image`. `missing` says what cannot be had on any machine
    without a container engine, a network or a device; `notes` what may make a difference.
    """

    name: str
    format: TaskFormat
    instruction: str
    source: str
    category: str = ""
    """What kind of work it is, as its author says."""
    image: Image = EMPTY_IMAGE
    files: Mapping[str, TaskFile] = field(default_factory=dict)
    tests: Mapping[str, TaskFile] = field(default_factory=dict)
    solution: Mapping[str, TaskFile] = field(default_factory=dict)
    graders: tuple[Grader, ...] = ()
    expected: str = ""
    """What a solver should bring about, in words, for a judge."""
    limits: TaskLimits = TaskLimits()
    is_shared: bool = False
    """The verifier runs beside the processes of the solver, which could write its reward."""
    test_environment: Mapping[str, str] = field(default_factory=dict)
    solution_environment: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def needs_judge(self) -> bool:
        """Whether a part of the score is what only a model, or a person, can decide."""
        return any(grader.kind == "judge" for grader in self.graders)
