"""Commands that read the history: log, show, diff."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from brain.errors import BrainError
from brain.results import text_format

from ..command import argument, brain_command, flag, option
from ..context import App
from ..json_format import to_json
from ..options import patch_option, revision_argument, stat_option
from ..output import emit
from ..pager import paged
from ..params import CountType, PathType, SlugType
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
from ..revision_paths import find_named_skill, separate_skills, split_terms
from ..std_streams import write_lines
from ..terminal import escape, escape_lines, terminal_width

if TYPE_CHECKING:
    from brain import Brain
    from brain.results import (
        Diff,
        DiffStat,
        PathChange,
        SkillChange,
        SnapshotDetails,
        SnapshotInfo,
        TrustedKey,
    )


_SHORT_KEY_CHARS = len("ed25519:") + 8


@brain_command(
    "log",
    examples=(
        "brain log -n 10",
        "brain log --patch @~3..@",
        "brain log --stat -- skills/reentrancy",
        "brain log oracle-manipulation",
        "brain log --graph",
    ),
)
@argument("terms", metavar="[REV] [-- PATH...]", nargs=-1, type=PathType())
@option("-n", "--limit", type=CountType(), metavar="N", help="Show at most N snapshots; also -N.")
@option(
    "--skill", type=SlugType(), metavar="SLUG", help="Show only snapshots that changed this skill."
)
@flag("--graph", help="Draw how the snapshots descend from each other.")
@stat_option
@patch_option
@paged
def log_command(
    app: App,
    terms: tuple[str, ...],
    limit: int | None,
    skill: str | None,
    graph: bool,
    stat: bool,
    patch: bool,
) -> None:
    """List snapshots or versions.

    Newest first. REV is the snapshot to start from (default: @, the head), or a range A..B: B
    and its ancestors without those of A. A SKILL, or SKILL@VERSION, shows what changed it. With
    PATH, only snapshots that changed these files or folders, which are relative to the current
    folder. Signers are named as the trust file of the head names them; `brain verify` says
    whether they may sign.
    """
    if graph and (stat or patch):
        raise click.UsageError("--graph cannot be combined with --stat or --patch.")
    revisions, paths = split_terms(app, terms, 1)
    revisions, named = separate_skills(app, revisions)
    if named:
        skill = skill or named[0].address
    if skill and paths:
        raise click.UsageError("--skill cannot be combined with PATH.")
    found = app.brain.history.log("".join(revisions) or "@", limit, skill, paths=paths)
    if app.as_json:
        emit(app, {"snapshots": [_log_entry(app, one, paths, stat, patch) for one in found]}, ())
        return
    columns = terminal_width(sys.stdout)
    names = _signer_names(app.brain)
    if graph:
        write_lines(_graph_lines(found, names, columns))
        return
    for info in found:
        write_lines([_log_line(info, names, columns)])
        if stat or patch:
            changed = app.brain.history.diff_with_parent(info.snapshot, paths=paths)
            write_lines(_stat_and_patch_lines(app.brain, changed, stat, patch))
            write_lines([""])


SignerNames = Callable[[str], str]
"""Returns the name of a key in the trust file, or the first digits of the key."""


def _signer_names(brain: Brain) -> SignerNames:
    @cache
    def trusted_names() -> dict[str, str]:  # asked for at the first signature
        try:
            keys = brain.trust.show().keys
        except BrainError:  # a trust file that `verify` reports
            return {}
        return {one.key: f"{one.name}{_rights_mark(one)}" for one in keys}

    return lambda key: escape(trusted_names().get(key) or f"{key[:_SHORT_KEY_CHARS]}…")


def _rights_mark(key: TrustedKey) -> str:
    return " [revoked]" if key.revoked else " [retired]" if key.until else ""


def _log_entry(
    app: App, info: SnapshotInfo, paths: list[str], stat: bool, patch: bool
) -> dict[str, Any]:
    document: dict[str, Any] = to_json(info)
    if stat or patch:
        changed = app.brain.history.diff_with_parent(info.snapshot, paths=paths)
        document.update(changes=to_json(changed.changes), skills=to_json(changed.skills))
        document.update(_stat_and_patch(app.brain, changed, stat, patch))
    return document


def _graph_lines(found: Iterator[SnapshotInfo], names: SignerNames, columns: int) -> Iterator[str]:
    lines = lanes.GraphLanes()
    for info in found:
        row, below = lines.add_snapshot(info.snapshot, info.parents)
        yield f"{row} {_log_line(info, names, columns, len(row) + 1)}"
        yield from below


def _log_line(info: SnapshotInfo, names: SignerNames, columns: int, indent: int = 0) -> str:
    """Return one snapshot as a line that fits `columns`; 0 stands for any length."""
    words = first_line(text_format.format_snapshot(info.message.strip(), info.operation))
    if str(info.operation.get("summary")).startswith(("admitted as provisional", "still")):
        words = f"provisional: {words}"
    signed = ", ".join(map(names, info.signers))
    who = escape(info.author) + (f" (signed: {signed})" if signed else "")
    tail = f"  {local_time(info.time)}  {who}  {words}"
    room = columns - indent - SHORT_ID_DIGITS
    shown = tail if room < 0 or len(tail) <= room else tail[: room - 1] + "…"
    return colorize(short_id(info.snapshot), "yellow") + shown


@brain_command(
    "show", examples=("brain show", "brain show @~3 --patch", "brain show 5d1e2f3a --json")
)
@revision_argument
@stat_option
@patch_option
@paged
def show_command(app: App, rev: str | None, stat: bool, patch: bool) -> None:
    """Show a snapshot or a run.

    REV is an id or a unique part of its beginning, a branch, a tag, @ (the head, the
    default) or @~N; SKILL@VERSION is the snapshot that made that version, SKILL the last one
    that changed it. The changes are against its first parent.
    """
    named = find_named_skill(app, rev) if rev else None
    if named is not None:
        changes = app.brain.history.log("@", 1, named.address)
        rev = named.snapshot or next(one.snapshot for one in changes)
    shown = app.brain.history.show(rev or "@")
    changed = app.brain.history.diff_with_parent(shown.info.snapshot) if stat or patch else None
    document = {**to_json(shown.info), **shown._asdict()}
    del document["info"]
    if app.as_json and changed is not None:
        document.update(_stat_and_patch(app.brain, changed, stat, patch))
    emit(app, document, _snapshot_detail_lines(shown))
    if not app.as_json and changed is not None:
        write_lines([""])
        write_lines(_stat_and_patch_lines(app.brain, changed, stat, patch))


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
    if shown.changes:
        yield from _skill_lines(shown.skills)
        yield from map(_path_line, shown.changes)
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


@brain_command(
    "diff",
    examples=(
        "brain diff",
        "brain diff @~3 @ --patch",
        "brain diff main..idea --stat",
        "brain diff oracle-manipulation@1 oracle-manipulation@2",
        "brain diff @~1 -- skills/reentrancy",
    ),
)
@argument("terms", metavar="[FROM [TO]] [-- PATH...]", nargs=-1, type=PathType())
@stat_option
@patch_option
@paged
def diff_command(app: App, terms: tuple[str, ...], stat: bool, patch: bool) -> None:
    """Compare two states.

    Without arguments: the head against the folder. With FROM alone: that snapshot
    against the folder; FROM..TO is FROM and TO. SKILL@VERSION is the snapshot that made that
    version, and with SKILL only its files are compared. With PATH, only these files or folders,
    relative to the current folder. Changes of skills are described in words, other
    files by A (added), M (modified), D (removed) or R (renamed).
    """
    revisions, paths = split_terms(app, terms, 2)
    if len(revisions) == 1 and ".." in revisions[0]:
        revisions = [side or "@" for side in revisions[0].split("..", 1)]
    revisions, named = separate_skills(app, revisions)
    paths = [*paths, *dict.fromkeys(skill.path for skill in named)]
    from_, to = [*revisions, None, None][:2]
    found = app.brain.history.diff(from_, to, paths=paths)
    if app.as_json:
        emit(app, {**to_json(found), **_stat_and_patch(app.brain, found, stat, patch)}, ())
    elif stat or patch:
        write_lines(_stat_and_patch_lines(app.brain, found, stat, patch))
    else:
        write_lines(_diff_lines(app.brain, found))


def _stat_and_patch(brain: Brain, found: Diff, stat: bool, patch: bool) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if stat:
        extra["stat"] = to_json(brain.history.diff_stat(found))
    if patch:
        extra["patch"] = to_json("".join(brain.history.patch(found)))
    return extra


def _stat_and_patch_lines(brain: Brain, found: Diff, stat: bool, patch: bool) -> Iterator[str]:
    if stat:
        yield from _stat_lines(brain.history.diff_stat(found))
    if patch:
        yield from map(_colorize_patch, brain.history.patch(found))


def _skill_lines(skills: list[SkillChange]) -> Iterator[str]:
    for skill in skills:
        yield colorize(skill_change_line(skill), _SKILL_CHANGE_COLORS.get(skill.change, "yellow"))


def _path_line(change: PathChange) -> str:
    words = path_change_line(change)
    return colorize(words, _PATH_CHANGE_COLORS.get(words[0], "yellow"))


def _diff_lines(brain: Brain, found: Diff) -> Iterator[str]:
    yield from _skill_lines(found.skills)
    others = text_format.changes_outside_skills(found.changes, found.skills)
    memory = found._replace(changes=[item for item in others if item.section == "memory"])
    counted = (
        {stat.path: stat for stat in brain.history.diff_stat(memory)} if memory.changes else {}
    )
    for change in others:
        tail = f"  {_stat_numbers(counted[change.path])}" if change.path in counted else ""
        yield _path_line(change) + tail
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
