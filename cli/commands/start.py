"""The first commands: init, status, snapshot, watch, undo, redo, restore, and `brain` alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brain.digest import is_hex
from brain.errors import BrainError, NoBrain

from .. import terminal
from ..command import (
    BASIC_EXITS,
    OVERWRITE_EXITS,
    WRITE_EXITS,
    argument,
    brain_command,
    flag,
    option,
    repeated_option,
)
from ..context import App
from ..error_report import USAGE, Failure, describe_error, print_error
from ..options import message_option
from ..output import emit, emit_line
from ..params import NonEmptyType, PathType, SecondsType
from ..render.changes import conflict_line, restored_text, scan_note_lines, upsert_line
from ..render.human_format import align_columns, colorize, pluralize, short_id
from ..render.ledgers import commitment_lines, emit_write, raise_if_not_committed
from ..terminal import ProgressBar, escape

if TYPE_CHECKING:
    from brain.results import Init, Recorded, Status, Undone, Waiting, Watched


@brain_command(
    "init",
    examples=("brain init my-agent", "brain init --name auditor --layout flat"),
    exits=BASIC_EXITS,
)
@argument("directory", metavar="[DIR]", required=False, type=None)
@option("--name", metavar="TEXT", help="The display name of the brain.")
@option(
    "--layout",
    type=click.Choice(["directory", "flat"]),
    help="The path of new skills: skills/SLUG/SKILL.md (directory) or skills/SLUG.md (flat).",
)
def init_command(app: App, directory: str | None, name: str | None, layout: str | None) -> None:
    """Turn a folder into a brain.

    DIR is created if it does not exist (default: the folder of -C, else the current
    folder). Existing files are not changed; 'brain snapshot' records them. A skill is
    each folder with a SKILL.md, at any depth, and in skills/ also a Markdown file. New
    skills go to skills/, but if all skills there lie in one folder of a client, such as
    .agents/skills, to that folder. The key that signs the first snapshot, if any, is
    pinned as root key: see 'brain key roots'.
    """
    from brain import Brain
    from brain.results import Init

    from ..trust_changes import pin_and_report_roots

    if directory == "":
        raise click.BadParameter("the folder name is empty", param_hint="DIR")
    path = Path(directory or app.directory or ".").absolute()
    brain = Brain.init(
        path,
        name=name or "",
        layout=layout or "directory",
        author=app.author,
        sign_with=app.signing_key(),
    )
    with brain:
        made = Init(brain.id, brain.head, str(brain.root))
        pin_and_report_roots(app, brain, [one.key for one in brain.signatures.list()])
        try:
            made = made._replace(**brain.skills.survey()._asdict())
        except BrainError as error:  # the brain was created; a snapshot would fail
            way_out = f"; {escape(error.hint)}" if error.hint else ""
            app.print_note(f"Note: no snapshot is possible: {escape(error.message)}{way_out}")
    emit(app, made, _init_lines(made))
    for line in scan_note_lines(made):
        app.print_note(line)
    _warn_outer_brain(app, path)


def _init_lines(made: Init) -> Iterator[str]:
    yield f"Brain {short_id(made.brain)} created in {escape(made.path)}"
    if made.skills:
        yield f"{pluralize(made.skills, 'skill')} found; 'brain snapshot' records the files"
    if made.skill_folder != "skills":
        yield f"New skills go to {escape(made.skill_folder)}, where all of these are"


def _warn_outer_brain(app: App, path: Path) -> None:
    """Warn if another brain records the files of this one: commands find that other one."""
    from brain import find_brain

    outer = find_brain(path)
    if outer != path:
        app.print_note(
            f"Note: the brain in {outer} records the same files, and commands here use that one"
            f" unless -C names this one, or {outer / '.brainignore'} ignores it"
        )


@brain_command("status", examples=("brain status", "brain -C my-agent status --json"))
@flag("--strict", help="Fail if a file is left out, such as one that cannot be read.")
def status_command(app: App, strict: bool) -> None:
    """Show what changed and waits.

    A is added, M modified, D removed. Proposals, provisional changes of skills, missing
    signatures of the head and an unfinished merge follow, each with its command. A file
    that cannot be read, or that a brain cannot hold, is named and left out; what is
    recorded of it stays.
    """
    show_status(app, strict)


def show_status(app: App, strict: bool = False) -> Status:
    """Print and return the status."""
    with ProgressBar(app) as bar:
        found = app.brain.status(progress=bar, strict=strict)
    for line in scan_note_lines(found):
        app.print_note(line)
    emit(app, found, _status_lines(app, found))
    return found


_HINTS_WITHOUT_BRAIN = (
    ("brain init", "turn this folder into a brain"),
    ("brain adopt DIR", "import the skills and memory of another program"),
)
_HINTS_DURING_MERGE = (
    ("brain resolve", "list the conflicts, or resolve them"),
    ("brain merge --continue", "record the merge once all are resolved"),
    ("brain merge --abort", "give it up"),
)
_HINTS_FOR_CHANGES = (("brain diff", "show these changes"), ("brain snapshot", "record them"))
_HINTS_FOR_CLEAN = (("brain skill list", "list the skills"), ("brain log", "list the snapshots"))
_HELP_HINT = ("brain --help", "list all commands")


def show_overview(app: App) -> None:
    """Print the status and three hints; outside of a brain, how to begin.

    Raises `NoBrain` with --json, or if a folder was named that has no brain.
    """
    try:
        app.brain_folder()
    except NoBrain:
        if app.as_json or app.directory:
            raise
        app.print_note("There is no brain here.")
        hints = (*_HINTS_WITHOUT_BRAIN, _HELP_HINT)
    else:
        status = show_status(app)
        hints = (*(_HINTS_FOR_CLEAN if status.clean else _HINTS_FOR_CHANGES), _HELP_HINT)
        hints = hints if status.merging is None else _HINTS_DURING_MERGE
    for line in align_columns(hints):
        app.print_note(f"  {line}")


def _status_lines(app: App, found: Status) -> Iterator[str]:
    root = escape(str(app.brain.root))
    yield f"On {escape(found.branch)} at {short_id(found.head)} in {root}"
    if found.merging is not None:
        unresolved = sum(row.choice is None for row in found.conflicts)
        revision = short_id(found.merging) if is_hex(found.merging) else escape(found.merging)
        yield f"Merging {revision}: {pluralize(unresolved, 'conflict')} to resolve"
        yield from map(conflict_line, found.conflicts)
    if found.clean:
        yield "Nothing changed since the last snapshot."
    for letter, colour, paths in (
        ("A", "green", found.added),
        ("M", "yellow", found.modified),
        ("D", "red", found.removed),
    ):
        for path in paths:
            yield f"{colorize(letter, colour)} {escape(path)}"
    for one in found.waiting:
        if one.kind == "unsigned":
            from ..settings.user_keys import unverifiable_advice

            advice = unverifiable_advice(app.brain, found.head)
            yield f"The head lacks a signature of a trusted key: {advice}"
        else:
            yield f"{_waiting_text(one)}: `{one.command}`"


def _waiting_text(one: Waiting) -> str:
    if one.kind == "merge":
        open_conflicts = (
            f"{pluralize(one.count, 'conflict')} to resolve" if one.count else "resolved"
        )
        return f"A merge to finish, {open_conflicts}"
    return {
        "proposals": f"{pluralize(one.count, 'proposal')} to review",
        "provisional": f"{pluralize(one.count, 'provisional change')} of skills",
    }[one.kind]


@brain_command(
    "snapshot",
    examples=(
        "brain snapshot",
        'brain snapshot -m "Lessons of the week"',
        "brain snapshot memory/memories.jsonl",
    ),
    exits=WRITE_EXITS,
)
@argument("paths", metavar="[PATH]...", nargs=-1, type=PathType())
@message_option
@flag("--strict", help="Record nothing if a file is left out, such as one that cannot be read.")
def snapshot_command(app: App, paths: tuple[str, ...], message: str | None, strict: bool) -> None:
    """Record the folder as it is.

    PATH is a file or folder, relative to the current folder; with PATH, only these are
    recorded. Nothing is recorded if nothing changed since the last snapshot. Text that
    looks like a secret is reported. If more than 4 MiB changed, the number of unscanned
    files is printed; `brain secrets` scans them. A file that cannot be read, or that a brain
    cannot hold, is named and left out; what is recorded of it stays.
    """
    with ProgressBar(app) as bar:
        chosen = []
        if paths:
            from ..revision_paths import resolve_paths

            chosen = resolve_paths(app, paths)
        result = app.brain.snapshot(message or "", chosen, progress=bar, strict=strict)
    for line in scan_note_lines(result):
        app.print_note(line)
    emit(app, result, _recorded_lines(result))
    raise_if_not_committed(result.commitment)


def _recorded_lines(result: Recorded) -> Iterator[str]:
    if not result.changed:
        yield f"Nothing changed since snapshot {short_id(result.snapshot)}."
        return
    counts = f"{result.added} added, {result.modified} modified, {result.removed} removed"
    if not result.added + result.modified + result.removed:
        counts = "a message for edits that were recorded before"
    yield f"Snapshot {short_id(result.snapshot)}: {counts}"
    yield f"Bundle   {short_id(result.bundle)}"
    yield from commitment_lines(result.commitment)


DEFAULT_DEBOUNCE_SECONDS = 0.5
DEFAULT_MAX_WAIT_SECONDS = 10.0


@brain_command(
    "watch",
    examples=("brain watch", "brain watch --debounce 2 --max-wait 60", "brain watch --json"),
    exits=WRITE_EXITS,
)
@option(
    "--debounce",
    type=SecondsType(),
    metavar="SECONDS",
    help=f"Record after SECONDS without a change.  [default: {DEFAULT_DEBOUNCE_SECONDS}]",
)
@option(
    "--max-wait",
    type=SecondsType(),
    metavar="SECONDS",
    help=f"Record at the latest SECONDS after a change.  [default: {DEFAULT_MAX_WAIT_SECONDS:g}]",
)
@repeated_option(
    "--transcripts",
    metavar="FOLDER",
    help="Also learn from sessions of other programs that end in FOLDER; repeatable.",
)
def watch_command(
    app: App, debounce: float | None, max_wait: float | None, transcripts: tuple[str, ...]
) -> None:
    """Record changes as they come.

    First records what changed since the last snapshot. Then makes a snapshot whenever a
    program changes files; its message lists the changes. Ctrl-C or SIGTERM records
    pending changes and ends the command. Errors are printed to stderr, and recording is
    retried with the next change. --json prints one document per line for each snapshot.

    With --transcripts, such as ~/.claude/projects, each transcript is read two minutes after
    its last change, and its hard runs are queued to learn from. If a model is
    configured, they are learned from meanwhile, as by `brain evolve run`.
    """
    from brain.watching import WatchFailure

    from ..background_learner import learn_in_background

    _refuse_output_into_brain(app.brain.root)
    with (
        app.brain.watch(
            debounce=DEFAULT_DEBOUNCE_SECONDS if debounce is None else debounce,
            max_wait=DEFAULT_MAX_WAIT_SECONDS if max_wait is None else max_wait,
        ) as watch,
        terminal.stop_on_signal(watch.stop),
        learn_in_background(app, [Path(folder) for folder in transcripts]),
    ):
        _print_watched(app, watch.catch_up())
        app.print_note(f"Watching {escape(str(app.brain.root))}; Ctrl-C ends it")
        for step in watch.run():
            if isinstance(step, WatchFailure):
                print_error(describe_error(step.error), as_json=app.as_json)
                app.print_note("Recording is retried with the next change.")
            else:
                _print_watched(app, step)


def _refuse_output_into_brain(root: Path) -> None:
    """Refuse to print into a file of the brain: each line would be a change to record."""
    for number in (1, 2):
        try:
            printed = Path(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:  # no /proc on this system
            continue
        if printed.is_file() and printed.is_relative_to(root.resolve()):
            raise Failure(
                "prints_into_brain",
                f"its output would be written into the watched brain: {escape(str(printed))}",
                "write to a file outside the brain",
                USAGE,
            )


def _print_watched(app: App, result: Watched | None) -> None:
    if result is not None:
        for line in scan_note_lines(result):
            app.print_note(line)
        line = f"Snapshot {short_id(result.snapshot)}: {escape(result.message)}"
        emit_line(app, result, [line, *commitment_lines(result.commitment)])
        app.warn_if_unverifiable()
        try:
            raise_if_not_committed(result.commitment)
        except BrainError as error:
            print_error(describe_error(error), as_json=app.as_json)


@brain_command(
    "restore",
    examples=(
        "brain restore @~1",
        "brain restore @~1 skills/oracle-manipulation",
        "brain restore oracle-manipulation@1",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("rev", metavar="[REV|SKILL]", type=NonEmptyType())
@argument("paths", metavar="[PATH]...", nargs=-1, type=PathType())
def restore_command(app: App, rev: str, paths: tuple[str, ...]) -> None:
    """Bring back files or a skill.

    SKILL@VERSION records the skill as it was in that version, as its next version; SKILL, and
    PATH without REV, are files of the head. PATH is a file or folder, relative to the current
    folder (default: all files). Changes in the folder that no snapshot has are recorded
    first; the restored state becomes a new snapshot, and the history stays.
    """
    from ..revision_paths import is_path, resolve_paths, separate_skills

    revisions, skills = separate_skills(app, [rev])
    if skills and skills[0].version and not paths:
        reverted = app.brain.skills.revert(skills[0].address, skills[0].version)
        text = f"{upsert_line(reverted)} with the text of version {escape(skills[0].version)}"
        emit_write(app, reverted, text)
        return
    if not skills and is_path(app, rev):
        revisions, paths = [], (rev, *paths)
    chosen = [*(skill.path for skill in skills), *resolve_paths(app, paths)]
    with ProgressBar(app) as bar:
        result = app.brain.restore("".join(revisions) or "@", chosen, progress=bar)
    emit(app, result, [f"Head is {restored_text(result)}"])


@brain_command("undo", examples=("brain undo",), exits=OVERWRITE_EXITS)
def undo_command(app: App) -> None:
    """Undo the last operation.

    Says what it was. The folder, the branch and its head return to their previous state; the
    undo of a switch goes back to the branch before it. 'brain redo' reverses it. Operations on
    other branches stay.
    """
    _emit_undone(app, "Undid", app.brain.undo())


@brain_command("redo", examples=("brain redo",), exits=OVERWRITE_EXITS)
def redo_command(app: App) -> None:
    """Redo what was undone last.

    Says what it was. Works until the next operation is recorded.
    """
    _emit_undone(app, "Redid", app.brain.redo())


def _emit_undone(app: App, verb: str, result: Undone) -> None:
    what = f"{verb}: {escape(result.description)}, on {escape(result.branch)}"
    emit(app, result, [what, f"Head is {restored_text(result)}"])
