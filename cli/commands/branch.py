"""Commands for branches and merges: branch, switch, merge, resolve, tag, fork."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import BrainError

from ..command import OVERWRITE_EXITS, WRITE_EXITS, argument, brain_command, flag
from ..context import App
from ..options import message_option, revision_argument
from ..output import emit
from ..params import BranchType, TagType, TextType
from ..render.changes import conflict_line, report_merge, restored_text
from ..render.human_format import (
    align_columns,
    colorize,
    first_line,
    local_time,
    pluralize,
    short_id,
)
from ..terminal import ProgressBar, escape

if TYPE_CHECKING:
    from brain.results import Branches, MergeConflict, Tag


@brain_command(
    "branch",
    examples=("brain branch", "brain branch try-idea", "brain branch --delete try-idea"),
    exits=OVERWRITE_EXITS,
)
@argument("name", required=False, type=BranchType())
@revision_argument
@flag("--delete", help="Delete NAME, if another branch contains its snapshots.")
def branch_command(app: App, name: str | None, rev: str | None, delete: bool) -> None:
    """List and create branches.

    A new branch points to REV, by default to the head; `brain switch` switches to it.
    """
    if name is None:
        if delete:
            raise click.UsageError("Missing argument 'NAME': the branch to remove.")
    elif delete:
        app.brain.branches.delete(name)
        app.print_note(f"Removed {escape(name)}")
    else:
        app.brain.branches.create(name, rev or "@")
    found = app.brain.branches.list()
    emit(app, found, _branch_lines(found))


def _branch_lines(found: Branches) -> Iterator[str]:
    for branch in found.branches:
        mark = colorize("*", "green") if branch.current else " "
        yield f"{mark} {short_id(branch.snapshot)} {escape(branch.name)}"


@brain_command(
    "switch",
    examples=("brain switch try-idea", "brain switch --new try-idea"),
    exits=OVERWRITE_EXITS,
)
@argument("name", type=BranchType())
@flag("--new", help="Create the branch first, at the head.")
def switch_command(app: App, name: str, new: bool) -> None:
    """Switch to another branch.

    The folder gets the files of the branch. Changes that no snapshot has and that
    would be overwritten are recorded first, on the current branch.
    """
    if new:
        app.brain.branches.create(name)
    with ProgressBar(app) as bar:
        result = app.brain.branches.switch(name, progress=bar)
    emit(app, result, [f"On {escape(result.branch)} at {restored_text(result)}"])


@brain_command(
    "merge",
    examples=(
        "brain merge try-idea",
        "brain merge try-idea --theirs",
        "brain merge --continue",
        "brain merge --abort",
    ),
    exits=OVERWRITE_EXITS,
)
@revision_argument
@flag("--ours", "choice", flag_value="ours", help="Resolve every conflict with our side.")
@flag(
    "--theirs", "choice", flag_value="theirs", help="Resolve every conflict with the side of REV."
)
@flag("--both", "choice", flag_value="both", help="Keep both sides of every conflict.")
@message_option
@flag("--continue", "step", flag_value="continue", help="Finish a merge with conflicts.")
@flag("--abort", "step", flag_value="abort", help="Abort a merge with conflicts.")
def merge_command(
    app: App, rev: str | None, choice: str | None, message: str | None, step: str | None
) -> None:
    """Merge another branch.

    Changes of different files never conflict. A skill that both sides changed is merged
    by front matter and body, and its version is higher than both; memory keeps what
    both sides appended. A conflict leaves the brain unchanged: see `brain resolve`.
    """
    if (rev is None) == (step is None):
        raise click.UsageError("Give either REV, or one of --continue and --abort.")
    if step and (choice or message):
        raise click.UsageError(f"--{step} cannot be combined with other options.")
    if step == "abort":
        _abort_merge(app)
        return
    with ProgressBar(app) as bar:
        if rev is None:
            result = app.brain.merge.resume(progress=bar)
        else:
            result = app.brain.merge.start(rev, choice, message or "", progress=bar)
    report_merge(app, result)


def _abort_merge(app: App) -> None:
    app.brain.merge.abort()
    from brain.results import Merged

    info = app.brain.history.show().info
    same = (info.snapshot, info.bundle, info.parents)
    nothing = Merged(*same, [], False, False, 0, 0, 0, [], [], [], None)
    emit(app, nothing, [f"The merge was aborted; the head is still {short_id(info.snapshot)}"])


@brain_command(
    "resolve",
    examples=(
        "brain resolve",
        "brain resolve prompts/system.md --ours",
        "brain resolve skills/oracle-manipulation/SKILL.md --edited",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("paths", metavar="[PATH]...", nargs=-1, type=TextType("bad_path"))
@flag("--ours", "choice", flag_value="ours", help="Take our side.")
@flag("--theirs", "choice", flag_value="theirs", help="Take their side.")
@flag("--both", "choice", flag_value="both", help="Keep both.")
@flag(
    "--edited", "choice", flag_value="content", help="Take the edited file from .brain/conflicts."
)
def resolve_command(app: App, paths: tuple[str, ...], choice: str | None) -> None:
    """Resolve merge conflicts.

    A conflicting text is written with markers to .brain/conflicts, where no agent reads
    it: edit it there and pass --edited. `brain merge --continue` finishes the merge.
    """
    if bool(paths) != bool(choice):
        raise click.UsageError("Give PATH with one of --ours, --theirs, --both and --edited.")
    rows = app.brain.merge.list_conflicts()
    if choice:
        known = [row.path for row in rows]
        chosen = [file for path in paths for file in _files_in_conflict(app, path, known)]
        rows = app.brain.merge.resolve(list(dict.fromkeys(chosen)), choice)
    emit(app, {"conflicts": rows}, _conflict_lines(rows))


def _files_in_conflict(app: App, path: str, known: list[str]) -> list[str]:
    """Return the path, or the files with a conflict of the skill that it names."""
    if path in known:
        return [path]
    try:
        skill = app.brain.skills.read_file(path).path
    except BrainError:  # then it names no conflict
        return [path]
    folder = skill.rpartition("/")[0] + "/" if skill.lower().endswith("/skill.md") else skill
    return [file for file in known if file.startswith(folder)] or [path]


def _conflict_lines(rows: list[MergeConflict]) -> Iterator[str]:
    yield from map(conflict_line, rows)
    unresolved = sum(row.choice is None for row in rows)
    if not rows:
        yield "No merge has conflicts."
    elif unresolved:
        yield f"{unresolved} to resolve"
    else:
        yield "All resolved: finish with `brain merge --continue`"


@brain_command(
    "fork",
    examples=("brain fork ../child-agent", "brain fork ../child-agent @~3"),
    exits=WRITE_EXITS,
)
@argument("directory", metavar="DIR", type=TextType("bad_path"))
@revision_argument
def fork_command(app: App, directory: str, rev: str | None) -> None:
    """Start a brain from this one.

    DIR is a new or empty folder. It starts from REV, by default from the head. The first
    snapshot of the fork names its origin, and the lineage of the origin is copied, so `brain
    prove --ancestor` proves in the fork alone where it comes from.
    """
    with ProgressBar(app) as bar:
        result = app.brain.fork(directory, rev or "@", progress=bar)
    emit(
        app,
        result,
        [
            f"Brain {short_id(result.brain)} in {escape(result.path)}",
            f"It descends from {short_id(result.origin)}",
        ],
    )
    _warn_unsigned_fork(app, result.path)


def _warn_unsigned_fork(app: App, path: str) -> None:
    """Print which keys must sign the first snapshot of a fork, if its trust file requires it."""
    import shlex

    from brain import Brain

    from ..settings.user_keys import signing_advice
    from ..trust_changes import pin_and_report_roots

    with Brain.open(path) as child:
        pin_and_report_roots(app, child, [made.key for made in child.signatures.list()])
        if child.signatures.find_missing():
            signed = [made.key for made in child.signatures.list()]
            call = f"brain -C {escape(shlex.quote(path))} sign"
            advice = signing_advice(child.trust.show(), call, signed)
            app.print_note(f"Note: 'brain verify' refuses the fork until it is signed: {advice}")


@brain_command(
    "tag",
    examples=("brain tag audit-2026", "brain tag audit-2026 @~3", "brain tag --delete audit-2026"),
    exits=OVERWRITE_EXITS,
)
@argument("name", required=False, type=TagType())
@revision_argument
@flag("--list", "list_", help="List the tags (default without NAME).")
@flag("--delete", help="Delete the tag NAME; its snapshot stays.")
def tag_command(app: App, name: str | None, rev: str | None, list_: bool, delete: bool) -> None:
    """Name a snapshot for good.

    Without NAME, lists the tags.     A tag never moves and keeps its snapshot from 'brain gc'.
    It is a revision wherever one is taken. REV is the snapshot to name (default: @, the head).
    Where new snapshots are signed, so is the one that a tag names. 'brain undo' reverses it.
    """
    if name is not None and list_:
        raise click.UsageError("--list takes no NAME.")
    if name is None:
        if delete:
            raise click.UsageError("Missing argument 'NAME': the tag to delete.")
        found = app.brain.tags.list()
        emit(app, {"tags": found}, _tag_lines(found))
    elif delete:
        if rev is not None:
            raise click.UsageError("--delete takes no REV.")
        tag = app.brain.tags.delete(name)
        emit(app, tag, [f"Deleted {escape(tag.name)}, which was at {short_id(tag.snapshot)}"])
    else:
        tag = app.brain.tags.create(name, rev or "@")
        emit(app, tag, [f"{escape(tag.name)} is {short_id(tag.snapshot)}{_signed_text(tag)}"])


def _tag_lines(found: list[Tag]) -> Iterator[str]:
    yield from align_columns(
        (
            short_id(tag.snapshot),
            local_time(tag.time),
            tag.name,
            first_line(tag.message) + _signed_text(tag),
        )
        for tag in found
    )


def _signed_text(tag: Tag) -> str:
    return f" (signed by {pluralize(len(tag.signed_by), 'key')})" if tag.signed_by else ""
