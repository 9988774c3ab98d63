"""`brain gc`."""

from __future__ import annotations

import click

from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import CountType, Once
from ..progress import Bar
from ..text import count


@brain_command("gc", examples=("brain gc", "brain gc --grace 0"), exits=WRITES)
@click.option(
    "--grace",
    cls=Once,
    type=CountType(),
    metavar="DAYS",
    help="Keep what operations of so many days went from and to.  [default: 30]",
)
def command(app: App, grace: int | None) -> None:
    """Remove what nothing needs any more, and give its space back.

    Kept is what branches reach, what operations of the last days went from and
    to, and what a merge waits for. Nothing is removed from a damaged store.
    """
    with Bar(app) as bar:
        done = app.brain.gc(30 if grace is None else grace, progress=bar)
    emit(
        app,
        done,
        [
            f"Removed {count(done.removed, 'object')}, kept {done.kept}",
            f"{done.before / 1e6:.1f} MB before, {done.after / 1e6:.1f} MB after",
            *([] if done.compacted else ["The space could not be given back yet; try again later"]),
        ],
    )
