"""The commands of `brain evolve`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain import evolve
from brain.errors import ModelError

from ...command import OVERWRITE_EXITS, argument, brain_command, flag
from ...context import App
from ...output import emit
from ...params import NonEmptyType
from ...render.ledgers import raise_if_not_committed
from ...render.run_report import read_named_run
from ...settings.user_models import open_user_model
from ...terminal import escape, escape_lines
from .gate import outcome_lines
from .tasks import cost_line

if TYPE_CHECKING:
    from brain.results import Synthesized


@brain_command(
    "synthesize",
    examples=(
        "brain evolve synthesize",
        "brain evolve synthesize @~3 --dry-run",
        "brain evolve synthesize ~/.claude/projects/vault/session.jsonl",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("source", metavar="[REV|FILE]", required=False, default="@", type=NonEmptyType())
@flag("--anyway", help="Ask the model even if the run was not hard.")
@flag("--dry-run", help="Print the skill; record nothing.")
def evolve_synthesize_command(app: App, source: str, anyway: bool, dry_run: bool) -> None:
    """Propose a new or better skill from a run.

    REV is a snapshot of a recorded run, by default the head. FILE is a receipt, or a
    transcript that `brain adopt` reads; a file takes precedence over a revision
    of the same name. A run is hard if it had five or more tool calls, or if a call
    failed and a later one succeeded; the manifest can change that. Of a hard run, the
    model that `brain config model` names reads the transcript, without secrets, and the
    related skills. Its answer is checked and goes through the gate, which tries it on the
    held-out cases of the skill: see 'brain evolve case'. By default it becomes a proposal.
    """
    evolve.require_evolution(app.brain)
    model = open_user_model()
    run = read_named_run(app, source)
    try:
        result = evolve.synthesize(app.brain, run, model, anyway=anyway, dry_run=dry_run)
    except ModelError as error:
        paid = error.requests, error.tokens_in, error.tokens_out
        app.print_note(cost_line(model.model_name, *paid))
        raise
    emit(app, result, _synthesis_lines(result))
    raise_if_not_committed(result.commitment)


def _synthesis_lines(result: Synthesized) -> Iterator[str]:
    if result.decision == "not_hard":
        yield "The run was not hard, so the model was not asked; --anyway asks it."
        return
    if result.decision == "nothing":
        yield escape(f"No skill was made: {result.reason}")
    elif result.outcome is None:
        verb = "improve" if result.decision == "improved" else "create"
        yield escape(f"Would {verb} {result.slug}: {result.description}")
        yield ""
        yield escape_lines(result.body.rstrip("\n"))
        yield ""
    else:
        yield escape(f"Drafted {result.slug}: {result.reason}")
        yield from outcome_lines(result.outcome)
    yield cost_line(result.model, result.requests, result.tokens_in, result.tokens_out)
