"""`brain verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import VerificationFailed

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..progress import Bar
from ..terminal import escape
from ..text import count, paint, short

if TYPE_CHECKING:
    from brain.results import Finding, Verified


@brain_command(
    "verify", examples=("brain verify", "brain verify --deep --json"), exits=(0, 1, 2, 3, 10, 130)
)
@click.option("--deep", is_flag=True, help="Read and hash the content of every file again.")
def command(app: App, deep: bool) -> None:
    """Check the lineage back to its first snapshot.

    Objects hash to their ids, trees are canonical, parents lead to one genesis,
    versions only rise. Any error ends with exit status 3, warnings alone do not.
    """
    from brain.verify import verify_folder

    with Bar(app) as bar:
        found = verify_folder(app.folder(), deep, bar)
    emit(app, found, _lines(found))
    if not found.ok:
        errors = sum(finding.severity == "error" for finding in found.findings)
        raise VerificationFailed(
            f"verification found {count(errors, 'error')}",
            hint="nothing was changed; restore the store from a copy, or ask 'brain doctor'",
        )


def _lines(found: Verified) -> Iterator[str]:
    for finding in found.findings:
        yield _finding(finding)
    if found.ok:
        yield (
            f"Verified {count(found.snapshots, 'snapshot')} and"
            f" {count(found.objects, 'object')} from {short(found.head)}"
            f" back to {short(found.brain)}"
        )


def _finding(finding: Finding) -> str:
    colour = "red" if finding.severity == "error" else "yellow"
    parts = [
        paint(finding.severity, colour),
        finding.code,
        *([f"snapshot {short(finding.snapshot)}"] if finding.snapshot else []),
        *([escape(finding.path)] if finding.path else []),
    ]
    return f"{': '.join(parts)}: {escape(finding.message)}"
