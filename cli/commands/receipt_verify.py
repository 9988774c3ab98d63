"""`brain receipt verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import VerificationFailed

from ..command import command as brain_command
from ..context import App
from ..findings import finding
from ..output import emit
from ..params import FilledType
from ..receipts import from_file
from ..text import count, short

if TYPE_CHECKING:
    from brain.results import ReceiptVerified


@brain_command(
    "verify",
    examples=("brain receipt verify", "brain receipt verify receipt.json --json"),
    exits=(0, 1, 2, 3, 10, 130),
)
@click.argument("source", metavar="[REV|FILE]", required=False, type=FilledType())
def command(app: App, source: str | None) -> None:
    """Check that a receipt is what became of the brain.

    Each part of the run is carried by a snapshot of the lineage, in order, and what
    that changed is what the steps say they wrote: no file more or less, with those
    contents and versions. REV and FILE are as for `brain receipt show`. Any error
    ends with exit status 3.
    """
    data = None if source is None else from_file(source)
    if data is None:
        found = app.brain.verify_receipt(source or "@")
    else:
        found = app.brain.verify_receipt_file(data)
    emit(app, found, _lines(found))
    if not found.ok:
        errors = sum(one.severity == "error" for one in found.findings)
        raise VerificationFailed(
            f"the receipt does not hold: {count(errors, 'error')}",
            hint=_advice(found),
        )


def _advice(found: ReceiptVerified) -> str:
    if any(one.code == "not_carried" for one in found.findings):
        return "write what a snapshot carries to a file with `brain receipt show REV -o FILE`"
    return "do not believe it; `brain verify` tells whether the brain is in order"


def _lines(found: ReceiptVerified) -> Iterator[str]:
    for one in found.findings:
        yield finding(one)
    if found.ok:
        yield (
            f"Verified {count(found.steps, 'step')} and {count(found.writes, 'write')} in"
            f" {count(len(found.snapshots), 'snapshot')} of run {short(found.run)}"
        )
