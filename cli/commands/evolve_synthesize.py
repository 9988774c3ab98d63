"""`brain evolve synthesize`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..ledgers import outcome, refuse
from ..models import opened
from ..output import emit
from ..params import FilledType
from ..receipts import from_file
from ..terminal import escape, escape_lines
from ..text import count

if TYPE_CHECKING:
    from brain.receipts import Receipt
    from brain.results import Synthesized


@brain_command(
    "synthesize",
    examples=(
        "brain evolve synthesize",
        "brain evolve synthesize @~3 --dry-run",
        "brain evolve synthesize ~/.claude/projects/vault/session.jsonl",
    ),
    exits=WRITES,
)
@click.argument("source", metavar="[REV|FILE]", required=False, default="@", type=FilledType())
@click.option("--anyway", is_flag=True, help="Ask also if the run was not hard.")
@click.option("--dry-run", is_flag=True, help="Print what it would be; record nothing.")
def command(app: App, source: str, anyway: bool, dry_run: bool) -> None:
    """Make a skill of a run, or improve one.

    REV is a snapshot that a recorded run made, by default the head; FILE is a receipt, or
    a transcript that `brain receipt import` reads, and comes before a revision of that
    name. If the run was hard, that is if it took five calls of tools or more, or one
    failed and a later one did not (the manifest may say otherwise), the model that `brain
    config model` names reads its transcript, without secrets, and the skills that may be
    related. What it writes is checked, and becomes the next version of a skill, or nothing.
    """
    from brain.evolve import synthesize

    model = opened()
    data = from_file(source)
    run = app.brain.run_at(source) if data is None else _told(data)
    done = synthesize(app.brain, run, model, anyway=anyway, dry_run=dry_run)
    emit(app, done, _lines(done))
    refuse(done.commitment)


def _told(data: bytes) -> Receipt:
    """Return the run that a file tells: a receipt, or a transcript of another program."""
    from brain.receipts import decode
    from brain.receipts.document import FORMAT
    from brain.receipts.transcripts import read

    return decode(data) if FORMAT.encode() in data else read(data)


def _lines(done: Synthesized) -> Iterator[str]:
    if done.decision == "not_hard":
        yield "The run was not hard, so the model was not asked; --anyway asks it."
        return
    if done.decision == "nothing":
        yield escape(f"Nothing worth keeping: {done.reason}")
    elif done.snapshot is None:
        verb = "improve" if done.decision == "improved" else "create"
        yield escape(f"Would {verb} {done.slug}: {done.description}")
        yield ""
        yield escape_lines(done.body.rstrip("\n"))
        yield ""
    elif done.previous_version is None:
        yield escape(f"{done.slug} added at version {done.version}: {done.reason}")
    else:
        yield escape(
            f"{done.slug} upgraded {done.previous_version} → {done.version}: {done.reason}"
        )
    asked = f"{done.model}, {count(done.requests, 'request')}"
    yield escape(f"Asked {asked}, {done.tokens_in} tokens in, {done.tokens_out} out")
    yield from outcome(done.commitment)
