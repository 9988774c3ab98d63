"""Commands that look back: log, show, diff, grep, blame, why."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from brain.errors import BrainError, NotFound, printable_text
from brain.results import text_format

from ..command import OVERWRITE_EXITS, argument, brain_command, flag, option
from ..context import App
from ..options import overwrite_option, patch_option, revision_argument, stat_option
from ..output import emit, to_json
from ..params import CountType, NonEmptyType, PathType, SlugType
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
from ..render.run_report import (
    counts_text,
    read_receipt_file,
    run_lines,
    source_text,
    verdict_lines,
)
from ..revision_paths import find_named_skill, separate_skills, split_terms
from ..terminal import escape, escape_lines, paged, terminal_width, write_lines
from ..user_files import named_in_errors, write_output_file

if TYPE_CHECKING:
    from brain import Brain, results


_SHORT_KEY_CHARS = len("ed25519:") + 8
_MAX_MATCH_CHARS = 400


@brain_command(
    "log",
    examples=(
        "brain log -n 10",
        "brain log --patch @~3..@",
        "brain log --stat -- skills/reentrancy",
        "brain log oracle-manipulation",
        "brain log --graph",
        "brain log --ops",
    ),
)
@argument("terms", metavar="[REV|SKILL] [-- PATH...]", nargs=-1, type=PathType())
@option("-n", "--limit", type=CountType(), metavar="N", help="Show at most N of them; also -N.")
@flag("--ops", help="List operations instead: also undo and redo, and on every branch.")
@flag("--graph", help="Draw how the snapshots descend from each other.")
@stat_option
@patch_option
@paged
def log_command(
    app: App,
    terms: tuple[str, ...],
    limit: int | None,
    ops: bool,
    graph: bool,
    stat: bool,
    patch: bool,
) -> None:
    """List snapshots or versions.

    Newest first. REV is the snapshot to start from (default: @, the head), or a range A..B: B
    and its ancestors without those of A. Of a SKILL, or SKILL@VERSION, it lists the versions:
    edits of the file that kept version 1, and other texts of it that a merge brought, are 1+1,
    1+2 and so on; 'brain restore SKILL@VERSION' brings one back. With PATH, only snapshots that
    changed these files or folders, which are relative to the current folder. Signers are named
    as the trust file of the head names them; `brain verify` says whether they may sign.
    """
    if graph and (stat or patch):
        raise click.UsageError("--graph cannot be combined with --stat or --patch.")
    if ops:
        if terms or graph or stat or patch:
            raise click.UsageError("--ops can only be combined with -n.")
        operations = app.brain.history.list_operations(limit)
        rows = (
            (str(one.number), local_time(one.time), one.author, one.kind, one.description)
            for one in operations
        )
        emit(app, {"operations": operations}, align_columns(rows))
        return
    revisions, paths = split_terms(app, terms, 1)
    revisions, named = separate_skills(app, revisions)
    skill = named[0].address if named else None
    if skill and paths:
        raise click.UsageError("A skill cannot be combined with PATH.")
    versions = app.brain.skills.history(skill) if skill else []
    found = app.brain.history.log("".join(revisions) or "@", limit, skill, paths=paths)
    if paths and not revisions:
        found = _refuse_none(found, paths)
    if app.as_json:
        document: dict[str, Any] = {
            "snapshots": [_log_entry(app, one, paths, stat, patch) for one in found]
        }
        if skill:
            document.update(slug=skill, versions=versions)
        emit(app, document, ())
        return
    columns = terminal_width(sys.stdout)
    names = _signer_names(app.brain)
    if graph:
        lanes = GraphLanes()
        for info in found:
            row, below = lanes.add_snapshot(info.snapshot, info.parents)
            write_lines([f"{row} {_log_line(info, names, columns, len(row) + 1)}", *below])
        return
    longest = max((len(one.name) for one in versions), default=0)
    numbers = {one.snapshot: f"  {one.name:{longest}}" for one in versions}
    for info in found:
        write_lines([_log_line(info, names, columns, version=numbers.get(info.snapshot, ""))])
        if stat or patch:
            changed = app.brain.history.diff_with_parent(info.snapshot, paths=paths)
            write_lines(_stat_and_patch_lines(app.brain, changed, stat, patch))
            write_lines([""])


def _refuse_none(
    found: Iterator[results.SnapshotInfo], paths: Sequence[str]
) -> Iterator[results.SnapshotInfo]:
    """Return snapshots that changed paths. Raises `NotFound` (`no_file`) if there are none."""
    for first in found:
        return chain([first], found)
    raise NotFound(
        f"no snapshot changed {', '.join(map(printable_text, paths))}",
        code="no_file",
        hint="paths are relative to the current folder; `brain status` names new files",
    )


SignerNames = Callable[[str], str]
"""Returns the name of a key in the trust file, or the first digits of the key."""


def _signer_names(brain: Brain) -> SignerNames:
    @cache
    def trusted_names() -> dict[str, str]:  # asked for at the first signature
        try:
            trusted = brain.trust.show()
        except BrainError:  # a trust file that `verify` reports
            return {}
        names = {one.key: f"{one.name} [retired]" for one in trusted.former}
        for one in trusted.keys:
            mark = " [revoked]" if one.revoked else " [retired]" if one.until else ""
            names[one.key] = f"{one.name}{mark}"
        return names

    return lambda key: escape(trusted_names().get(key) or f"{key[:_SHORT_KEY_CHARS]}…")


def _log_entry(
    app: App, info: results.SnapshotInfo, paths: list[str], stat: bool, patch: bool
) -> dict[str, Any]:
    document: dict[str, Any] = to_json(info)
    if stat or patch:
        changed = app.brain.history.diff_with_parent(info.snapshot, paths=paths)
        document.update(changes=to_json(changed.changes), skills=to_json(changed.skills))
        document.update(_stat_and_patch(app.brain, changed, stat, patch))
    return document


def _log_line(
    info: results.SnapshotInfo, names: SignerNames, columns: int, indent: int = 0, version: str = ""
) -> str:
    """Return one snapshot as a line that fits `columns`; 0 stands for any length."""
    words = first_line(text_format.format_snapshot(info.message.strip(), info.operation))
    if str(info.operation.get("summary")).startswith(("admitted as provisional", "still")):
        words = f"provisional: {words}"
    signed = ", ".join(map(names, info.signers))
    who = escape(info.author) + (f" (signed: {signed})" if signed else "")
    tail = f"{version}  {local_time(info.time)}  {who}  {words}"
    room = columns - indent - SHORT_ID_DIGITS
    shown = tail if room < 0 or len(tail) <= room else tail[: room - 1] + "…"
    return colorize(short_id(info.snapshot), "yellow") + shown


@brain_command(
    "show",
    examples=(
        "brain show",
        "brain show @~3 --patch",
        "brain show 5d1e2f3a --json",
        "brain show --run",
        "brain show --run @~2 -o receipt.json",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("rev", metavar="[REV|SKILL|FILE]", required=False, type=NonEmptyType())
@stat_option
@patch_option
@flag("--run", help="Show the run of which the snapshot carries the receipt, step by step.")
@option("-o", "--output", metavar="FILE", help="Also write the receipt to FILE.", type=None)
@overwrite_option
@paged
def show_command(
    app: App,
    rev: str | None,
    stat: bool,
    patch: bool,
    run: bool,
    output: str | None,
    overwrite: bool,
) -> None:
    """Show a snapshot or a run.

    REV is an id or a unique part of its beginning, a branch, a tag, @ (the head, the
    default) or @~N; SKILL@VERSION is the snapshot that made that version, SKILL the last one
    that changed it. The changes are against its first parent.

    With --run, it is the run of an agent until that snapshot. Of a FILE that is a receipt, its
    own steps are shown; - is standard input. -o writes the last part of the receipt, which
    'brain verify FILE' verifies.
    """
    data = None if rev is None else read_receipt_file(rev, run)
    if run or output is not None or data is not None:
        if stat or patch:
            raise click.UsageError("--stat and --patch do not apply to a run.")
        _show_run(app, rev, data, output, overwrite)
        return
    named, rev = rev, _snapshot_of(app, rev)
    if named not in (None, rev):
        app.print_note(f"The text of the skill: `brain skill view {escape(str(named))}`")
    shown = app.brain.history.show(rev)
    changed = app.brain.history.diff_with_parent(shown.info.snapshot) if stat or patch else None
    document = {**to_json(shown.info), **shown._asdict()}
    del document["info"]
    if app.as_json and changed is not None:
        document.update(_stat_and_patch(app.brain, changed, stat, patch))
    emit(app, document, _snapshot_detail_lines(shown))
    if not app.as_json and changed is not None:
        write_lines([""])
        write_lines(_stat_and_patch_lines(app.brain, changed, stat, patch))


def _snapshot_of(app: App, rev: str | None) -> str:
    """Return what stands for a snapshot, also where a skill is named."""
    named = find_named_skill(app, rev) if rev else None
    if named is None:
        return rev or "@"
    return named.snapshot or next(app.brain.history.log("@", 1, named.address)).snapshot


def _show_run(
    app: App, rev: str | None, data: bytes | None, output: str | None, overwrite: bool
) -> None:
    if data is None:
        rev = _snapshot_of(app, rev)
        found = app.brain.receipts.show(rev)
    else:
        from brain import Brain

        with named_in_errors(rev or "-"):
            found = Brain.receipts.show_file(data)
    if output is not None:
        content = app.brain.receipts.read(rev or "@") if data is None else data
        write_output_file(output, content, overwrite)
        app.print_note(f"The receipt is in {output}.")
    emit(app, found, run_lines(found))


def _snapshot_detail_lines(shown: results.SnapshotDetails) -> Iterator[str]:
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
    counts = shown.counts
    changes = ", ".join(f"{counts[what]} {what}" for what in ("added", "modified", "removed"))
    size = f"{pluralize(counts['files'], 'file')}, {format_size(counts['bytes'])} in all"
    yield f"{changes}; {size}"
    yield from align_columns(
        (escape(name), short_id(part.root), pluralize(part.files, "file"), format_size(part.bytes))
        for name, part in shown.sections.items()
    )


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


def _stat_and_patch(brain: Brain, found: results.Diff, stat: bool, patch: bool) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if stat:
        extra["stat"] = to_json(brain.history.diff_stat(found))
    if patch:
        extra["patch"] = to_json("".join(brain.history.patch(found)))
    return extra


def _stat_and_patch_lines(
    brain: Brain, found: results.Diff, stat: bool, patch: bool
) -> Iterator[str]:
    if stat:
        yield from _stat_lines(brain.history.diff_stat(found))
    if patch:
        yield from map(_colorize_patch, brain.history.patch(found))


def _skill_lines(skills: list[results.SkillChange]) -> Iterator[str]:
    for skill in skills:
        yield colorize(skill_change_line(skill), _SKILL_CHANGE_COLORS.get(skill.change, "yellow"))


def _path_line(change: results.PathChange) -> str:
    words = path_change_line(change)
    return colorize(words, _PATH_CHANGE_COLORS.get(words[0], "yellow"))


def _diff_lines(brain: Brain, found: results.Diff) -> Iterator[str]:
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


def _stat_numbers(stat: results.DiffStat) -> str:
    return "binary" if stat.added < 0 else f"+{stat.added} -{stat.removed}"


def _stat_lines(stats: list[results.DiffStat]) -> Iterator[str]:
    longest = max((len(escape(stat.path)) for stat in stats), default=0)
    for stat in stats:
        yield f"{escape(stat.path).ljust(longest)}  {_stat_numbers(stat)}"
    added = sum(max(stat.added, 0) for stat in stats)
    removed = sum(max(stat.removed, 0) for stat in stats)
    yield f"{pluralize(len(stats), 'file')}, +{added} -{removed}"


def _colorize_patch(piece: str) -> str:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    lines = escape_lines(piece.rstrip("\n")).split("\n")
    return "\n".join(
        colorize(line, colours[line[0]]) if line[:1] in colours else line for line in lines
    )


@brain_command(
    "grep",
    examples=(
        "brain grep TWAP",
        "brain grep -i 'flash ?loan' skills",
        "brain grep -F 'call{value:' @~5",
    ),
)
@argument("pattern", type=NonEmptyType())
@argument("terms", metavar="[REV] [-- PATH...]", nargs=-1, type=PathType())
@flag("-i", "--ignore-case", help="Take upper and lower case as equal.")
@flag("-F", "--fixed", help="Search for PATTERN as plain text.")
@paged
def grep_command(
    app: App, pattern: str, terms: tuple[str, ...], ignore_case: bool, fixed: bool
) -> None:
    """Search skills and texts.

    PATTERN is a regular expression of Python, searched line by line. REV is the snapshot to
    search (default: @, the head); PATH is a file or folder, relative to the current folder
    (default: all). Binary files are passed over. A pattern that takes longer than two seconds
    for a file is refused.
    """
    revisions, paths = split_terms(app, terms, 1)
    found = app.brain.history.grep(
        pattern, "".join(revisions) or "@", ignore_case=ignore_case, fixed=fixed, paths=paths
    )
    emit(app, {"matches": list(found)} if app.as_json else None, _match_lines(app, found))


def _match_lines(app: App, found: Iterator[results.GrepMatch]) -> Iterator[str]:
    has_matches = False
    for match in found:
        has_matches = True
        more = "…" if len(match.text) > _MAX_MATCH_CHARS else ""
        text = escape(match.text[:_MAX_MATCH_CHARS] + more)
        yield f"{colorize(escape(match.path), 'magenta')}:{match.line}: {text}"
    if not has_matches:
        app.print_note("No line matches")


@brain_command(
    "blame", examples=("brain blame oracle-manipulation", "brain blame oracle-manipulation@3")
)
@argument("slug", metavar="SLUG[@VERSION]", type=SlugType())
@revision_argument
@paged
def blame_command(app: App, slug: str, rev: str | None) -> None:
    """Show who wrote each line.

    Of a skill, at REV (default: @, the head), with the snapshot that did. Follows lines through
    merges and renames. The JSON also has the receipt of the work that wrote a line, if there is
    one.
    """
    rows = app.brain.history.blame(slug, rev or "@")
    emit(app, {"lines": rows}, _blame_lines(rows))


def _blame_lines(rows: list[results.BlameLine]) -> Iterator[str]:
    width = min(max((len(row.author) for row in rows), default=0), 20)
    for row in rows:
        author = escape(row.author[:20]).ljust(width)
        day = f"{row.time:%Y-%m-%d}"
        yield f"{short_id(row.snapshot)} {author} {day} {row.line:4} {escape(row.text)}"


_MISSING_RECEIPT_REASONS = {
    "none": "no receipt: the work was not recorded",
    "missing": "its receipt is missing from the store",
    "redacted": "its receipt was redacted",
    "foreign": "its record is not a receipt",
}


@brain_command(
    "why",
    examples=(
        "brain why oracle-manipulation",
        "brain why oracle-manipulation@3",
        "brain why count-words --cases",
    ),
)
@argument("slug", metavar="SLUG[@VERSION]", type=SlugType())
@flag("--cases", help="List the cases of each verdict.")
def why_command(app: App, slug: str, cases: bool) -> None:
    """Show the work behind skills.

    For each version of a skill, newest first: the task, the agent and its model, the steps,
    the tools used, the skills loaded, and the outcome of the run. For a skill that runs, also
    its admissions, rejected attempts, retirements and returns, as their verdicts say.
    """
    found = app.brain.history.why(slug)
    emit(app, found, _why_lines(found, cases))


def _why_lines(found: results.SkillReasons, cases: bool) -> Iterator[str]:
    written = {one.snapshot for one in found.versions}
    without_version = [one for one in found.decisions if one.snapshot not in written]
    by_snapshot = {one.snapshot: one for one in found.decisions}
    for version in found.versions:
        while without_version and without_version[0].time >= version.time:
            yield from _decision_lines(found.slug, without_version.pop(0), cases)
        yield _reason_line(
            f"{found.slug}@{version.name or version.version}", version.change, version
        )
        if (decision := by_snapshot.get(version.snapshot)) is not None:
            yield from _verdict_summary(decision, cases)
        if version.message:
            yield f"    {escape(first_line(version.message))}"
        if version.work is None:
            yield f"    {_MISSING_RECEIPT_REASONS[version.state]}"
        else:
            yield from (f"    {escape(line)}" for line in _work_lines(version.work))
    for decision in without_version:
        yield from _decision_lines(found.slug, decision, cases)


def _decision_lines(slug: str, decision: results.SkillDecision, cases: bool) -> Iterator[str]:
    """Yield a decision that changed no text of the skill, or an attempt that was rejected."""
    version = f"@{decision.to_version}" if decision.to_version else ""
    words = text_format.DECISION_WORDS[decision.decision]
    yield _reason_line(f"{slug}{version}", words, decision)
    yield from _verdict_summary(decision, cases)


def _reason_line(name: str, what: str, one: results.VersionReason | results.SkillDecision) -> str:
    author = first_line(one.author) or "no author"
    return f"{name}  {what} {local_time(one.time)} by {author}, snapshot {short_id(one.snapshot)}"


def _verdict_summary(decision: results.SkillDecision, cases: bool) -> Iterator[str]:
    yield f"    {escape(decision.summary)}"
    if cases:
        yield from (f"    {escape(line)}" for line in verdict_lines(decision))


def _work_lines(work: results.RunSummary) -> Iterator[str]:
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


class GraphLanes:
    """Places snapshots, children before their parents, in lanes from the left.

    A lane waits for the snapshot that its last one names as a parent.
    """

    def __init__(self) -> None:
        self._waiting: list[str] = []

    def add_snapshot(self, snapshot: str, parents: list[str]) -> tuple[str, list[str]]:
        """Return the row of `snapshot` and the rows below it that join or open lanes."""
        before = self._waiting
        if snapshot not in before:
            before = [*before, snapshot]
        at = before.index(snapshot)
        row = " ".join("*" if lane == at else "|" for lane in range(len(before)))
        after, edges = self._next_lanes(before, at, snapshot, parents)
        self._waiting = after
        return row, _draw_edges(edges)

    def _next_lanes(
        self, before: list[str], at: int, snapshot: str, parents: list[str]
    ) -> tuple[list[str], list[tuple[int, int]]]:
        """Return the lanes below, and every edge as (lane above, lane below)."""
        after: list[str] = []
        for lane, waiting in enumerate(before):
            heirs = parents if lane == at else [] if waiting == snapshot else [waiting]
            after += [heir for heir in heirs if heir not in after]
        edges = []
        for lane, waiting in enumerate(before):
            heirs = parents if lane == at else [waiting] if waiting != snapshot else []
            edges += [(lane, after.index(heir)) for heir in heirs]
        return after, edges


def _draw_edges(edges: list[tuple[int, int]]) -> list[str]:
    """Draw edges that change lanes, one lane a row; none if all go straight down."""
    rows = []
    while any(above != below for above, below in edges):
        cells: dict[int, str] = {}
        moved = []
        for above, below in edges:
            step = (below > above) - (below < above)
            mark = {0: "|", 1: "\\", -1: "/"}[step]
            crosses = {mark, cells.get(2 * above + step)} == {"\\", "/"}
            cells[2 * above + step] = "X" if crosses else mark
            moved.append((above + step, below))
        rows.append("".join(cells.get(cell, " ") for cell in range(max(cells) + 1)))
        edges = moved
    return rows
