"""Whole grinds in this process: a scripted solver and evolver, and no sandbox."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from itertools import count, islice
from typing import Any

from brain import Brain
from brain.evolve.grind import workspace
from brain.evolve.grind.library import Front
from brain.evolve.grind.loop import Grind
from brain.evolve.grind.settings import GrindSettings, Split
from brain.evolve.grind.solve import HoldoutRunner, MemoryItem, Row, broken_row
from brain.evolve.task_runner import case_input
from brain.gating.held_out import is_held_out
from brain.repo.learning.change import ProposedChange
from brain.results import GateOutcome
from brain.tasks.task import Task

PLAIN: dict[str, Any] = {"task_skills": "off", "success": "off"}
"""Settings of a grind that only solves, evolves and tries again."""
Files = dict[str, bytes]
Change = Callable[[int, Files], object]
"""Edits the files of a workspace in step number so and so."""


def make_task(name: str, instruction: str = "", **fields: Any) -> Task:
    return Task(
        name=name, format="harbor", instruction=instruction or f"Do {name}.", source="", **fields
    )


def draw_tasks(number: int, *, held_out: bool, name: str = "t", **fields: Any) -> list[Task]:
    """Return so many tasks of one half."""
    made = (make_task(f"{name}{at}", **fields) for at in count())
    return list(islice((one for one in made if is_held_out(case_input(one)) == held_out), number))


def make_row(task: Task, score: float | None, **fields: Any) -> Row:
    return {**broken_row(task, ""), "score": score, "is_broken": False, **fields}


def skill_text(body: str, name: str = "a", **fields: str) -> bytes:
    head = {"name": name, "description": f"Use {name} for work", **fields}
    lines = "".join(f"{key}: {value}\n" for key, value in head.items())
    return f"---\n{lines}---\n{body}\n".encode()


def texts_of(front: Front) -> str:
    """Return all that the skills in front of a solver say."""
    return "\n".join(
        data.decode() for skill in front.skills for _, data in sorted(skill.files.items())
    )


class Inline(Executor):
    """Runs what is submitted at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **named))
        except BaseException as error:  # noqa: BLE001 - raised by whoever asks for the result
            future.set_exception(error)
        return future


class Script:
    """A solver and an evolver, which count what they were paid for.

    `score` is asked for the score of a task, or its row, with skills in front; `change` edits files
    in place. `prompts` and `kept` are what the evolver was shown, by the number of the step.
    """

    def __init__(
        self,
        score: Callable[[Task, Front], float | Row | None] = lambda task, front: 0.0,
        change: Change = lambda number, files: None,
    ) -> None:
        self._score = score
        self._change = change
        self.paid: Counter[str] = Counter()
        self.prompts: dict[int, str] = {}
        self.shown: dict[int, Files] = {}

    def solve(self, key: str, task: Task, front: Front) -> Row:
        self.paid[key] += 1
        made = self._score(task, front)
        row = made if isinstance(made, dict) else make_row(task, made)
        return {**row, "skills": front.slugs, "requests": 1}

    def edit(self, number: int, prompt: str, files: Mapping[str, bytes]) -> bytes:
        self.paid[f"evolve/{number}"] += 1
        self.prompts[number], self.shown[number] = prompt, dict(files)
        left = dict(files)
        self._change(number, left)
        bill = {"requests": 1, "tokens_in": 10, "tokens_out": 2, "error": ""}
        return workspace.pack({**left, workspace.BILL: json.dumps(bill).encode()})


def make_grind(
    brain: Brain,
    tasks: Sequence[Task],
    script: Script,
    *,
    holdout: Sequence[Task] = (),
    test: Sequence[Task] = (),
    item: Any = None,
    name: str = "grind",
    settings: Mapping[str, Any] | None = None,
    **given: Any,
) -> Grind:
    """Return a grind of tasks for practice; `settings` differ from PLAIN."""

    def propose(change: ProposedChange, runner: HoldoutRunner) -> GateOutcome:
        return brain.gate.open(runner=runner).propose(change)

    known: dict[str, Any] = {
        "solve": script.solve,
        "edit": script.edit,
        "executor": Inline(),
        "propose": propose,
        "split": Split(tuple(tasks), tuple(holdout), tuple(test)),
        "solver": "scripted",
        "evolver": "scripted",
    }
    return Grind(
        brain,
        [*tasks, *holdout, *test],
        GrindSettings(**{**PLAIN, **(settings or {})}),
        item or MemoryItem(),
        name=name,
        **{**known, **given},
    )


def grind(brain: Brain, tasks: Sequence[Task], script: Script, **given: Any) -> dict[str, Any]:
    """Grind tasks as `make_grind` says, and return the report."""
    return make_grind(brain, tasks, script, **given).run()


_VARYING = ("seconds", "attempt")


def normalize(report: Any) -> Any:
    """Return a report with each id as the number of its first place, and without seconds."""
    ids: dict[str, str] = {}

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(one) for key, one in value.items() if key not in _VARYING}
        if isinstance(value, list):
            return [walk(one) for one in value]
        if isinstance(value, str) and len(value) == 64:
            return ids.setdefault(value, f"id {len(ids)}")
        return value

    return walk(report)


def set_mode(brain: Brain, mode: str) -> None:
    """Let what the gate admits go to the head (gated), wait for a person, or nothing evolve."""
    brain.files.edit("manifest.yaml", lambda _: f"evolution:\n  mode: {mode}\n".encode())


def branch_files(brain: Brain, name: str = "grind") -> Files:
    return brain.gate.read_workspace(f"proposed/{name}")
