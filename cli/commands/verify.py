"""Commands that verify the lineage: verify and ancestry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain.errors import NotVouched, VerificationFailed
from brain.results.text_format import coverage_lines

from ..chosen_ledger import open_ledgers
from ..command import (
    argument,
    brain_command,
    exit_statuses,
    flag,
    option,
    repeated_option,
)
from ..context import App
from ..error_report import NO_BRAIN, NOT_VOUCHED, VERIFICATION_FAILED, Failure
from ..output import emit
from ..params import NonEmptyType, TextType
from ..progress_bar import ProgressBar
from ..render.human_format import pluralize, short_id
from ..render.ledgers import ledger_advice, verified_ledger_lines
from ..render.verdicts import finding_line
from ..settings import user_keys
from ..settings.signing_advice import signing_advice
from ..terminal import escape
from ..trust_changes import pin_and_report_roots

if TYPE_CHECKING:
    from brain.results import Ancestry, Finding, Verified


_SIGNATURE_CODES = {"unsigned", "below_threshold", "unknown_key", "expired_rights", "revoked_key"}
_SIGNATURE_CODES |= {"forged_author"}


@brain_command(
    "verify",
    examples=(
        "brain verify",
        "brain verify --deep --json",
        "brain verify --require-signatures --root auditor",
        "brain verify --ledger all",
    ),
    exits=exit_statuses(VERIFICATION_FAILED, NOT_VOUCHED, NO_BRAIN),
)
@flag("--deep", help="Read and hash the content of every file again.")
@flag(
    "--require-signatures",
    help="Require a signature of every snapshot since the trust file was added.",
)
@repeated_option(
    "--root",
    "roots",
    type=TextType("bad_key"),
    metavar="KEY",
    help="A key that must have signed the first trust file; repeatable."
    " It is pinned if no key is pinned yet.",
)
@option(
    "--ledger",
    type=TextType("bad_ledger"),
    metavar="NAME",
    help="Also verify against this ledger, or against `all`.",
)
def verify_command(
    app: App, deep: bool, require_signatures: bool, roots: tuple[str, ...], ledger: str | None
) -> None:
    """Verify the lineage back to its first snapshot.

    Verifies that objects hash to their ids, trees are canonical, all parents lead to one
    genesis, versions only increase, and, if there is a trust file, that trusted keys
    signed each snapshot. The root keys that are pinned for this brain ('brain key
    roots') are required too. Any error ends with exit status 3; warnings and notes do
    not.

    Names who signed, and what in the folder the head does not have, or has otherwise:
    nothing vouches for that, nor for what .brainignore leaves out. Anybody can make a
    brain that is signed, so --require-signatures ends with exit status 4 unless you have
    pinned a root key, or name one with --root.
    """
    from brain import Brain

    root_keys = [user_keys.resolve_public_key(root) for root in roots]
    with ProgressBar(app) as bar:
        found = Brain.verify_folder(
            app.brain_folder(),
            deep,
            bar,
            require_signatures=require_signatures,
            roots=root_keys,
            pinned_roots=app.pinned_roots,
        )
    if found.ok and roots:
        pin_and_report_roots(app, app.brain, root_keys)
    hint = "" if found.ok else _verification_advice(app, found.findings)
    if ledger and found.head:
        found = app.brain.ledger.extend(found, open_ledgers(app, ledger))
        hint = hint or ledger_advice(found.findings)
    emit(app, found, _verification_lines(found))
    if {one.code for one in found.findings if one.severity == "error"} == {NotVouched.code}:
        raise NotVouched(
            "no root key is pinned, and nothing that you know vouches for the signatures",
            hint="name a root key that you know from elsewhere, as in `brain verify --root KEY`",
        )
    if not found.ok:
        errors = sum(one.severity == "error" for one in found.findings)
        raise VerificationFailed(
            f"verification found {pluralize(errors, 'error')}", hint=f"nothing was changed; {hint}"
        )


def _verification_advice(app: App, findings: list[Finding]) -> str:
    wrong = {one.code for one in findings if one.severity == "error"}
    if wrong <= {"other_roots", "before_trust", "bad_trust"} | _SIGNATURE_CODES:
        if "other_roots" in wrong:
            return f"see which keys are pinned with `{app.command_prefix} key roots`"
        if "before_trust" in wrong:
            return "switch to the branch that has the trust file, or merge it"
        if "bad_trust" in wrong:
            return f"restore the last valid trust file with `{app.command_prefix} key repair`"
    if "bad_roots" in wrong:
        return "repair the file of pinned root keys, or delete it and pin the keys again"
    if wrong == {"wrong_cache"}:
        return f"rebuild the cache with `{app.command_prefix} doctor --repair`"
    if not wrong <= _SIGNATURE_CODES:
        return "restore the store from a backup, or run 'brain doctor'"
    if "forged_author" in wrong:
        return (
            f"do not trust it, or have the authors it names run `{app.command_prefix} sign --all`"
        )
    if not app.brain.trust.show().keys:
        return (
            "name the keys that may sign with `brain key trust KEY --as NAME`, or do not trust it"
        )
    advice = signing_advice(app.brain.trust.show(), f"{app.command_prefix} sign --all")
    return f"do not trust it, or, after a review, {advice}"


def _is_edit_note(finding: Finding) -> bool:
    """Tell whether a finding is about a manual edit, which need not raise the version."""
    return (finding.code, finding.severity) == ("version_not_raised", "note")


def _verification_lines(found: Verified) -> Iterator[str]:
    stale = [one for one in found.findings if _is_edit_note(one)]
    for one in found.findings:
        if not _is_edit_note(one):
            yield finding_line(one)
    if stale:
        skills = pluralize(len({one.path for one in stale}), "skill")
        yield (
            f"note: {pluralize(len(stale), 'edit')} of {skills} did not raise the version;"
            " --json lists them"
        )
    if found.ok:
        yield (
            f"Verified {pluralize(found.snapshots, 'snapshot')} and"
            f" {pluralize(found.objects, 'object')} from {short_id(found.head)}"
            f" back to {short_id(found.brain)}"
        )
        yield from verified_ledger_lines(found.ledgers)
        yield f"Trust level {found.trust_level}"
    yield from map(escape, coverage_lines(found))


@brain_command("ancestry", examples=("brain ancestry @~3",))
@argument("old", metavar="ANCESTOR", type=NonEmptyType())
@argument("new", metavar="[REV]", required=False, type=NonEmptyType())
def ancestry_command(app: App, old: str, new: str | None) -> None:
    """Check whether a snapshot descends from another.

    Prints the path from REV, by default the head, to ANCESTOR, also across forks. Each
    snapshot names the next one as its parent, jump, or origin of the fork. Ends with exit
    status 1 if REV does not descend from ANCESTOR. `brain prove --ancestor` writes a proof
    of it for somebody without the brain.
    """
    found = app.brain.history.check_ancestry(old, new or "@")
    emit(app, found, _ancestry_lines(found))
    if not found.descends:
        raise Failure(
            "not_an_ancestor",
            "the snapshot does not descend from the ancestor",
            "`brain log --graph` shows which snapshots do",
        )


def _ancestry_lines(found: Ancestry) -> Iterator[str]:
    if not found.descends:
        yield f"{short_id(found.descendant)} does not descend from {short_id(found.ancestor)}"
        return
    yield f"{short_id(found.descendant)} descends from {short_id(found.ancestor)}"
    for here in found.path:
        yield f"  {short_id(here)}"
