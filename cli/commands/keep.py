"""Commands that keep a brain well: secrets, redact, gc, doctor, completion."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING

import click

from brain.errors import BrainError, InvalidInput

from ..command import (
    BASIC_EXITS,
    OVERWRITE_EXITS,
    WRITE_EXITS,
    argument,
    brain_command,
    flag,
    option,
)
from ..context import App
from ..options import revision_argument
from ..output import emit
from ..params import CountType, PathType, TextType
from ..render.human_format import colorize, pluralize, short_id
from ..revision_paths import split_terms
from ..terminal import ProgressBar, escape, is_terminal

if TYPE_CHECKING:
    from brain.results import DoctorCheck, Redacted, SecretScan


@brain_command(
    "secrets",
    examples=("brain secrets", "brain secrets @~3 memory", "brain secrets --history"),
)
@argument("terms", metavar="[REV] [-- PATH...]", nargs=-1, type=PathType())
@flag("--history", help="Scan the whole history.")
def secrets_command(app: App, terms: tuple[str, ...], history: bool) -> None:
    """Find keys and passwords.

    And tokens, in recorded files: of REV (default: @, the head), and with PATH only in these
    files or folders, relative to the current folder. Findings end with exit status 1. Each is
    reported with its place, rule, grade and id, and with its line, in which the secret is
    masked. A finding is certain if it has the format of a key, and doubtful if there is only a
    keyword, or a value that looks random. `brain redact` destroys a file that contains a
    secret. Accept a false positive by its id in manifest.yaml:

    \b
        secrets:
          accepted: ["0123456789abcdef"]
    """
    revisions, paths = split_terms(app, terms, 1)
    with ProgressBar(app) as bar:
        result = app.brain.secrets.scan(
            paths, "".join(revisions) or "@", history=history, progress=bar
        )
    emit(app, result, _secret_lines(result, history))
    if not result.ok:
        raise BrainError(
            f"{pluralize(len(result.findings), 'finding')}",
            code="secrets",
            hint="destroy secrets with `brain redact PATH --history --reason TEXT` and replace "
            "them; accept the ids of false positives in manifest.yaml",
        )


def _secret_lines(result: SecretScan, history: bool) -> Iterator[str]:
    for leak in result.findings:
        place = f"{leak.path or '(message)'}:{leak.line}:{leak.column}"
        where = f" in {short_id(leak.snapshot)}" if history else ""
        rule = colorize(leak.rule, "red" if leak.grade == "certain" else "yellow")
        yield f"{escape(place)}: {rule} ({leak.grade}) {leak.id}{where}"
        yield f"    {escape(leak.excerpt)}"
    if result.ok:
        also = f", {result.accepted} accepted" if result.accepted else ""
        yield f"No secrets in {pluralize(result.files, 'file')}{also}."


@brain_command(
    "redact",
    examples=(
        'brain redact memory/2026-11-20.md --reason "holds a password" --yes',
        'brain redact memory/keys.md --history --reason "asked for by the customer"',
    ),
    exits=OVERWRITE_EXITS,
)
@argument("path", type=TextType("bad_path"))
@revision_argument
@option("--reason", required=True, help="The reason; it is recorded.")
@flag("--history", help="Redact every content that PATH had in any snapshot, not only in REV.")
@flag("--yes", help="Do not ask; needed where no terminal can be asked.")
def redact_command(
    app: App, path: str, reason: str, rev: str | None, history: bool, yes: bool
) -> None:
    """Destroy a file for good.

    It is the content that PATH has in REV (default: @, the head). Its id stays in the lineage,
    which still verifies and records the author, time and reason of the redaction. Files of the
    head with this content are removed. A redaction cannot be undone, and the same content
    cannot be recorded again. At a terminal it asks first; elsewhere it needs --yes.
    """
    if history and rev is not None:
        raise click.UsageError("--history and REV cannot be combined.")
    if not yes:
        versions = "every content that it had" if history else "its content"
        what = f"{escape(path)}: {versions} is destroyed for good; no command brings it back"
        if not is_terminal(sys.stdin):
            raise InvalidInput(what, code="not_confirmed", hint="confirm it with --yes")
        if not click.confirm(f"{what}. Destroy it?", err=True):
            raise InvalidInput("nothing was destroyed", code="not_confirmed", hint="")
    result = app.brain.files.redact(path, reason=reason, rev=rev or "@", history=history)
    emit(app, result, _redaction_lines(result))


def _redaction_lines(result: Redacted) -> Iterator[str]:
    contents = pluralize(len(result.blobs), "content")
    snapshot = short_id(result.snapshot)
    yield f"Redacted {escape(result.path)}: {contents} destroyed, snapshot {snapshot}"
    for path in result.removed:
        yield f"  removed {escape(path)}"
    for branch in result.branches:
        yield f"  branch {escape(branch)} still lists it, without its content"
    if not result.scrubbed:
        yield "  old pages of the store are still in use; 'brain gc' clears them later"


@brain_command("gc", examples=("brain gc", "brain gc --grace 0"), exits=WRITE_EXITS)
@option(
    "--grace",
    type=CountType(),
    metavar="DAYS",
    help="Keep the snapshots that operations of the last DAYS used.  [default: 30]",
)
def gc_command(app: App, grace: int | None) -> None:
    """Free unused space.

    Removes unreachable objects. Keeps the objects that branches, operations of the last days
    and an unfinished merge reach. Nothing is removed from a damaged store.
    """
    with ProgressBar(app) as bar:
        result = app.brain.gc(30 if grace is None else grace, progress=bar)
    emit(
        app,
        result,
        [
            f"Removed {pluralize(result.removed, 'object')}, kept {result.kept}",
            f"{result.before / 1e6:.1f} MB before, {result.after / 1e6:.1f} MB after",
            *([] if result.compacted else ["The space could not be freed yet; try again later"]),
        ],
    )


@brain_command(
    "doctor",
    examples=("brain doctor", "brain doctor --repair"),
    exits=WRITE_EXITS,
)
@flag(
    "--repair", help="First discard pending files that cannot be written, and clear a wrong cache."
)
def doctor_command(app: App, repair: bool) -> None:
    """Check for problems.

    Of this brain and this machine. Changes nothing without --repair. Failed checks print a hint.
    """
    repaired = app.brain.repair() if repair else []
    checks = app.brain.doctor()
    failed = sum(not check.ok for check in checks)
    document = {"ok": not failed, "checks": checks, "repaired": repaired}
    emit(app, document, _check_lines(repaired, checks))
    if failed:
        raise BrainError(
            f"{pluralize(failed, 'check')} failed",
            code="checks_failed",
            hint="the lines above say what to do about each",
        )


def _check_lines(repaired: list[DoctorCheck], checks: list[DoctorCheck]) -> Iterator[str]:
    for done, result in chain(zip(repeat(True), repaired), zip(repeat(False), checks)):
        mark = ("done", "green") if done else ("ok  ", "green") if result.ok else ("FAIL", "red")
        yield f"{colorize(*mark)}  {escape(result.check)}: {escape(result.message)}"
        if result.hint and (done or not result.ok):
            yield f"      {escape(result.hint)}"


@brain_command(
    "completion",
    examples=(
        'eval "$(brain completion bash)"  (in ~/.bashrc; the same for zsh)',
        "brain completion fish > ~/.config/fish/completions/brain.fish",
    ),
    exits=BASIC_EXITS,
)
@argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion_command(app: App, shell: str) -> None:
    """Complete words in a shell.

    Prints a script for it, which completes commands, options, and skills and branches of the brain.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from ..invocation import COMPLETE_VARIABLE, PROGRAM_NAME, root_group

    kind = get_completion_class(shell)
    assert kind is not None
    # The base method, because the one for bash runs bash to check its version.
    text = ShellComplete.source(kind(root_group, {}, PROGRAM_NAME, COMPLETE_VARIABLE))
    emit(app, {"shell": shell, "script": text}, [text.rstrip("\n")])
