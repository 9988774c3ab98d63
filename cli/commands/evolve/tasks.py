"""The commands of `brain evolve task`: tasks with files, read where they lie, proven and run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brain.errors import BrainError, InvalidInput, printable_text

from ...command import (
    BASIC_EXITS,
    WRITE_EXITS,
    argument,
    brain_command,
    exit_statuses,
    flag,
    option,
    repeated_option,
)
from ...context import App
from ...error_report import FAILURE, VERIFICATION_FAILED, Failure
from ...output import emit, emit_line
from ...params import PathType, SecondsType, SlugType
from ...render.human_format import align_columns, pluralize
from ...terminal import escape

if TYPE_CHECKING:
    from brain.models import Model
    from brain.solving.check import TaskCheck, TaskRun
    from brain.solving.judge import Judge
    from brain.solving.solver import Skill, Solver
    from brain.tasks.task import Task
    from brain.tasks.task_folders import BrokenTask

_SHOWN_CHARS = 70


@brain_command(
    "list",
    examples=("brain evolve task list skills/pdf", "brain evolve task list tasks --json"),
    exits=exit_statuses(VERIFICATION_FAILED),
)
@argument("folders", metavar="FOLDER...", nargs=-1, required=True, type=None)
def evolve_task_list_command(app: App, folders: tuple[str, ...]) -> None:
    """List the tasks of folders, and what cannot be had here.

    A folder is a task, or holds some, also in tasks/ and evals/. Read as they are: folders of
    Harbor and Terminal-Bench (instruction.md), of SkillsBench (task.md), cases of 'claude plugin
    eval', and evals/evals.json. Nothing runs. Status 3 if a task cannot be read.
    """
    tasks, broken = read_folders(folders)
    rows = [_describe(task) for task in tasks]
    faults = [{"name": one.name, "reason": one.error.message} for one in broken]
    emit(app, {"tasks": rows, "broken": faults}, _list_lines(tasks, broken))
    if broken:
        raise Failure("bad_task", "", status=VERIFICATION_FAILED, quiet=True)


def _describe(task: Task) -> dict[str, Any]:
    image = task.image
    return {
        "name": task.name,
        "format": task.format,
        "source": task.source,
        "scored_by": "tests" if task.tests else "graders",
        "needs_judge": task.needs_judge,
        "is_shared": task.is_shared,
        "has_oracle": bool(task.solution),
        "base": image.base,
        "python": image.python,
        "packages": list(image.packages),
        "wheels": list(image.requirements),
        "missing": list(task.missing),
        "notes": list(task.notes),
    }


def _list_lines(tasks: Sequence[Task], broken: Sequence[BrokenTask]) -> Iterator[str]:
    yield from align_columns(
        (
            escape(task.name),
            task.format,
            "needs a judge" if task.needs_judge else "tests" if task.tests else "checked",
            escape(f"not here: {'; '.join(task.missing)}" if task.missing else ""),
        )
        for task in tasks
    )
    for one in broken:
        yield escape(f"{one.name}: {one.error.message}")


@brain_command(
    "check",
    examples=("brain evolve task check tasks/*", "brain evolve task check evals --seconds 120"),
    exits=exit_statuses(VERIFICATION_FAILED),
)
@argument("folders", metavar="FOLDER...", nargs=-1, required=True, type=None)
@option("--seconds", type=SecondsType(), help="The most that each solver and verifier may take.")
def evolve_task_check_command(app: App, folders: tuple[str, ...], seconds: float | None) -> None:
    """Prove tasks: their oracle scores 1, and an empty solution 0.

    Each runs in the sandbox without a network, from its Dockerfile as far as that can be read
    without Docker; wheels are installed beforehand, by uv or pip, into your cache folder. The
    exit status is 3 if a task is wrong or cannot be read, and 1 if one cannot run or be proven
    here; each line says why.

    --json prints one document per line for each task.
    """
    from brain.sandbox.find_sandbox import find_sandbox
    from brain.solving.check import TaskCheck, check_task

    tasks, broken = read_folders(folders)
    results = []
    for one in broken:
        row = TaskCheck(one.name, "", "wrong", reason=one.error.message)
        results.append(row.result)
        emit_line(app, row, _check_lines(row))
    sandbox = find_sandbox()
    for task in tasks:
        row = check_task(sandbox, _limit(task, seconds))
        results.append(row.result)
        emit_line(app, row, _check_lines(row))
    proven, wrong = results.count("proven"), results.count("wrong")
    app.print_note(f"{proven} of {pluralize(len(results), 'task')} proven, {wrong} wrong")
    if wrong or proven < len(results):
        status = VERIFICATION_FAILED if wrong else FAILURE
        raise Failure("not_proven", "", status=status, quiet=True)


def _check_lines(row: TaskCheck) -> Iterator[str]:
    why = f": {row.reason}" if row.reason else ""
    yield escape(f"{row.name} {row.result}{why}")
    if row.result != "proven":
        for note in row.notes:
            yield escape(f"  {note}")


@brain_command(
    "add",
    examples=("brain evolve task add pdf skills/pdf/tasks",),
    exits=WRITE_EXITS,
)
@argument("slug", type=SlugType())
@argument("folders", metavar="FOLDER...", nargs=-1, required=True, type=None)
def evolve_task_add_command(app: App, slug: str, folders: tuple[str, ...]) -> None:
    """Add a case of a skill for each task.

    The case holds the name and the instruction; the task stays where it is, and 'brain evolve try
    --tasks FOLDER --solver COMMAND' runs it. What cannot run here is left out, and what needs a
    judge if no model is configured.
    """
    from brain.evolve.task_runner import case_input
    from brain.gating.output_check import TASK_PASSES

    from ...settings.user_models import load_model_settings

    tasks, broken = read_folders(folders)
    added, left_out = [], {one.name: one.error.message for one in broken}
    for task in tasks:
        why = "; ".join(task.missing)
        if task.needs_judge and load_model_settings() is None:
            why = why or "it needs a judge, and no model is configured"
        if why:
            left_out[task.name] = why
            continue
        source = f"task {printable_text(task.name, 100)}"
        added.append(app.brain.gate.add_case(slug, case_input(task), TASK_PASSES, source))
    rows = [{"name": name, "reason": reason} for name, reason in left_out.items()]
    lines = [*(f"Case {one.name} of {one.slug}: {one.split}" for one in added)]
    lines += [f"Left out: {name}, {reason}" for name, reason in left_out.items()]
    emit(app, {"cases": added, "left_out": rows}, map(escape, lines))


@brain_command(
    "run",
    examples=(
        "brain evolve task run tasks/hello --solver oracle",
        "brain evolve task run tasks --solver 'python3 $SKILLS/words/skill.py' --skill words",
        "brain evolve task run evals --solver 'claude -p --output-format json'"
        " --unsandboxed-solver --pass-env ANTHROPIC_API_KEY",
    ),
    exits=BASIC_EXITS,
)
@argument("folders", metavar="FOLDER...", nargs=-1, required=True, type=None)
@option(
    "--solver", metavar="oracle|empty|model|COMMAND", required=True, help="What solves the tasks."
)
@repeated_option(
    "--skill", metavar="FOLDER", type=PathType(), help="A skill in front of the solver."
)
@flag("--unsandboxed-solver", "is_outside", help="Run the command outside the sandbox.")
@repeated_option("--pass-env", "names", metavar="NAME", help="A variable that it gets, as a key.")
@option("--seconds", type=SecondsType(), help="The most that each solver and verifier may take.")
def evolve_task_run_command(
    app: App,
    folders: tuple[str, ...],
    solver: str,
    skill: tuple[str, ...],
    is_outside: bool,
    names: tuple[str, ...],
    seconds: float | None,
) -> None:
    """Have a solver work on tasks, and score what it did.

    The model that is configured gets bash in the sandbox. A command runs there too, with the
    instruction as its standard input. A command that
    needs a network, such as 'claude -p', runs outside with --unsandboxed-solver, in a folder and
    a home of its own; it can then do what you can do. Tests are put in only when it has ended.
    What only a judge can decide is judged by the model that is configured. Status 16 if a score
    could not be given.

    --json prints one document per line for each task.
    """
    from brain.models.calls import Bill
    from brain.sandbox.find_sandbox import find_sandbox
    from brain.solving.check import run_task
    from brain.solving.task_session import TaskSessions

    tasks, broken = read_folders(folders)
    chosen, skills = make_solver(solver, is_outside, names), [_skill(Path(one)) for one in skill]
    bill = Bill()

    def meter(model: Model) -> Model:
        from brain.models.paid_once import PaidModel

        return PaidModel(model, [bill.meter])

    sandbox, unscored, judge = find_sandbox(), len(broken), find_judge(tasks, meter)
    for one in broken:
        app.print_note(escape(f"{one.name}: {one.error.message}"))
    for task in tasks:
        if task.missing:
            run, why = None, "; ".join(task.missing)
        else:
            try:
                run, why = (
                    run_task(TaskSessions(sandbox, _limit(task, seconds)), chosen, skills, judge),
                    "",
                )
            except BrainError as error:
                run, why = None, error.message
        row = _run_row(task.name, chosen.name, run, why)
        unscored += row["score"] is None
        emit_line(app, row, _run_lines(row))
    if judge is not None and bill.requests:
        app.print_note(f"To judge: {cost_line(judge.name, *bill.total)}")
    if unscored:
        raise Failure("not_scored", "", quiet=True)


def _run_row(name: str, solver: str, run: TaskRun | None, why: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "solver": solver, "score": None, "reason": why}
    if run is None:
        return row
    attempt, score = run.attempt, run.score
    return {
        **row,
        "score": score.value,
        "reason": score.reason or attempt.error,
        "parts": dict(score.parts),
        "unjudged": list(score.unjudged),
        "judged_by": score.judged_by,
        "is_shared": score.is_shared,
        "was_read": attempt.was_read,
        "requests": attempt.requests,
        "tokens_in": attempt.tokens_in,
        "tokens_out": attempt.tokens_out,
    }


def _run_lines(row: dict[str, Any]) -> Iterator[str]:
    score = "no score" if row["score"] is None else f"{row['score']:g}"
    was_read = row.get("was_read")
    read = "" if was_read is None else ", skill read" if was_read else ", skill not read"
    shared = ", scored beside the solver's processes" if row.get("is_shared") else ""
    why = f": {row['reason']}" if row["reason"] else ""
    judged = f", judged by {row['judged_by']}" if row.get("judged_by") else ""
    yield escape(f"{row['name']} {score}{read}{shared}{judged}{why}")
    if row.get("unjudged"):
        yield escape(f"  not decided: {', '.join(row['unjudged'])}")


def cost_line(model: str, requests: int, tokens_in: int, tokens_out: int) -> str:
    """Say what was paid for a model."""
    asked = f"Asked {model}, {pluralize(requests, 'request')}"
    return escape(f"{asked}, {tokens_in} tokens in, {tokens_out} out")


def find_judge(tasks: Sequence[Task], meter: Callable[[Model], Model]) -> Judge | None:
    """Return the user's model, which `meter` wraps, as a judge.

    None without a model, or if no task needs a judge.
    """
    from ...settings.user_models import find_user_model

    model = find_user_model() if any(task.needs_judge for task in tasks) else None
    if model is None:
        return None
    from brain.solving.judge import Judge

    return Judge(meter(model))


def make_solver(
    text: str,
    is_outside: bool,
    names: Sequence[str],
    meter: Callable[[Model], Model] = lambda model: model,
) -> Solver:
    """Return what the options of a command name; `meter` wraps a model."""
    from brain.solving.command import HostCommand
    from brain.solving.solver import EmptySolver, ModelSolver, OracleSolver, SessionCommand

    if not text.strip():
        raise click.UsageError("The solver is empty.")
    if names and not is_outside:
        raise click.UsageError("--pass-env is for a command with --unsandboxed-solver.")
    if not is_outside:
        if text == "model":
            from ...settings.user_models import open_user_model

            return ModelSolver(meter(open_user_model()))
        if text in ("oracle", "empty"):
            return OracleSolver() if text == "oracle" else EmptySolver()
        return SessionCommand(text)
    if absent := [name for name in names if name not in os.environ]:
        raise InvalidInput(
            f"the variable {absent[0]} is not set",
            code="no_variable",
            hint="set it, or leave out its --pass-env",
        )
    return HostCommand(text, {name: os.environ[name] for name in names})


def _skill(folder: Path) -> Skill:
    from brain import Brain
    from brain.skills.skill_metadata import read_skill_metadata
    from brain.solving.solver import Skill

    body, files = Brain.skills.read_folder(folder)
    name = folder.resolve().name
    return Skill(name, read_skill_metadata(body, name).description, {"SKILL.md": body, **files})


def read_folders(folders: Sequence[str]) -> tuple[list[Task], list[BrokenTask]]:
    """Return the tasks of all folders, and those that cannot be read, of one folder also."""
    from brain.tasks.task_folders import BrokenTask, read_tasks

    tasks: list[Task] = []
    broken: list[BrokenTask] = []
    for folder in folders:
        try:
            found = read_tasks(Path(folder))
        except InvalidInput as error:
            if len(folders) == 1:
                raise
            broken.append(BrokenTask(folder, error))
            continue
        tasks += found.tasks
        broken += found.broken
    return tasks, broken


def _limit(task: Task, seconds: float | None) -> Task:
    if seconds is None:
        return task
    limits = task.limits
    return replace(
        task,
        limits=replace(
            limits,
            solver_seconds=min(seconds, limits.solver_seconds),
            verifier_seconds=min(seconds, limits.verifier_seconds),
        ),
    )
