"""`brain verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import VerificationFailed

from .. import keys
from .. import roots as pins
from ..command import command as brain_command
from ..context import App
from ..findings import finding
from ..ledgers import advice as advice_of_ledgers
from ..ledgers import several, vouched
from ..output import emit
from ..params import Once, TextType
from ..progress import Bar
from ..text import count, short
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
        "brain verify --ledger all",
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
    help="A key you know, which must have signed the first trust file; may be repeated."
    " Pinned if none is.",
)
@click.option(
    "--ledger",
    cls=Once,
    type=TextType("bad_ledger"),
    metavar="NAME",
    help="Ask this ledger too, or all there are with `all`.",
)
def command(
    app: App, deep: bool, require_signatures: bool, roots: tuple[str, ...], ledger: str | None
) -> None:
    """Check the lineage back to its first snapshot.

    Objects hash to their ids, trees are canonical, parents lead to one genesis,
    versions only rise, and where there is a trust file, those have signed who may.
    Root keys that are pinned for this brain ('brain key roots') are asked for too.
    Any error ends with exit status 3; warnings and notes do not.
    """
    from brain.verify import demand, verify_folder

    asked = demand(require_signatures, [keys.public(root) for root in roots])
    with Bar(app) as bar:
        found = verify_folder(app.folder(), deep, asked, bar, app.roots)
    if found.ok and roots:
        pins.begin(app, found.brain, list(map(keys.public, roots)))
    hint = "" if found.ok else _advice(app, found.findings)
    if ledger and found.head:
        from brain.actions.vouching import joined

        told = app.brain.verify_against(several(app, ledger))
        found, hint = joined(found, told), hint or advice_of_ledgers(told.findings)
    emit(app, found, _lines(found))
    if not found.ok:
        errors = sum(one.severity == "error" for one in found.findings)
        raise VerificationFailed(
            f"verification found {count(errors, 'error')}", hint=f"nothing was changed; {hint}"
        )


def _advice(app: App, findings: list[Finding]) -> str:
    wrong = {one.code for one in findings if one.severity == "error"}
    if wrong <= {"other_roots", "before_trust", "bad_trust"} | _OF_SIGNATURES:
        if "other_roots" in wrong:
            return f"see which keys are pinned with `{app.call} key roots`"
        if "before_trust" in wrong:
            return "switch to the branch that leads to the trust file, or merge that one"
        if "bad_trust" in wrong:
            return f"put the last good trust file back with `{app.call} key repair`"
    if "bad_roots" in wrong:
        return "mend the file of pinned root keys, or remove it and pin the keys that you know anew"
    if wrong == {"wrong_cache"}:
        return f"make the cache anew with `{app.call} doctor --repair`"
    if not wrong <= _OF_SIGNATURES:
        return "restore the store from a copy, or ask 'brain doctor'"
    if "forged_author" in wrong:
        return f"do not trust it, or have the authors it names run `{app.call} sign --all`"
    if not app.brain.trusted().keys:
        return "say who may sign with `brain key trust KEY --as NAME`, or do not trust it"
    asked = advice(app.brain.trusted(), f"{app.call} sign --all")
    return f"do not trust it, or, once it is looked through, {asked}"


def _lines(found: Verified) -> Iterator[str]:
    for one in found.findings:
        yield finding(one)
    if found.ok:
        yield (
            f"Verified {count(found.snapshots, 'snapshot')} and"
            f" {count(found.objects, 'object')} from {short(found.head)}"
            f" back to {short(found.brain)}"
        )
        yield from vouched(found.ledgers)
        yield f"Trust level {found.trust_level}"
