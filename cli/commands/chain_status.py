"""`brain chain status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..ledgers import holding, ledger_option
from ..output import emit
from ..params import FilledType
from ..terminal import escape
from ..text import columns, count, short

if TYPE_CHECKING:
    from brain.results import Committed, LedgerStatus


@brain_command(
    "status",
    examples=("brain chain status", "brain chain status --ledger sepolia --json"),
    exits=(0, 1, 2, 3, 10, 130),
)
@click.argument("rev", metavar="[REV]", required=False, type=FilledType())
@ledger_option
def command(app: App, rev: str | None, ledger: str | None) -> None:
    """Show what a ledger holds of this brain.

    Lists its commitments, how final each is, and how many snapshots each covers; and
    says how many snapshots of REV, by default the head, are not covered yet.
    """
    found = app.brain.ledger_status(holding(app, ledger), rev or "@")
    emit(app, found, _lines(found))


def _lines(found: LedgerStatus) -> Iterator[str]:
    identity = escape(found.identity) or "not there yet"
    yield f"Ledger {escape(found.ledger)}, {identity}"
    if not found.commitments:
        yield "No commitment of this brain"
        return
    if found.owner:
        signer = f", signer {found.signer}" if found.signer else ""
        yield f"Owner {found.owner}{signer}"
    yield from columns(map(_row, found.commitments))
    match found.behind:
        case None:
            yield "It holds a snapshot that is not here: another copy of this brain went on"
        case 0:
            yield "Everything is covered"
        case behind:
            yield f"{count(behind, 'snapshot')} not covered yet"


def _row(one: Committed) -> tuple[str, ...]:
    covers = "" if one.snapshots is None else count(one.snapshots, "snapshot")
    return str(one.seq), short(one.snapshot), one.status, one.trust_level, covers
