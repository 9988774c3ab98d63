"""Start a grind, by one function or by the objects of the seed page.

Each of these objects may be exchanged for one of a caller's own:

evolver = Evolver(brain, Benchmark("tasks"), Agent(solver), Engine(another_solver))
result = evolver.run(cycles=10)
print(result.final_score, result.converged)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple, Never

from ...digest import blob_id
from ...errors import Conflict, InvalidInput
from ...ops.branches import check_branch_name
from ...repo.learning.change import ProposedChange
from ...repo.learning.rounds import GateLimits
from ...results import GateOutcome
from ...solving.solver import Solver
from ...tasks.task import Task
from ...tasks.task_folders import read_tasks
from ..budget import now_ms, require_evolution
from . import workspace
from .library import make_front
from .loop import Grind, OpenSolver, Propose
from .settings import GrindSettings, Split, split_tasks
from .solve import (
    HoldoutRunner,
    LocalEvolver,
    LocalSolving,
    MemoryItem,
    Row,
    Steps,
    score_of,
    sign_task,
)

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...experience.store import Item, Store
    from ...sandbox.job import Sandbox
    from ...search.embedder import Embedder
    from ...solving.judge import Judge
    from .fleet import FleetSolving


DEFAULT_SETTINGS = GrindSettings()


def run_grind(
    brain: Brain,
    tasks: Sequence[Task],
    settings: GrindSettings,
    *,
    open_solver: OpenSolver,
    open_evolver: OpenSolver,
    name: str = "grind",
    begin_anew: bool = False,
    propose: Propose | None = None,
    max_batches: int | None = None,
    fleet: FleetSolving | None = None,
    sandbox: Sandbox | None = None,
    judge: Judge | None = None,
    embedder: Embedder | None = None,
    compare: bool = False,
    observe: Callable[[str, Mapping[str, Any]], object] = lambda kind, row: None,
) -> dict[str, Any]:
    """Grind tasks, or go on where a process with the same arguments ended; return the report.

    `open_solver` and `open_evolver` return a solver whose paid steps are kept in the steps given;
    `propose` is the gate of the brain by default, and a `fleet` solves in place of this process.
    See `Grind` for the others. Raises `InvalidInput` (`no_tasks`, `same_task`), `Conflict`
    (`evolution_off`, `grind_differs`), `Locked` (`learning`), `StoreError`, `ModelError`,
    `SandboxError`.
    """
    require_evolution(brain)
    check_branch_name(name)
    names = [workspace.task_skill_file(task.name) for task in tasks]
    if double := next((one for one, count in Counter(names).items() if count > 1), ""):
        raise InvalidInput(
            f"two tasks have the id {double.rpartition('/')[2].removesuffix('.md')}",
            code="same_task",
            hint="rename the folder of one of them",
        )
    sandbox = _find(sandbox)
    store, kind = brain.gaps.open_store(), f"{workspace.EVOLVER} {name}"
    with store.learning():
        unpaid = Steps(MemoryItem(), "")
        solver, evolver = (one(unpaid).name for one in (open_solver, open_evolver))
        listed = "".join(sorted(map(sign_task, tasks)))
        data = {
            "tasks": blob_id(listed.encode()).hex(),
            "settings": {**asdict(settings), "workers": 0},
            "solver": solver,
            "evolver": evolver,
        }
        brain.snapshot(f"Before the grind {name}")  # what stands in the folder is ground, too
        item = _claim(store, kind, name, data, begin_anew=begin_anew)

        gating = Gating(brain, sandbox=sandbox, confirm=item.confirm)
        size = fleet.pool.size if fleet else settings.workers
        with ThreadPoolExecutor(size) as executor:
            grind = Grind(
                brain,
                tasks,
                settings,
                item,
                name=name,
                solver=solver,
                evolver=evolver,
                solve=fleet or LocalSolving(sandbox, open_solver, item, judge),
                edit=LocalEvolver(sandbox, open_evolver, item, settings.seconds),
                executor=executor,
                propose=propose or gating.propose,
                max_batches=max_batches,
                embedder=embedder,
                compare=compare,
                observe=observe,
            )
            return grind.run()


def _claim(store: Store, kind: str, name: str, data: dict[str, Any], *, begin_anew: bool) -> Item:
    """Return the item of a grind that has not ended, else a new one."""
    item = store.next(kind, now_ms())
    if item is not None and begin_anew:
        item.finish({"result": "left"})
        item = None
    if item is None:
        store.add(kind, token_hex(8), now_ms(), data)
        item = store.next(kind, now_ms())
    assert item is not None
    if changed := [key for key in data if item.data.get(key) != data[key]]:
        item.wait()
        raise Conflict(
            f"the grind {name} began with other {', '.join(changed)}",
            code="grind_differs",
            hint="give the same arguments to go on with it, or --new to begin anew",
        )
    return item


class Agent:
    """Solves tasks with a brain in front: `solver` may be a model, a command, or an own class."""

    def __init__(self, solver: Solver, *, sandbox: Sandbox | None = None) -> None:
        self.solver = solver
        self._sandbox = sandbox

    def open_solver(self, steps: Steps) -> Solver:
        """Return the solver; one whose model is paid keeps its answers in `steps`."""
        return self.solver

    def solve(self, brain: Brain, task: Task, settings: GrindSettings = DEFAULT_SETTINGS) -> Row:
        """Solve a task once with all that the head of a brain says; see `solve_task`."""
        files = brain.gate.read_workspace()
        front = make_front(files, workspace.list_skills(files), task, settings, None)
        solving = LocalSolving(_find(self._sandbox), self.open_solver, MemoryItem())
        return solving("solve", task, front)


class Benchmark:
    """The tasks of a folder, in three parts; see `split_tasks` for how they are drawn."""

    def __init__(
        self,
        folder: str | Path,
        *,
        holdout_ratio: float = 0.2,
        split_seed: int = 42,
        score_mode: str = "dual",
    ) -> None:
        values = {"holdout": holdout_ratio, "seed": split_seed, "score_mode": score_mode}
        self.settings = GrindSettings.parse(**values)
        self.tasks = read_tasks(Path(folder)).tasks

    @property
    def split(self) -> Split:
        """The tasks for practice (`train` on the page), for the gate, and for the end."""
        return split_tasks(self.tasks, self.settings)

    def evaluate(self, agent: Agent, brain: Brain, tasks: Sequence[Task]) -> float:
        """Return the mean score of an agent at tasks, 0 for none."""
        rows = [agent.solve(brain, task, self.settings) for task in tasks]
        scores = [score_of(row, self.settings.score_mode) for row in rows]
        return sum(scores) / len(scores) if scores else 0.0


class Engine:
    """Edits a workspace after observations: `evolver` is a solver that works on its files."""

    def __init__(
        self,
        evolver: Solver,
        settings: GrindSettings = DEFAULT_SETTINGS,
        *,
        sandbox: Sandbox | None = None,
    ) -> None:
        self.evolver = evolver
        self.settings = settings
        self._sandbox = sandbox

    def open_evolver(self, steps: Steps) -> Solver:
        """Return the evolver; one whose model is paid keeps its answers in `steps`."""
        return self.evolver

    def evolve(
        self,
        workspace: Brain,
        observation_logs: Sequence[tuple[Task, Row]],
        evo_number: int,
        *,
        name: str = "grind",
    ) -> dict[str, Any]:
        """Make step `evo_number` after solves of tasks, on the branch `proposed/name` of a brain.

        Returns the number of skills before and after, those that were added, and the tokens that
        it took. Raises `Conflict` (`tag_exists`) for a number that another step has.
        """
        tasks = [task for task, _ in observation_logs]
        sandbox, item = _find(self._sandbox), MemoryItem(**{"number/0": str(evo_number)})
        if any(tag.name == f"evo-{evo_number}" for tag in workspace.tags.list()):
            raise Conflict(
                f"there is a step {evo_number} already",
                code="tag_exists",
                hint="use a higher number",
            )
        with ThreadPoolExecutor(1) as executor:
            grind = Grind(
                workspace,
                tasks,
                self.settings,
                item,
                name=name,
                solver="",
                evolver=self.evolver.name,
                solve=_do_nothing,
                edit=LocalEvolver(sandbox, self.open_evolver, item, self.settings.seconds),
                executor=executor,
                propose=_do_nothing,
                split=Split(tuple(tasks), (), ()),
            )
            step = grind.evolve_once(tasks, {task.name: row for task, row in observation_logs})
        return {
            "skills_before": step["skills_before"],
            "skills_after": step["skills_after"],
            "skills_added": step["added"],
            "usage": {"input_tokens": step["tokens_in"], "output_tokens": step["tokens_out"]},
        }


class Gating:
    """Decides about what was learned by the gate of a brain, on held-out tasks."""

    def __init__(
        self,
        brain: Brain,
        *,
        sandbox: Sandbox | None = None,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        self._open = partial(
            brain.gate.open,
            sandbox=sandbox,
            limits=GateLimits(seconds=math.inf),  # each solve has a limit of its own
            confirm=confirm,
        )

    def propose(self, change: ProposedChange, runner: HoldoutRunner) -> GateOutcome:
        """Try a change without and with it, and admit it, propose it, or keep the attempt."""
        return self._open(runner=runner).propose(change)


class Evolved(NamedTuple):
    """What an evolution came to: the mean score of the tasks for practice, and the report."""

    final_score: float | None
    converged: bool
    report: dict[str, Any]


class Evolver:
    """Wires a brain, its agent, a benchmark, an engine and a gate into one evolution."""

    def __init__(
        self,
        brain: Brain,
        benchmark: Benchmark,
        agent: Agent,
        engine: Engine,
        gating: Gating | None = None,
        *,
        name: str = "grind",
    ) -> None:
        self.brain = brain
        self.benchmark = benchmark
        self.agent = agent
        self.engine = engine
        self.gating = gating or Gating(brain)
        self.name = name

    def run(self, cycles: int = 10) -> Evolved:
        """Grind `cycles` batches, fewer once it has converged. Raises as `run_grind`."""
        parts = self.benchmark.settings
        settings = replace(
            self.engine.settings,
            holdout=parts.holdout,
            seed=parts.seed,
            score_mode=parts.score_mode,
        )
        report = run_grind(
            self.brain,
            self.benchmark.tasks,
            settings,
            open_solver=self.agent.open_solver,
            open_evolver=self.engine.open_evolver,
            name=self.name,
            propose=self.gating.propose,
            max_batches=cycles,
        )
        return Evolved(report["final_score"], report["converged"], report)


def _find(sandbox: Sandbox | None) -> Sandbox:
    from ...sandbox.find_sandbox import find_sandbox

    return sandbox or find_sandbox()


def _do_nothing(*_: object) -> Never:
    raise AssertionError("a single step solves and promotes nothing")
