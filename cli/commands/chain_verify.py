"""`brain chain verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain.errors import VerificationFailed

from ..command import command as brain_command
from ..context import App
from ..findings import finding
from ..ledgers import advice, ledger_option, name_of, several, vouched
from ..output import emit
from ..text import count

if TYPE_CHECKING:
    from brain.results import LedgersVerified


@brain_command(
    "verify",
    examples=("brain chain verify", "brain chain verify --ledger all"),
    exits=(0, 1, 2, 3, 10, 130),
)
@ledger_option
def command(app: App, ledger: str | None) -> None:
    """Check this brain against a ledger, and the ledger itself.

    Its commitments have to be of snapshots that are here, each descending from the one
    before, and a branch has to descend from the last. `--ledger all` asks every ledger
    there is. `brain verify --ledger NAME` checks the whole lineage besides.
    """
    found = app.brain.verify_against(several(app, name_of(app, ledger)))
    emit(app, found, _lines(found))
    if not found.ok:
        errors = sum(one.severity == "error" for one in found.findings)
        raise VerificationFailed(
            f"the ledger does not vouch for this: {count(errors, 'error')}",
            hint=advice(found.findings),
        )


def _lines(found: LedgersVerified) -> Iterator[str]:
    yield from map(finding, found.findings)
    yield from vouched(found.ledgers)
