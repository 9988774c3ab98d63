"""The commands of `brain proposal`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brain.errors import InvalidInput, printable_text
from brain.limits import MAX_EDIT_BYTES
from brain.results import text_format

from ..command import (
    OVERWRITE_EXITS,
    WRITE_EXITS,
    argument,
    brain_command,
    flag,
    option,
    repeated_option,
)
from ..context import App
from ..options import message_option
from ..output import emit, to_json
from ..params import CountType, PathType
from ..render.changes import path_change_line, report_merge, skill_change_line, undiffable_line
from ..render.human_format import align_columns, local_time, pluralize, short_id
from ..terminal import ProgressBar, escape, escape_lines, is_terminal
from ..user_files import read_input

if TYPE_CHECKING:
    from brain.results import (
        Hunk,
        PathChange,
        Proposal,
        ProposedProgram,
        SnapshotInfo,
        UndiffableFile,
    )


_MAX_NAMED_FILES = 3
"""Files beside skills that are named in the line of a proposal."""
_DEFAULT_LIMIT = 50
_VERSION_CHANGE = re.compile(r"^\+( *version:.*)$", re.MULTILINE)
_QUESTION = "Accept this hunk (y, n, a: the rest of the file, d: none of it, q: no more)"


@brain_command("list", examples=("brain proposal list", "brain proposal list -n 1000"))
@option(
    "-n", "--limit", type=CountType(), metavar="N",
    help=f"List at most N proposals; also -N.  [default: {_DEFAULT_LIMIT}]",
)  # fmt: skip
def proposal_list_command(app: App, limit: int | None) -> None:
    """List the proposals of agents.

    Changes of agents that `brain mcp --approve` serves are proposals: the folder and the
    head stay the same until you accept them. Those that change the same are in one group.
    """
    found = app.brain.proposals.list(_DEFAULT_LIMIT if limit is None else limit)
    count = len(app.brain.proposals.names())
    emit(
        app,
        {"proposals": found, "more": count - len(found)},
        _proposal_list_lines(app, found, count),
    )


def _proposal_list_lines(app: App, found: list[Proposal], count: int) -> Iterator[str]:
    if not count:
        yield "No proposals."
    groups: dict[tuple[PathChange, ...], list[Proposal]] = {}
    for one in found:
        groups.setdefault(tuple(one.changes), []).append(one)
    rows = [
        (
            *(short_id(one.snapshot), local_time(one.made[0].time), escape(one.name)),
            ", ".join(_change_texts(one)) or pluralize(len(one.changes), "file"),
        )
        for one, *_ in groups.values()
    ]
    for line, (_, *others) in zip(align_columns(rows), groups.values(), strict=True):
        yield line
        if others:
            same = [f"{short_id(one.snapshot)} {escape(one.name)}" for one in others]
            yield f"  and {len(others)} that change the same: {', '.join(same)}"
    if count > len(found):
        more = f"{count - len(found)} more: {app.command_prefix} proposal list -n {count}"
        yield more


def _change_texts(one: Proposal) -> Iterator[str]:
    yield from map(text_format.format_skill_change, one.skills)
    others = text_format.changes_outside_skills(one.changes, one.skills)
    yield from map(text_format.format_path_change, others[:_MAX_NAMED_FILES])
    if len(others) > _MAX_NAMED_FILES:
        yield pluralize(len(others) - _MAX_NAMED_FILES, "more file")


@brain_command("show", examples=("brain proposal show claude-code",))
@argument("name")
def proposal_show_command(app: App, name: str) -> None:
    """Show what a proposal would change.

    NAME is as in `brain proposal list`, or a snapshot of the proposal. It says which
    programs will run, and how they were tried. Files that are
    not text are listed with kind, size and id. The last line is the command that accepts
    exactly what is shown, without later changes of the proposal; each hunk has the number
    that accepts it alone.
    """
    found = app.brain.proposals.show(name)
    diff = app.brain.history.diff(found.base, found.snapshot)
    hidden = app.brain.history.find_undiffable(diff)
    programs = app.brain.proposals.programs(found.snapshot)
    hunks = app.brain.proposals.hunks(found.snapshot)
    if app.as_json:
        more = {"programs": programs, "unshown": hidden, "hunks": list(hunks)}
        patch = "".join(app.brain.history.patch(diff))
        emit(app, {**to_json(found), "patch": patch, **to_json(more)}, ())
    else:
        emit(app, found, _proposal_lines(app, found, programs, hunks, hidden))


_PROGRAM_STATES = {
    "runnable": "will run once this is accepted",
    "not_tried": "will run once `brain evolve admit` has tried it on this machine",
    "not_admitted": "will not run: it was not admitted",
    "changed": "will not run: it was changed here, too, and nothing tried what comes out",
    "unusable": "will not run: its files cannot be used",
}


def _program_line(program: ProposedProgram) -> str:
    verdict = f"; {program.decision.summary}" if program.decision is not None else ""
    return f"Program {program.slug}@{program.version} {_PROGRAM_STATES[program.status]}{verdict}"


def _made_text(made: SnapshotInfo) -> str:
    message = made.message.strip().replace("\n\nEvolver: ", "; evolver: ")
    return escape(text_format.format_snapshot(message, made.operation))


def _proposal_lines(
    app: App,
    found: Proposal,
    programs: list[ProposedProgram],
    hunks: Iterator[Hunk],
    hidden: list[UndiffableFile],
) -> Iterator[str]:
    for made in reversed(found.made):
        by = f" by {escape(made.author)}" if made.author else ""
        yield f"{short_id(made.snapshot)}{by}: {_made_text(made)}"
    yield from map(skill_change_line, found.skills)
    others = text_format.changes_outside_skills(found.changes, found.skills)
    yield from map(path_change_line, others)
    yield from (escape(_program_line(program)) for program in programs)
    yield ""
    for hunk in hunks:
        yield _hunk_text(hunk)
    yield ""
    if hidden:
        yield "Not shown as text:"
        yield from map(undiffable_line, hidden)
        yield f"To see them: {app.command_prefix} fork FOLDER {short_id(found.snapshot)}"
        yield ""
    more = " --binary" if any(one.after for one in hidden) else ""
    yield f"To accept this: {app.command_prefix} proposal accept {found.snapshot}{more}"


def _hunk_text(hunk: Hunk) -> str:
    """Return the text of a hunk, which says its number where it begins."""
    text = escape_lines(hunk.text.rstrip("\n"))
    head, start, rest = text.partition("@@ -")
    if not start or (head and not head.endswith("\n")):
        return f"{text}\nhunk {hunk.number}"
    first, end, rest = rest.partition("\n")
    return f"{head}{start}{first} hunk {hunk.number}{end}{rest}"


@brain_command(
    "accept",
    examples=(
        "brain proposal accept 5d1e2f3a9b0c",
        "brain proposal accept 5d1e2f3a9b0c csv-report",
        "brain proposal accept 5d1e2f3a9b0c --hunk 1 --hunk 3",
        "brain proposal accept 5d1e2f3a9b0c -p",
        "brain proposal accept 5d1e2f3a9b0c csv-report --edit",
        "brain proposal accept 5d1e2f3a9b0c --binary",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("snapshot")
@argument("skills", metavar="[SKILL]...", nargs=-1)
@repeated_option(
    "--hunk", "hunks", type=CountType(), metavar="N",
    help="Accept only this hunk of `brain proposal show`; may be given again.",
)  # fmt: skip
@flag("-p", "--patch", help="Ask about each hunk.")
@flag("--edit", help="Edit the proposed texts in $EDITOR, and accept what you save.")
@option("--file", "file", type=PathType(), help="Accept this text instead of the proposed one.")
@message_option
@flag("--binary", help="Accept also the files that cannot be shown as text.")
def proposal_accept_command(
    app: App,
    snapshot: str,
    skills: tuple[str, ...],
    hunks: tuple[int, ...],
    patch: bool,
    edit: bool,
    file: str | None,
    message: str | None,
    binary: bool,
) -> None:
    """Merge a proposal into this branch.

    SNAPSHOT is the id in the last line of `brain proposal show`, or a prefix of it. A
    name is refused, because the proposal may have changed since you saw it. With SKILL
    (also the path of a changed file), --hunk or -p, only these changes are merged; the rest
    stays proposed. The merge is a snapshot of its own, whose author is you; so is what you
    edited. If new snapshots are signed, the merged ones are signed too, also by `brain merge
    --continue` after conflicts.
    """
    if edit and file is not None:
        raise click.UsageError("--edit and --file are two ways to edit; give one of them")
    if edit and not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise InvalidInput(
            "--edit opens an editor, and there is no terminal for it",
            code="no_terminal",
            hint="write the text that you accept into a file, and give it with --file FILE",
        )
    if patch:
        hunks = (*hunks, *_ask_about_hunks(app, snapshot))
    left = _list_left_versions(app, snapshot, hunks) if hunks else []
    take = _edit_in_editor if edit else partial(_read_edited, file) if file is not None else None
    with ProgressBar(app) as bar:
        result = app.brain.proposals.accept(
            snapshot,
            message or "",
            progress=None if edit else bar,
            include_undiffable=binary,
            skills=skills,
            hunks=hunks,
            edit=take,
        )
    for hunk in left if result.changed else []:
        if _VERSION_CHANGE.findall(hunk.text)[-1].encode() not in app.brain.files.read(hunk.path):
            app.print_note(
                f"Note: {escape(hunk.path)} keeps its version: hunk {hunk.number} changes that;"
                f" {app.command_prefix} proposal accept {short_id(snapshot)} --hunk {hunk.number}"
            )
    report_merge(app, result)


def _list_left_versions(app: App, snapshot: str, hunks: Sequence[int]) -> list[Hunk]:
    """Return the hunks that change the version of a file of which others are accepted."""
    every = list(app.brain.proposals.hunks(snapshot))
    taken = {one.path for one in every if one.number in hunks}
    return [
        one for one in every
        if one.path in taken and one.number not in hunks and _VERSION_CHANGE.search(one.text)
    ]  # fmt: skip


def _ask_about_hunks(app: App, snapshot: str) -> list[int]:
    """Return the numbers of the hunks that the user accepts, asking as `git add -p` does."""
    if not is_terminal(sys.stdin) or app.as_json:
        raise InvalidInput(
            "-p asks about each hunk, and there is no terminal to ask at",
            code="no_terminal",
            hint="name the hunks that `brain proposal show` numbers, as in --hunk 1 --hunk 3",
        )
    chosen: list[int] = []
    of_file: tuple[str, str] = ("", "")
    for hunk in app.brain.proposals.hunks(snapshot):
        answer = of_file[1] if hunk.path == of_file[0] else ""
        if not answer:
            click.echo(_hunk_text(hunk), err=True)
            answer = click.prompt(
                _QUESTION, type=click.Choice([*"ynadq"]), show_choices=False, err=True
            )
        if answer == "q":
            break
        if answer in "ad":
            of_file = hunk.path, answer
        if answer in "ya":
            chosen.append(hunk.number)
    if not chosen:
        raise InvalidInput("nothing was accepted", code="not_confirmed", hint="")
    return chosen


def _edit_in_editor(proposed: dict[str, bytes]) -> dict[str, bytes]:
    """Let the user edit the proposed texts. Raises `InvalidInput` (`not_edited`)."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="brain-") as folder:
        places = {path: Path(folder, path) for path in proposed}
        for path, place in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(proposed[path])
        click.edit(filename=[str(place) for place in places.values()])
        edited = {path: place.read_bytes() for path, place in places.items() if place.is_file()}
    if edited == proposed:
        raise InvalidInput(
            "nothing was edited, so nothing was accepted",
            code="not_edited",
            hint="accept what is proposed without --edit",
        )
    return edited


def _read_edited(file: str, proposed: dict[str, bytes]) -> dict[str, bytes]:
    if len(proposed) > 1:
        raise InvalidInput(
            f"--file is one text, and {pluralize(len(proposed), 'text')} are proposed:"
            f" {', '.join(map(printable_text, sorted(proposed)))}",
            code="ambiguous_edit",
            hint="name the skill or the hunk to accept, or edit them with --edit",
        )
    return dict.fromkeys(proposed, read_input(file, MAX_EDIT_BYTES, "the text"))


@brain_command(
    "reject",
    examples=(
        "brain proposal reject claude-code",
        'brain proposal reject claude-code -m "Say where the price comes from"',
    ),
    exits=WRITE_EXITS,
)
@argument("name")
@option("-m", "--message", metavar="TEXT", help="The reason, which the agent gets to read.")
def proposal_reject_command(app: App, name: str, message: str | None) -> None:
    """Remove a proposal.

    NAME is as in `brain proposal list`. `brain undo` restores it. The next proposal
    of the agent starts at the head. The agent reads the reason in its
    next answer, or when its next session begins; `brain log --ops` has it, too.
    """
    rejected = app.brain.proposals.reject(name, message or "")
    emit(
        app,
        rejected,
        [f"Rejected {escape(rejected.name)}, which was at {short_id(rejected.snapshot)}"],
    )
