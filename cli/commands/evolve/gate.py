"""The commands of the gate: `brain evolve try` and `brain evolve accept`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brain import limits
from brain.programs import PROGRAM_FILE
from brain.programs.program import is_program_file

from ...command import (
    OVERWRITE_EXITS,
    TRIAL_EXITS,
    argument,
    brain_command,
    flag,
    option,
    repeated_option,
)
from ...context import App
from ...error_report import NOT_ADMITTED, Failure
from ...options import message_option
from ...output import emit, to_json
from ...params import NonEmptyType, PathType, SlugType
from ...render.human_format import pluralize, short_id
from ...render.ledgers import commitment_lines, raise_if_not_committed
from ...settings.user_models import open_user_model
from ...terminal import escape
from ...user_files import read_input
from .tasks import cost_line, find_judge, make_solver, read_folders

if TYPE_CHECKING:
    from brain.models import Model
    from brain.repo.learning.change import ProposedChange
    from brain.repo.learning.rounds import CaseRunner
    from brain.results import Decided, GateNumbers, GateOutcome, GuardCounts

_PERSON = "person"
"""The evolver of what a person tries, as which its cost counts."""
_SHOWN = 8
"""Files that are shown, and skills whose cases did not run."""


@brain_command(
    "try",
    examples=(
        "brain evolve try count-words -f count-words",
        "brain evolve try sort-tickets -f sort-tickets.md --runner model",
    ),
    exits=TRIAL_EXITS,
)
@argument("slug", type=SlugType())
@option(
    "-f",
    "--file",
    "path",
    metavar="FOLDER|FILE",
    type=None,
    required=True,
    help="The skill with the change: its folder with all files, or its SKILL.md.",
)
@option("-d", "--description", metavar="TEXT", help="One line that says when to use the skill.")
@option(
    "--runner",
    type=click.Choice(("model", "sandbox")),
    help="What runs the cases.  [default: the sandbox for a program, else the model]",
)
@option("--tasks", type=PathType(), metavar="FOLDER", help="Where the tasks of its cases lie.")
@option("--solver", metavar="model|COMMAND", help="What solves these tasks.")
@flag("--unsandboxed-solver", "is_outside", help="Run the command outside the sandbox.")
@repeated_option("--pass-env", "names", metavar="NAME", help="A variable that it gets, as a key.")
@message_option
def evolve_try_command(
    app: App,
    slug: str,
    path: str,
    description: str | None,
    runner: str | None,
    tasks: str | None,
    solver: str | None,
    is_outside: bool,
    names: tuple[str, ...],
    message: str | None,
) -> None:
    """Try a change of a skill on its held-out cases.

    The cases run without the change and with it. What helps, and makes no case worse, is
    proposed to a person, or admitted if the manifest says evolution: mode: gated. What is only
    shown to help these very cases is provisional: it is proposed too, and goes live if the
    manifest also says evolution: provisional: allow. What does not help is kept: see 'brain
    evolve attempts'. Without held-out cases nothing can be tried, and the change is proposed.
    Cases that 'brain evolve task add' made are tasks: with --tasks and --solver a solver works
    on each, with the skill in front, and its verifier scores that.
    """
    from brain.models.calls import Bill

    if (tasks is None) != (solver is None):
        raise click.UsageError("Give --tasks and --solver together.")

    change = _read_change(app, slug, Path(path), description, message or "")
    bill, is_needed = Bill(), runner == "model"

    def meter(model: Model) -> Model:
        from brain.evolve import budget
        from brain.models.paid_once import PaidModel

        return PaidModel(budget.meter(app.brain, model, _PERSON), [bill.meter])

    model = None if runner == "sandbox" else _open_model_runner(meter, is_needed=is_needed)
    is_for_program = runner is None and change.files
    main: CaseRunner | None = None if is_for_program else model
    if tasks is not None and solver is not None:
        main = _open_task_runner(tasks, solver, is_outside, names, meter)
    gate = app.brain.gate.open(runner=main, text_runner=model)
    try:
        outcome = gate.propose(change)
    finally:
        if bill.requests:
            app.print_note(cost_line(model.name if model else "the model", *bill.total))
    paid = dict(zip(("requests", "tokens_in", "tokens_out"), bill.total, strict=True))
    document = {**to_json(outcome), "model": "" if model is None else model.name, **paid}
    emit(app, document, outcome_lines(outcome))
    raise_if_not_committed(outcome.commitment)
    if outcome.done in ("rejected", "kept"):
        raise Failure(
            outcome.done,
            f"the change of {slug} is not admitted",
            f"`brain evolve accept {outcome.attempt}` admits it all the same",
            NOT_ADMITTED,
        )


def _read_change(
    app: App, slug: str, path: Path, description: str | None, message: str
) -> ProposedChange:
    from brain import Brain
    from brain.repo.learning.change import ProposedChange, is_scoring

    if path.is_dir():
        body, found = Brain.skills.read_folder(path)
        rest = {inner: found[inner] for inner in found if not is_scoring(inner)}
        files = {inner: rest[inner] for inner in filter(is_program_file, rest)}
        files = files if PROGRAM_FILE in files else {}
        resources = {inner: rest[inner] for inner in rest.keys() - files.keys()}
        if left_out := sorted(found.keys() - rest.keys()):
            more = f"{pluralize(len(left_out), 'file')}, such as {left_out[0]}"
            app.print_note(escape(f"Cases, tasks and evals are no part of a change: {more}"))
    else:
        body = read_input(str(path), limits.MAX_SKILL_BYTES, "the text of the skill")
        files, resources = {}, {}
    return ProposedChange(
        name=slug,
        evolver=_PERSON,
        description=description,
        body=body,
        files=files,
        resources=resources,
        message=message,
    )


def _open_model_runner(meter: Callable[[Model], Model], *, is_needed: bool) -> CaseRunner | None:
    """Return what runs cases by the user's model; None without one, unless it is needed."""
    from brain.errors import NotFound
    from brain.evolve.evolver import ModelRunner

    try:
        return ModelRunner(meter(open_user_model()))
    except NotFound:  # no model is configured
        if is_needed:
            raise
        return None


def _open_task_runner(
    folder: str,
    solver: str,
    is_outside: bool,
    names: Sequence[str],
    meter: Callable[[Model], Model],
) -> CaseRunner:
    from brain.evolve.task_runner import TaskRunner
    from brain.sandbox.find_sandbox import find_sandbox

    found, _ = read_folders([folder])
    chosen = make_solver(solver, is_outside, names, meter)
    return TaskRunner(found, chosen, find_sandbox(), find_judge(found, meter))


def outcome_lines(outcome: GateOutcome) -> Iterator[str]:
    """Say what became of a proposed change."""
    what = {
        "admitted": f"{outcome.slug} admitted, version {outcome.version}",
        "provisional": f"{outcome.slug} provisional, version {outcome.version}",
        "proposed": f"{outcome.slug} proposed, as {outcome.proposal}",
        "rejected": f"{outcome.slug} rejected",
        "taken back": f"{outcome.slug} taken back, now version {outcome.version}",
        "kept": f"{outcome.slug} left undecided",
        "nothing": f"{outcome.slug} unchanged",
    }[outcome.done]
    yield escape(f"{what}: {outcome.reason}" if outcome.reason else what)
    if outcome.files:
        names = ", ".join(outcome.files[:_SHOWN])
        more = ", …; others: see --json" if len(outcome.files) > _SHOWN else ""
        yield escape(f"Other files of the change: {names}{more}")
    if outcome.numbers is not None:
        yield from _number_lines(outcome.numbers)
        if (outcome.gate, outcome.numbers.provisional) == ("undecided", "yes"):
            e_of_runs = outcome.numbers.e_of_runs
            yield escape(f"Provisional: it helps these very cases, E of the runs = {e_of_runs}")
    if outcome.guards is not None and outcome.guards.found:
        yield from _guard_lines(outcome.guards)
    if outcome.attempt:
        yield escape(f"Attempt {outcome.attempt}")
    if outcome.snapshot:
        yield f"Snapshot {short_id(outcome.snapshot)}"
    if outcome.done == "proposed":
        yield escape(f"Review it with `brain proposal show {outcome.proposal}`")
    yield from commitment_lines(outcome.commitment)


def _number_lines(numbers: GateNumbers) -> Iterator[str]:
    yield escape(
        f"{pluralize(numbers.cases, 'case')}, {pluralize(numbers.rounds, 'round')} by"
        f" {numbers.runner}: {pluralize(numbers.wins, 'win')}, {numbers.losses}"
        f" {'loss' if numbers.losses == 1 else 'losses'}, {pluralize(numbers.ties, 'tie')},"
        f" E = {numbers.e_value}"
    )
    if numbers.read_cases is not None:
        yield f"The skill was read in {numbers.read_cases} of {numbers.cases} tasks"
    for path in numbers.worse:
        yield escape(f"Worse: {path}")
    if numbers.more_cases:
        yield f"About {numbers.more_cases} more cases such as these would decide."


def _guard_lines(guards: GuardCounts) -> Iterator[str]:
    yield f"{guards.run} of {guards.found} cases of other skills ran too"
    for row in guards.unrun[:_SHOWN]:
        yield escape(f"Not run: {row.cases} of {row.slug}: {row.reason}")
    if len(guards.unrun) > _SHOWN:
        yield "Others: see --json"


@brain_command(
    "accept",
    examples=(
        "brain evolve accept sort-tickets/1f00c2d4",
        "brain evolve accept sort-tickets/1f00c2d4 --although-worse --reason 'That case is wrong'",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("attempt", type=NonEmptyType())
@option("--reason", metavar="TEXT", help="Why, for the verdict.")
@flag("--although-worse", help="Also if cases got worse.")
def evolve_accept_command(app: App, attempt: str, reason: str | None, although_worse: bool) -> None:
    """Admit an attempt that the gate did not.

    ATTEMPT is as 'brain evolve attempts' lists it. The verdict keeps the numbers of the gate
    and says that a person decided. If the skill was changed since, try the change again.
    """
    decided = app.brain.gate.accept(attempt, reason=reason or "", although_worse=although_worse)
    emit(app, decided, _accepted_lines(decided))
    raise_if_not_committed(decided.commitment)


def _accepted_lines(decided: Decided) -> Iterator[str]:
    yield escape(f"{decided.slug} admitted, version {decided.version}, by a person")
    yield f"Snapshot {short_id(decided.snapshot)}"
    yield from commitment_lines(decided.commitment)
