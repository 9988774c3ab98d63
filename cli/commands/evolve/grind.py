"""The command `brain evolve grind`: solve, evolve and retry, over many tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from brain.errors import InvalidInput

from ...command import OVERWRITE_EXITS, argument, brain_command, flag, option, repeated_option
from ...context import App
from ...error_report import Failure
from ...output import emit
from ...params import CostType, CountType, PathType, SecondsType
from ...render.human_format import pluralize
from ...terminal import escape
from ...user_files import write_output_file
from .tasks import find_judge, make_solver, read_folders

if TYPE_CHECKING:
    from brain.evolve.grind.fleet import FleetSolving
    from brain.evolve.grind.solve import Steps
    from brain.models import Model
    from brain.models.paid_once import PaidModel
    from brain.solving.solver import Solver
    from brain.tasks.task import Task

LAYERS = ("skills", "memory", "prompts", "tools")
_SHOWN = 70


@brain_command(
    "grind",
    examples=(
        "brain evolve grind tasks --solver model",
        "brain evolve grind tasks --solver model --batch-size 8 --workers 4 --report grind.html",
        "brain evolve grind tasks --solver 'claude -p' --unsandboxed-solver --evolver model"
        " --pass-env ANTHROPIC_API_KEY",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("folders", metavar="TASKS...", nargs=-1, required=True, type=None)
@option("--solver", metavar="model|COMMAND", help="What solves the tasks.")
@option(
    "--evolver",
    metavar="model|COMMAND",
    help="What edits the workspace.  [default: the solver if that is the model]",
)
@option("--max-cycles", type=CountType(1), help="Tries of each task.  [default: 3]")
@option("--batch-size", type=CountType(1), help="Tasks between two promotions.  [default: 1]")
@option("--workers", type=CountType(1), help="Tasks solved side by side.  [default: 1]")
@option(
    "--executor",
    metavar="threads|processes|dask://HOST:PORT",
    help="Where they are solved; of a cluster, all workers are used.  [default: threads]",
)
@option("--limit", type=CountType(1), help="Tasks for practice at most.")
@repeated_option(
    "--evolve",
    "layers",
    type=click.Choice(LAYERS),
    help="What may be edited; may be repeated.  [default: skills]",
)
@option(
    "--feedback-level",
    "feedback",
    type=click.Choice(("none", "score", "tests", "masked", "full")),
    help="How much of the verifier the evolver sees.  [default: tests]",
)
@flag("--direct-answers", help="Let skills hold answers of tasks.")
@option(
    "--task-skill-mode",
    "task_skills",
    type=click.Choice(("off", "retry_only", "pre_generate_and_retry")),
    help="A short guide to each task.  [default: pre_generate_and_retry]",
)
@option(
    "--success-mode",
    "success",
    type=click.Choice(("off", "draft_only", "gated_promotion")),
    help="What follows a task that passes at once.  [default: gated_promotion]",
)
@option(
    "--promotion-threshold",
    type=CountType(1),
    help="Tasks that have to support a draft.  [default: 1]",
)
@option(
    "--skill-select-limit",
    "select_limit",
    type=CountType(0),
    help="Skills in front of a solver at most, 0 for all.  [default: 0]",
)
@option(
    "--select-by",
    type=click.Choice(("keywords", "embedding")),
    help="How they are chosen.  [default: keywords]",
)
@flag("--distill", help="Shorten skills above 200 lines or 6,000 bytes.")
@option(
    "--score-mode",
    type=click.Choice(("reward", "binary", "dual")),
    help="What a score is.  [default: dual]",
)
@option(
    "--holdout",
    type=click.FLOAT,
    metavar="SHARE",
    help="Share of the tasks that the gate uses.  [default: 0.2]",
)
@option("--seed", type=CountType(0), help="Draws these.  [default: 42]")
@option(
    "--seconds", type=SecondsType(), help="The time of one step of the evolver.  [default: 600]"
)
@flag("--deterministic", "is_deterministic", help="The solver does the same each time.")
@flag("--unsandboxed-solver", "is_outside", help="Run the command of the solver outside.")
@flag("--unsandboxed-evolver", "is_evolver_outside", help="Run that of the evolver outside.")
@repeated_option("--pass-env", "passed", metavar="NAME", help="A variable that it gets, as a key.")
@option("--max-tokens", type=CountType(1), help="Stop before the models take more tokens.")
@option("--max-cost", type=CostType(), metavar="COST", help="Stop before they cost more.")
@option("--name", help="Names the branch: proposed/NAME.  [default: grind]")
@flag("--new", "begin_anew", help="Begin anew instead of going on.")
@flag("--compare", help="At the end, solve the test tasks with and without what was learned.")
@option("--report", "page", type=PathType(), metavar="FILE", help="Write a page of HTML, too.")
def evolve_grind_command(
    app: App,
    folders: tuple[str, ...],
    layers: tuple[str, ...],
    direct_answers: bool,
    is_outside: bool,
    is_evolver_outside: bool,
    passed: tuple[str, ...],
    max_tokens: int | None,
    max_cost: int | None,
    name: str | None,
    begin_anew: bool,
    compare: bool,
    page: str | None,
    **settings: Any,
) -> None:
    """Solve tasks, evolve the brain where it fails, and try again.

    About half of the tasks are for practice, the others are held out by the hash of their input.
    A task that fails is shown to the evolver, as far as --feedback-level goes; its edits are a
    snapshot of the branch proposed/NAME between the tags pre-evo-N and evo-N, and the same task
    is tried again. After each batch the gate tries the branch on held-out tasks: what helps is
    proposed, or admitted where the manifest says evolution: mode: gated. Ended in the middle,
    also by kill or a spent budget, the same command goes on and pays nothing twice.
    """
    from brain.evolve.grind.api import run_grind
    from brain.evolve.grind.settings import GrindSettings

    tasks, broken = read_folders(folders)
    for one in broken:
        app.print_note(escape(f"{one.name} is left out: {one.error.message}"))
    values = {key: None if value is False else value for key, value in settings.items()}
    values |= {"no_direct_answers": False} if direct_answers else {}
    values |= {f"evolve_{one}": one in layers for one in LAYERS if layers}
    for key in [*GrindSettings.__dataclass_fields__, *values]:
        if values.get(key) is None:
            values[key] = os.environ.get(f"BRAIN_GRIND_{key.upper()}") or None
    solver, evolver = values.pop("solver"), values.pop("evolver")
    executor = values.pop("executor")
    if solver is None or (evolver is None and solver != "model"):
        raise click.UsageError("Give --solver, and --evolver if the solver is a command.")
    if page is not None and not Path(page).absolute().parent.is_dir():
        raise click.UsageError("The folder of --report does not exist.")
    chosen = GrindSettings.parse(**values)
    meter = _open_meter(app, max_tokens, max_cost)
    wanted = solver, is_outside, passed if is_outside else ()
    with _open_fleet(executor or "threads", chosen.workers, wanted, tasks, meter) as fleet:
        found = run_grind(
            app.brain,
            tasks,
            chosen,
            open_solver=_opener(*wanted, meter),
            open_evolver=_opener(
                evolver or solver, is_evolver_outside, passed if is_evolver_outside else (), meter
            ),
            name=name or "grind",
            begin_anew=begin_anew,
            fleet=fleet,
            judge=find_judge(tasks, meter),
            embedder=app.open_embedder() if chosen.select_by == "embedding" else None,
            compare=compare,
            observe=_Progress(app).observe,
        )
    emit(app, found, _report_lines(found, app.brain.gate.is_proposed(found["name"])))
    if page is not None:
        from brain.evolve.grind.report import render_report

        write_output_file(page, render_report(found).encode())
        app.print_note(escape(f"The page is {page}"))
    if found["result"] == "budget":
        raise Failure("budget_spent", found["reason"], "the same command goes on")
    cycles = [cycle for row in found["tasks"] for cycle in row["cycles"]]
    if cycles and all(cycle["score"] is None for cycle in cycles):
        raise Failure(
            "not_scored",
            "no task could be scored",
            "`brain evolve task check TASKS` says what is wrong with each",
        )


def _open_meter(app: App, max_tokens: int | None, max_cost: int | None) -> Callable[[Model], Model]:
    from brain.evolve import budget
    from brain.repo.manifest import Bounds

    opened: list[budget.Budget] = []

    def meter(model: Model) -> Model:
        if max_cost is not None and getattr(model, "prices", max_cost) is None:
            raise InvalidInput(
                "--max-cost needs to know what tokens cost",
                code="no_price",
                hint="set model.price-in and model.price-out with `brain config`",
            )
        if not opened:
            bounds = Bounds(max_tokens, max_cost)
            opened.append(budget.open_budget(app.brain, model, run=bounds))
        return opened[0].meter(model, "grind", lambda _: budget.require_evolution(app.brain))

    return meter


@contextmanager
def _open_fleet(
    executor: str,
    workers: int,
    solver: tuple[str, bool, tuple[str, ...]],
    tasks: Sequence[Task],
    meter: Callable[[Model], Model],
) -> Iterator[FleetSolving | None]:
    """Open the workers that solve; None if that is for threads of this process."""
    if executor == "threads":
        yield None
        return
    from brain.evolve.grind.fleet import FleetSolving, open_pool

    from ...settings.user_models import find_user_model

    is_model = solver[:2] == ("model", False) or any(task.needs_judge for task in tasks)
    model = find_user_model() if is_model else None
    paid = cast("PaidModel", meter(model)).meters[0] if model else None
    name = make_solver(*solver).name
    with closing(open_pool(executor, workers)) as pool:
        yield FleetSolving(pool, name, partial(make_solver, *solver), find_judge, paid)


def _opener(
    text: str, is_outside: bool, names: tuple[str, ...], meter: Callable[[Model], Model]
) -> Callable[[Steps], Solver]:
    """Return what opens a solver; the answers of a model are kept in the steps given."""
    if text != "model" or is_outside:
        chosen = make_solver(text, is_outside, names)
        return lambda steps: chosen
    from brain.models.paid_once import PaidModel
    from brain.solving.solver import ModelSolver

    from ...settings.user_models import open_user_model

    model = meter(open_user_model())
    return lambda steps: ModelSolver(PaidModel(model, (), steps))


class _Progress:
    """Tells on stderr what happens, what it has cost, and what time it may still take."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._tokens = 0
        self._batches = 0
        self._started = time.monotonic()

    def observe(self, kind: str, row: Mapping[str, Any]) -> None:
        """Show one event."""
        self._batches = row.get("batches", self._batches)
        self._tokens += row.get("tokens_in", 0) + row.get("tokens_out", 0)
        seconds = time.monotonic() - self._started
        parts = [f"{seconds:.0f} s"]
        if self._tokens:
            parts.append(f"{self._tokens} tokens")
        if kind == "batch" and (left := self._batches - row["number"]):
            parts.append(f"about {seconds / row['number'] * left:.0f} s left")
        self._app.print_note(escape(f"[{', '.join(parts)}] {_EVENTS[kind](row)}"))


def _begin_line(row: Mapping[str, Any]) -> str:
    uses = f"{row['holdout']} for the gate, {row['test']} for the end"
    return f"{pluralize(row['practice'], 'task')} for practice, {uses}"


def _cycle_line(row: Mapping[str, Any]) -> str:
    score = "no score" if row["score"] is None else f"score {row['score']:.3f}"
    tests = f" ({row['tests_passed']}/{row['tests']} tests)" if row["tests"] else ""
    word = "PASS" if row["passed"] else "FAIL"
    failure = "" if row["passed"] else f" {row['failure']}"
    return f"{row['task']} cycle {row['cycle']}: {word} {score}{tests}{failure}"


def _step_line(row: Mapping[str, Any]) -> str:
    parts = [f"evo-{row['number']} {row['kind']}: {pluralize(len(row['changed']), 'file')}"]
    if row["added"]:
        parts.append(f"new {', '.join(row['added'])}")
    if row["refused"]:
        parts.append(f"{len(row['refused'])} refused, such as {row['refused'][0]['path']}")
    if row["error"]:
        parts.append(row["error"])
    return ", ".join(parts)[: 3 * _SHOWN]


def _batch_line(row: Mapping[str, Any]) -> str:
    gate = row["gate"]
    said = f", {gate['slug']} {gate['done']}: {gate['reason']}" if gate else ""
    passed = f"{row['passed']} of {pluralize(len(row['tasks']), 'task')} passed"
    return f"batch {row['number']}: {passed}, {pluralize(row['skills'], 'skill')}{said}"


_EVENTS = {"begin": _begin_line, "cycle": _cycle_line, "step": _step_line, "batch": _batch_line}


def _report_lines(report: Mapping[str, Any], is_open: bool) -> Iterator[str]:
    done = [row for row in report["tasks"] if row["cycles"]]
    passed = sum(row["result"] == "passed" for row in done)
    first = sum(row["cycles"][0]["passed"] for row in done)
    yield f"{passed} of {pluralize(len(done), 'task')} passed, {first} at the first try"
    if report["final_score"] is not None:
        yield f"Score {report['final_score']:.3f}, EGL {report['egl']:.1f}"
    gates = [row["gate"] for row in report["batches"] if row["gate"]]
    for word in ("admitted", "provisional", "proposed", "kept", "rejected"):
        if count := sum(one["done"] == word for one in gates):
            yield f"{word.capitalize()}: {pluralize(count, 'promotion')}"
    if compared := report["compare"]:
        counts = (f"{compared[key]} {key}" for key in ("wins", "losses", "ties"))
        yield f"With and without what was learned, on {compared['split']}: {', '.join(counts)}"
    cost = report["cost"]
    if cost["requests"]:
        yield (
            f"Cost {pluralize(cost['requests'], 'request')}, {cost['tokens_in']} tokens in,"
            f" {cost['tokens_out']} out"
        )
    if is_open:
        yield escape(f"Review the branch with `brain proposal show {report['name']}`")
