"""`brain merge`."""

from __future__ import annotations

import click

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..merged import report
from ..output import emit
from ..params import FilledType, Once, TextType
from ..progress import Bar
from ..text import short


@brain_command(
    "merge",
    examples=(
        "brain merge try-idea",
        "brain merge try-idea --theirs",
        "brain merge --continue",
        "brain merge --abort",
    ),
    exits=OVERWRITES,
)
@click.argument("rev", required=False, type=FilledType())
@click.option("--ours", "choice", flag_value="ours", help="Decide every conflict for our side.")
@click.option("--theirs", "choice", flag_value="theirs", help="Decide every conflict for REV.")
@click.option("--both", "choice", flag_value="both", help="Keep both sides of every conflict.")
@click.option("--message", "-m", cls=Once, type=TextType(), help="Why, for the log.")
@click.option("--continue", "step", flag_value="continue", help="Finish a merge that waits.")
@click.option("--abort", "step", flag_value="abort", help="Give up a merge that waits.")
def command(
    app: App, rev: str | None, choice: str | None, message: str | None, step: str | None
) -> None:
    """Merge the work of another branch into this one.

    Different files never conflict. A skill both sides changed is merged in its
    front matter and its body, under a version above both; memory keeps what both
    appended. What needs a decision leaves the brain as it is: see `brain resolve`.
    """
    if (rev is None) == (step is None):
        raise click.UsageError("Give either REV, or one of --continue and --abort.")
    if step and (choice or message):
        raise click.UsageError(f"--{step} goes alone.")
    if step == "abort":
        _abort(app)
        return
    with Bar(app) as bar:
        if rev is None:
            done = app.brain.continue_merge(progress=bar)
        else:
            done = app.brain.merge(rev, choice, message or "", progress=bar)
    report(app, done)


def _abort(app: App) -> None:
    app.brain.abort_merge()
    from brain.results import Merged

    shown = app.brain.show()
    info = shown.info
    nothing = Merged(
        *(info.snapshot, info.bundle, info.parents, [], False, False, 0, 0, 0, [], [], None)
    )
    emit(app, nothing, [f"The merge was given up; the head is still {short(info.snapshot)}"])
