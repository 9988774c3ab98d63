"""Commands that read the history: log, show, diff, blame, bisect, why."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from brain.errors import printable_text

from ..command import argument, brain_command, flag, option
from ..context import App
from ..error_report import FAILURE, Failure
from ..json_format import to_json
from ..options import revision_argument, revision_option
from ..output import emit
from ..params import CountType, NonEmptyType, SlugType
from ..render import lineage_graph as lanes
from ..render.changes import operation_text, path_change_line, skill_change_line
from ..render.human_format import (
    SHORT_ID_DIGITS,
    align_columns,
    colorize,
    first_line,
    format_size,
    local_time,
    pluralize,
    short_id,
)
from ..render.run_report import counts_text, source_text
from ..std_streams import write_lines
from ..terminal import escape, escape_lines, terminal_width

if TYPE_CHECKING:
    from brain import Brain
    from brain.results import (
        Bisected,
        BlameLine,
        Diff,
        DiffStat,
        RunSummary,
        SkillReasons,
        SnapshotDetails,
        SnapshotInfo,
        VersionReason,
    )


@brain_command(
    "log",
    examples=("brain log -n 10", "brain log --graph", "brain log --skill oracle-manipulation"),
)
@revision_argument
@option("-n", "--limit", type=CountType(), metavar="N", help="Show at most N snapshots.")
@option(
    "--skill", type=SlugType(), metavar="SLUG", help="Show only snapshots that changed this skill."
)
@flag("--graph", help="Draw how the snapshots descend from each other.")
def log_command(
    app: App, rev: str | None, limit: int | None, skill: str | None, graph: bool
) -> None:
    """List snapshots, newest first.

    REV is the snapshot to start from (default: @, the head).
    """
    found = app.brain.history.log(rev or "@", limit=limit, skill=skill)
    if app.as_json:
        emit(app, {"snapshots": list(found)}, ())
    else:
        columns = terminal_width(sys.stdout)
        lines = (
            _graph_lines(found, columns) if graph else (_log_line(info, columns) for info in found)
        )
        write_lines(lines)


def _graph_lines(found: Iterator[SnapshotInfo], columns: int) -> Iterator[str]:
    lines = lanes.GraphLanes()
    for info in found:
        row, below = lines.add_snapshot(info.snapshot, info.parents)
        yield f"{row} {_log_line(info, columns, len(row) + 1)}"
        yield from below


def _log_line(info: SnapshotInfo, columns: int, indent: int = 0) -> str:
    """Return one snapshot as a line that fits `columns`; 0 stands for any length."""
    words = first_line(info.message) or operation_text(info.operation)
    tail = f"  {local_time(info.time)}  {escape(info.author)}  {words}"
    room = columns - indent - SHORT_ID_DIGITS
    shown = tail if room < 0 or len(tail) <= room else tail[: room - 1] + "…"
    return colorize(short_id(info.snapshot), "yellow") + shown


@brain_command("show", examples=("brain show", "brain show @~3", "brain show 5d1e2f3a --json"))
@revision_argument
def show_command(app: App, rev: str | None) -> None:
    """Show one snapshot.

    REV is an id or a unique part of its beginning, a branch, @ (the head, the
    default) or @~N. The counts are against its first parent.
    """
    shown = app.brain.history.show(rev or "@")
    document = {**to_json(shown.info), **shown._asdict()}
    del document["info"]
    emit(app, document, _snapshot_detail_lines(shown))


def _snapshot_detail_lines(shown: SnapshotDetails) -> Iterator[str]:
    info = shown.info
    fields = [
        ("snapshot", info.snapshot),
        ("bundle", info.bundle),
        *(("parent", parent) for parent in info.parents),
        ("author", info.author),
        ("time", local_time(info.time)),
        ("action", operation_text(info.operation)),
    ]
    if info.receipt:
        fields.append(("receipt", info.receipt))
    fields.extend(("signed by", row.key) for row in shown.signatures)
    yield from align_columns(fields)
    if info.message:
        yield ""
        yield "\n".join(f"  {line}" for line in escape_lines(info.message.strip()).split("\n"))
    yield ""
    yield _change_counts(shown.counts)
    yield from align_columns(
        (escape(name), short_id(part.root), pluralize(part.files, "file"), format_size(part.bytes))
        for name, part in shown.sections.items()
    )


def _change_counts(counts: dict[str, int]) -> str:
    changes = ", ".join(f"{counts[what]} {what}" for what in ("added", "modified", "removed"))
    return f"{changes}; {pluralize(counts['files'], 'file')}, {format_size(counts['bytes'])} in all"


_SKILL_CHANGE_COLORS = {"added": "green", "upgraded": "green", "removed": "red"}
_PATH_CHANGE_COLORS = {"A": "green", "D": "red"}


@brain_command("diff", examples=("brain diff", "brain diff @~1 @", "brain diff @~3 @ --patch"))
@argument("from_", metavar="[FROM", required=False)
@argument("to", metavar="[TO]]", required=False)
@flag("--stat", help="Count changed lines for each file.")
@flag("--patch", help="Print the changed lines.")
def diff_command(app: App, from_: str | None, to: str | None, stat: bool, patch: bool) -> None:
    """Show the differences between two states.

    Without arguments: the head against the folder. With FROM alone: that snapshot
    against the folder. Changes of skills are described in words, other files by A
    (added), M (modified), D (removed) or R (renamed).
    """
    found = app.brain.history.diff(from_, to)
    if app.as_json:
        emit(app, _diff_document(app.brain, found, stat, patch), ())
    elif stat or patch:
        if stat:
            write_lines(_stat_lines(app.brain.history.diff_stat(found)))
        if patch:
            write_lines(map(_colorize_patch, app.brain.history.patch(found)))
    else:
        write_lines(_diff_lines(app.brain, found))


def _diff_document(brain: Brain, found: Diff, stat: bool, patch: bool) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if stat:
        extra["stat"] = brain.history.diff_stat(found)
    if patch:
        extra["patch"] = "".join(brain.history.patch(found))
    return {**to_json(found), **extra}


def _diff_lines(brain: Brain, found: Diff) -> Iterator[str]:
    for skill in found.skills:
        yield colorize(skill_change_line(skill), _SKILL_CHANGE_COLORS.get(skill.change, "yellow"))
    others = [change for change in found.changes if change.section != "skills"]
    memory = found._replace(changes=[item for item in others if item.section == "memory"])
    counted = (
        {stat.path: stat for stat in brain.history.diff_stat(memory)} if memory.changes else {}
    )
    for change in others:
        words = path_change_line(change)
        tail = f"  {_stat_numbers(counted[change.path])}" if change.path in counted else ""
        yield colorize(words, _PATH_CHANGE_COLORS.get(words[0], "yellow")) + tail
    if not found.changes:
        yield "No differences."


def _stat_numbers(stat: DiffStat) -> str:
    return "binary" if stat.added < 0 else f"+{stat.added} -{stat.removed}"


def _stat_lines(stats: list[DiffStat]) -> Iterator[str]:
    longest = max((len(escape(stat.path)) for stat in stats), default=0)
    for stat in stats:
        yield f"{escape(stat.path).ljust(longest)}  {_stat_numbers(stat)}"
    added = sum(max(stat.added, 0) for stat in stats)
    removed = sum(max(stat.removed, 0) for stat in stats)
    yield f"{pluralize(len(stats), 'file')}, +{added} -{removed}"


def _colorize_patch(piece: str) -> str:
    lines = escape_lines(piece.rstrip("\n")).split("\n")
    return "\n".join(_colorize_patch_line(line) for line in lines)


def _colorize_patch_line(line: str) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return colorize(line, colour) if colour else line


class BlameDocument(NamedTuple):
    """The lines of a skill, each with the snapshot that wrote it."""

    lines: list[BlameLine]


@brain_command(
    "blame", examples=("brain blame oracle-manipulation", "brain blame oracle-manipulation --json")
)
@argument("slug", type=SlugType())
@revision_option("The snapshot to look at.")
def blame_command(app: App, slug: str, rev: str | None) -> None:
    """Show which snapshot wrote each line of a skill.

    Follows lines through merges and renames. The JSON also has the receipt of the work
    that wrote a line, if there is one.
    """
    rows = app.brain.history.blame(slug, rev or "@")
    emit(app, BlameDocument(rows), _blame_lines(rows))


def _blame_lines(rows: list[BlameLine]) -> Iterator[str]:
    width = max((len(row.author) for row in rows), default=0)
    for row in rows:
        author = escape(row.author[:20]).ljust(min(width, 20))
        day = f"{row.time:%Y-%m-%d}"
        yield f"{short_id(row.snapshot)} {author} {day} {row.line:4} {escape(row.text)}"


SKIP_STATUS = 125
"""Status of a check that cannot test a snapshot, as in git bisect."""
MAX_BAD_STATUS = 127
"""Greatest status that means bad; a greater one ends the search, as in git bisect."""


@brain_command(
    "bisect",
    examples=(
        "brain bisect --good @~20 -- grep -q TWAP skills/oracle-manipulation/SKILL.md",
        "brain bisect --good @~20 --bad @~3 -- ./check.sh",
    ),
)
@option("--good", type=NonEmptyType(), help="A snapshot that passes.  [required]")
@option("--bad", type=NonEmptyType(), help="A later one that fails.  [default: @]")
@argument("check", metavar="-- COMMAND [ARG]...", nargs=-1, required=True, type=None)
def bisect_command(app: App, good: str | None, bad: str | None, check: tuple[str, ...]) -> None:
    """Find the snapshot that made a check fail.

    Runs COMMAND in a temporary folder with the files of a snapshot: status 0 means good,
    125 means untestable, any other up to 127 means bad, and a greater one stops the
    search. BRAIN_SNAPSHOT has the id of the snapshot. The brain is not changed.
    """
    if not good:
        raise click.UsageError("Missing option '--good': a snapshot that passes.")
    found = app.brain.history.bisect(
        good, lambda folder, id: _run_check(app, check, folder, id), bad or "@"
    )
    emit(app, found, _bisect_lines(found))


def _run_check(app: App, check: tuple[str, ...], folder: Path, snapshot: str) -> bool | None:
    import os
    import subprocess

    try:
        status = subprocess.run(
            check,
            cwd=folder,
            env={**os.environ, "BRAIN_SNAPSHOT": snapshot},
            stdin=subprocess.DEVNULL,
            stdout=2,  # stdout is for our result only
            check=False,
        ).returncode
    except OSError as error:
        reason = error.strerror or "cannot be run"
        raise Failure(
            "bad_check", f"{printable_text(check[0])}: {reason}", status=FAILURE
        ) from None
    if status < 0 or status > MAX_BAD_STATUS:
        raise Failure("check_stopped", f"the check ended with status {status}", status=FAILURE)
    app.print_note(
        f"{short_id(snapshot)} {'good' if status == 0 else 'bad' if status != SKIP_STATUS else '?'}"
    )
    return None if status == SKIP_STATUS else status == 0


def _bisect_lines(found: Bisected) -> Iterator[str]:
    if found.first_bad is not None:
        yield f"{colorize(short_id(found.first_bad), 'red')} is the first that fails"
    else:
        yield "One of these is the first that fails; some snapshots could not be tested:"
        for here in found.suspects:
            yield f"  {short_id(here)}"
    yield f"{short_id(found.last_good)} is the last that passes"


_MISSING_RECEIPT_REASONS = {
    "none": "no receipt: the work was not recorded",
    "missing": "its receipt is missing from the store",
    "redacted": "its receipt was redacted",
    "foreign": "its record is not a receipt",
}


@brain_command("why", examples=("brain why oracle-manipulation", "brain why oracle-manipulation@3"))
@argument("slug", metavar="SLUG[@VERSION]", type=SlugType())
def why_command(app: App, slug: str) -> None:
    """Show the work behind each version of a skill.

    For each version, newest first: the task, the agent and its model, the steps, the
    tools used, the skills loaded, and the outcome of the run.
    """
    found = app.brain.history.why(slug)
    emit(app, found, _why_lines(found))


def _why_lines(found: SkillReasons) -> Iterator[str]:
    for one in found.versions:
        yield (
            f"{found.slug}@{one.version}  {one.change} {local_time(one.time)}"
            f" by {first_line(one.author) or 'no author'}, snapshot {short_id(one.snapshot)}"
        )
        yield from (
            f"    {escape(line)}" for line in _version_reason_lines(one)
        )  # a receipt may be foreign


def _version_reason_lines(one: VersionReason) -> Iterator[str]:
    if one.message:
        yield first_line(one.message)
    if one.work is None:
        yield _MISSING_RECEIPT_REASONS[one.state]
        return
    yield from _work_lines(one.work)


def _work_lines(work: RunSummary) -> Iterator[str]:
    yield f"task: {first_line(work.task) or 'no name'}"
    who = ", ".join(filter(None, (first_line(work.agent), first_line(work.model))))
    if who:
        yield f"by {who}"
    failed = f", {pluralize(work.errors, 'error')}" if work.errors else ""
    yield f"steps: {counts_text(work.steps)}{failed}" if work.steps else "no steps"
    if work.tools:
        yield f"tools: {counts_text(work.tools)}"
    if work.skills_loaded:
        yield f"loaded: {', '.join(work.skills_loaded)}"
    if work.source is not None:
        yield f"read from {source_text(work.source)}"
    reason = f": {first_line(work.reason)}" if work.reason else ""
    end = f", in {short_id(work.end)}" if work.end else ""
    yield f"outcome: {work.outcome or 'still open'}{end}{reason}"
