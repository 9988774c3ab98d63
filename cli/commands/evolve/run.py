"""The commands `brain evolve run` and `brain evolve status`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain import evolve
from brain.errors import InvalidInput, printable_text

from ... import terminal
from ...command import OVERWRITE_EXITS, READ_EXITS, brain_command, flag, option
from ...context import App
from ...output import emit, emit_line
from ...params import CostType, CountType
from ...render.human_format import local_time, pluralize
from ...settings.user_models import find_user_model, load_model_settings
from ...terminal import escape
from .gate import outcome_lines

if TYPE_CHECKING:
    from brain.models import Model
    from brain.results import (
        BudgetStatus,
        EvolutionStatus,
        EvolverStatus,
        RateStatus,
        ScheduledStep,
        StreamStatus,
    )

NO_MODEL_NOTE = (
    "Note: no model is configured, so hard runs wait in the queue; choose one with"
    " `brain config model`"
)
_NAME_CHARS = 60


@brain_command(
    "run",
    examples=(
        "brain evolve run",
        "brain evolve run --once --json",
        "brain evolve run --now",
        "brain evolve run --once --max-tokens 200000",
        "brain evolve run --print-unit systemd > ~/.config/systemd/user/brain-evolve.service",
    ),
    exits=OVERWRITE_EXITS,
)
@flag("--once", help="Do what is due now, and end.")
@flag("--now", "at_once", help="Do what waits, due or not, and end.")
@option("--max-tokens", type=CountType(1), help="End before the models take more tokens.")
@option("--max-cost", type=CostType(), metavar="COST", help="End before they cost more.")
@option(
    "--print-unit",
    type=click.Choice(("systemd", "launchd")),
    help="Print a unit file that starts this command; start nothing.",
)
def evolve_run_command(
    app: App,
    once: bool,
    at_once: bool,
    max_tokens: int | None,
    max_cost: int | None,
    print_unit: str | None,
) -> None:
    """Learn from hard runs, patterns and gaps as they come.

    Hard runs wait in a queue: tasks in Python, MCP sessions, and transcripts that `brain
    watch` imports. Each is shown to the model, and what it drafts goes through the gate.
    Patterns are mined every six hours, gaps every hour, and after a failure of the model it
    waits, each time longer; --now does not wait, but keeps the limits of attempts. One
    process at a time learns from a brain, another one says so. After a kill, the next one goes
    on at once with the answers that were paid for. Ctrl-C or SIGTERM ends it once the model has
    answered; a second one at once.

    No request is made that may cost more than is left of --max-tokens, of --max-cost, or of
    evolution: budget: day: in manifest.yaml. What waits so stays in the queue, the step says why,
    and the status is 0; it goes on with the next run or day. A cost needs the settings
    model.price-in and model.price-out.

    --json prints one document per line for each step.
    """
    if print_unit:
        _print_unit(app, print_unit)
        return
    from brain.repo.manifest import Bounds

    evolve.require_evolution(app.brain)
    model, budget = find_user_model(), Bounds(max_tokens, max_cost)
    if max_cost is not None and getattr(model, "prices", max_cost) is None:
        raise InvalidInput(
            "--max-cost needs to know what tokens cost",
            code="no_price",
            hint="set model.price-in and model.price-out with `brain config`",
        )
    if model is None:
        app.print_note(NO_MODEL_NOTE)
    stop = threading.Event()
    with terminal.stop_on_signal(stop.set):
        if at_once:
            evolve.make_due(app.brain)
        if once or at_once:
            steps = evolve.run_due(app.brain, model, budget=budget, should_stop=stop.is_set)
        else:
            app.print_note(f"Learning in {escape(str(app.brain.root))}; Ctrl-C ends it")
            steps = evolve.run(app.brain, model, stop, budget=budget)
        for step in steps:
            emit_line(app, step, step_lines(step))
    if once and not at_once:
        _note_what_waits(app, model)


def _note_what_waits(app: App, model: Model | None) -> None:
    name, prices = getattr(model, "model_name", ""), getattr(model, "prices", None)
    for evolver in evolve.read_status(app.brain, name, prices=prices).evolvers:
        if evolver.waiting and not evolver.reason and evolver.next is not None:
            line = f"Note: {_evolver_line(evolver)}; `brain evolve run --now` does it now"
            app.print_note(escape(line))


def step_lines(step: ScheduledStep) -> Iterator[str]:
    """Describe a step of the scheduler."""
    about = f" {step.key}" if step.key else ""
    yield escape(f"{step.evolver}{about}: {step.result}: {step.reason}")
    if step.outcome is not None:
        for line in outcome_lines(step.outcome):
            yield f"  {line}"


def _print_unit(app: App, kind: str) -> None:
    from ...render import service_unit

    unit = service_unit.build_unit(kind, app.brain_folder())
    emit(app, {"kind": kind, "text": unit}, [unit.rstrip("\n")])


@brain_command(
    "status",
    examples=("brain evolve status", "brain evolve status --json"),
    exits=READ_EXITS,
)
def evolve_status_command(app: App) -> None:
    """Show what learning would do next, and what it has cost.

    One line each for synthesis, patterns and gaps: what waits, when it runs next or why it
    waits. Then what counts of the budget of the day, the requests and tokens used so far, with
    retries and what failed, the limits of attempts with what is left and until when, how many
    attempts the gate tried and which admissions hold for all of them together, the last
    decisions with their reasons, and what does not answer. Nothing is asked and nothing is changed.
    """
    settings = load_model_settings()
    name, prices = (settings.model, settings.prices) if settings else ("", None)
    status = evolve.read_status(app.brain, name, prices=prices)
    emit(app, status, _status_lines(status))


def _status_lines(status: EvolutionStatus) -> Iterator[str]:
    yield escape(f"Mode {status.mode}, {status.model or 'no model'}")
    for problem in status.problems:
        yield escape(f"Problem: {problem}")
    for evolver in status.evolvers:
        yield escape(_evolver_line(evolver))
    yield from _budget_lines(status.budget)
    for cost in status.costs:
        if cost.requests:
            unreported = f" ({cost.unreported} not reported, counted by their bytes)"
            yield escape(
                f"{cost.evolver} has cost {pluralize(cost.requests, 'request')}"
                f"{unreported if cost.unreported else ''},"
                f" {cost.tokens_in} tokens in, {cost.tokens_out} out"
            )
    for rate in status.rates:
        yield escape(_rate_line(rate))
    yield from _stream_lines(status.stream)
    if status.decisions:
        yield "Last decisions:"
    for one in status.decisions:
        name = one.name or "-"
        about = f"{one.evolver} {name} {one.phase}, {one.result}: {one.trigger_reason}"
        yield escape(f"  {local_time(one.time)}  {about}")


def _budget_lines(budget: BudgetStatus | None) -> Iterator[str]:
    if budget is None:
        return
    for use, unit, digits in ((budget.tokens, "tokens", 0), (budget.cost, "cost", 4)):
        if use.most is None or use.left is None:
            continue
        yield (
            f"Budget of today: {use.used:.{digits}f} of {use.most:.{digits}f} {unit},"
            f" {use.left:.{digits}f} left until {local_time(budget.renewed)}"
        )


def _stream_lines(stream: StreamStatus) -> Iterator[str]:
    if not stream.attempts:
        return
    provisional = f", {stream.provisional} live as provisional" if stream.provisional else ""
    tried = f"{pluralize(stream.attempts, 'attempt')} on cases"
    yield (
        f"{tried}, {stream.admitted} admitted{provisional};"
        f" {stream.upheld} admitted hold for all of them together,"
        f" the next does with E >= {stream.next_e}"
    )
    for name in stream.not_upheld:
        yield escape(f"Admitted, and holds by itself alone: {name}")


def _rate_line(rate: RateStatus) -> str:
    attempts = "unknown" if rate.attempts is None else str(rate.attempts)
    line = f"{rate.evolver}: {attempts} of {rate.most} attempts in this {rate.limit}"
    return (
        line if rate.left is None else f"{line}, {rate.left} left until {local_time(rate.renewed)}"
    )


def _evolver_line(evolver: EvolverStatus) -> str:
    waits = f"{evolver.evolver}: {evolver.waiting} waiting"
    if evolver.since is not None:
        waits += f" since {local_time(evolver.since)}"
    if evolver.names:
        names = [printable_text(name, _NAME_CHARS) for name in evolver.names]
        waits += f" ({'; '.join(names)}{'; …' if evolver.waiting > len(names) else ''})"
    parts = [waits]
    if evolver.next is not None:
        parts.append(f"next {local_time(evolver.next)}")
    if evolver.reason:
        parts.append(evolver.reason)
    return ", ".join(parts)
