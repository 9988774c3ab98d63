"""The commands of `brain proposal`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain.results import text_format

from ..command import OVERWRITE_EXITS, WRITE_EXITS, argument, brain_command, flag, option
from ..context import App
from ..json_format import to_json
from ..options import message_option
from ..output import emit
from ..progress_bar import ProgressBar
from ..render.changes import path_change_line, report_merge, skill_change_line, undiffable_line
from ..render.human_format import align_columns, local_time, pluralize, short_id
from ..terminal import escape, escape_lines

if TYPE_CHECKING:
    from brain.results import Proposal, ProposedProgram, SnapshotInfo, UndiffableFile


_MAX_NAMED_FILES = 3
"""Files beside skills that are named in the line of a proposal."""


@brain_command("list", examples=("brain proposal list",))
def proposal_list_command(app: App) -> None:
    """List the proposals of agents.

    Changes of agents that `brain mcp --approve` serves are proposals: the folder and the
    head stay the same until you accept them.
    """
    found = app.brain.proposals.list()
    emit(app, {"proposals": found}, _proposal_list_lines(found))


def _proposal_list_lines(found: list[Proposal]) -> Iterator[str]:
    if not found:
        yield "No proposals."
    yield from align_columns(
        (
            short_id(one.snapshot),
            local_time(one.made[0].time),
            escape(one.name),
            ", ".join(_change_texts(one)) or pluralize(len(one.changes), "file"),
        )
        for one in found
    )


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
    exactly what is shown, without later changes of the proposal.
    """
    found = app.brain.proposals.show(name)
    diff = app.brain.history.diff(found.base, found.snapshot)
    pieces, hidden = app.brain.history.patch(diff), app.brain.history.find_undiffable(diff)
    programs = app.brain.proposals.programs(found.snapshot)
    if app.as_json:
        more = {"programs": to_json(programs), "unshown": to_json(hidden)}
        emit(app, {**to_json(found), "patch": "".join(pieces), **more}, ())
    else:
        emit(app, found, _proposal_lines(app, found, programs, pieces, hidden))


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
    return escape(text_format.format_snapshot(made.message.strip(), made.operation))


def _proposal_lines(
    app: App,
    found: Proposal,
    programs: list[ProposedProgram],
    pieces: Iterator[str],
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
    for piece in pieces:
        yield escape_lines(piece.rstrip("\n"))
    yield ""
    if hidden:
        yield "Not shown as text:"
        yield from map(undiffable_line, hidden)
        yield f"To see them: {app.command_prefix} fork FOLDER --rev {short_id(found.snapshot)}"
        yield ""
    more = " --binary" if any(one.after for one in hidden) else ""
    yield f"To accept this: {app.command_prefix} proposal accept {found.snapshot}{more}"


@brain_command(
    "accept",
    examples=(
        "brain proposal accept 5d1e2f3a9b0c",
        "brain proposal accept 5d1e2f3a9b0c csv-report",
        "brain proposal accept 5d1e2f3a9b0c --binary",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("snapshot")
@argument("skills", metavar="[SKILL]...", nargs=-1)
@message_option
@flag("--binary", help="Accept also the files that cannot be shown as text.")
def proposal_accept_command(
    app: App, snapshot: str, skills: tuple[str, ...], message: str | None, binary: bool
) -> None:
    """Merge a proposal into this branch.

    SNAPSHOT is the id in the last line of `brain proposal show`, or a prefix of it. A
    name is refused, because the proposal may have changed since you saw it. With SKILL,
    only the changes of these skills are merged; the rest stays proposed. The merge
    is a snapshot of its own, whose author is you. If new snapshots are signed, the merged
    ones are signed too, also by `brain merge --continue` after conflicts.
    """
    with ProgressBar(app) as bar:
        result = app.brain.proposals.accept(
            snapshot, message or "", progress=bar, include_undiffable=binary, skills=skills
        )
    report_merge(app, result)


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
    next answer, or when its next session begins; `brain op log` has it, too.
    """
    rejected = app.brain.proposals.reject(name, message or "")
    emit(
        app,
        rejected,
        [f"Rejected {escape(rejected.name)}, which was at {short_id(rejected.snapshot)}"],
    )
