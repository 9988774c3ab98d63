"""`brain verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import VerificationFailed

from .. import keys
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import TextType
from ..progress import Bar
from ..terminal import escape
from ..text import count, paint, short
from ..trusting import advice

if TYPE_CHECKING:
    from brain.results import Finding, Verified

_OF_SIGNATURES = {"unsigned", "below_threshold", "unknown_key", "expired_rights", "revoked_key"}
_OF_SIGNATURES |= {"forged_author"}


@brain_command(
    "verify",
    examples=(
        "brain verify",
        "brain verify --deep --json",
        "brain verify --require-signatures --root auditor",
    ),
    exits=(0, 1, 2, 3, 10, 130),
)
@click.option("--deep", is_flag=True, help="Read and hash the content of every file again.")
@click.option(
    "--require-signatures",
    is_flag=True,
    help="Refuse snapshots that nobody signed, but for those before the trust file.",
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=TextType("bad_key"),
    metavar="KEY",
    help="A key you know, which must have signed the first trust file; may be repeated.",
)
def command(app: App, deep: bool, require_signatures: bool, roots: tuple[str, ...]) -> None:
    """Check the lineage back to its first snapshot.

    Objects hash to their ids, trees are canonical, parents lead to one genesis,
    versions only rise, and where there is a trust file, those have signed who may.
    Any error ends with exit status 3; warnings and notes do not.
    """
    from brain.verify import demand, verify_folder

    asked = demand(require_signatures, [keys.public(root) for root in roots])
    with Bar(app) as bar:
        found = verify_folder(app.folder(), deep, asked, bar)
    emit(app, found, _lines(found))
    if not found.ok:
        errors = sum(finding.severity == "error" for finding in found.findings)
        raise VerificationFailed(
            f"verification found {count(errors, 'error')}",
            hint=f"nothing was changed; {_advice(app, found.findings)}",
        )


_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def _advice(app: App, findings: list[Finding]) -> str:
    wrong = {finding.code for finding in findings if finding.severity == "error"}
    if not wrong <= _OF_SIGNATURES:
        return "restore the store from a copy, or ask 'brain doctor'"
    if "forged_author" in wrong:
        return f"do not trust it, or have the authors it names run `{app.call} sign --all`"
    if not app.brain.trusted().keys:
        return "say who may sign with `brain key trust KEY --as NAME`, or do not trust it"
    asked = advice(app.brain.trusted(), f"{app.call} sign --all")
    return f"do not trust it, or, once it is looked through, {asked}"


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
    parts = [
        paint(finding.severity, _COLOURS[finding.severity]),
        finding.code,
        *([f"snapshot {short(finding.snapshot)}"] if finding.snapshot else []),
        *([escape(finding.path)] if finding.path else []),
    ]
    return f"{': '.join(parts)}: {escape(finding.message)}"
