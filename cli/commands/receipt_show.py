"""`brain receipt show`."""

from __future__ import annotations

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once
from ..receipts import from_file, lines
from ..written import overwrite_option, write_file


@brain_command(
    "show",
    examples=(
        "brain receipt show",
        "brain receipt show @~2 --json",
        "brain receipt show -o receipt.json",
    ),
    exits=(0, 1, 2, 10, 12, 130),
)
@click.argument("source", metavar="[REV|FILE]", required=False, type=FilledType())
@click.option(
    "-o", "--output", cls=Once, metavar="FILE", help="Write the last part, as it is kept, to FILE."
)
@overwrite_option
def command(app: App, source: str | None, output: str | None, overwrite: bool) -> None:
    """Show what was done in a run, step by step.

    REV is a snapshot that carries a receipt, by default the head: all that the run did
    until then is shown. FILE is a receipt, whose own steps are shown; - is standard
    input. A file of that name comes before a revision. A file to be written that is
    there and holds something else stays as it is, unless --overwrite is given.
    """
    data = None if source is None else from_file(source)
    if data is None:
        found = app.brain.receipt(source or "@")
    else:
        from brain.actions.receipts import of_file

        found = of_file(data)
    if output is not None:
        kept = app.brain.receipt_bytes(source or "@") if data is None else data
        write_file(output, kept, overwrite)
        app.note(f"The receipt is in {output}.")
    emit(app, found, lines(found))
