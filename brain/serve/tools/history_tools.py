"""The tools brain_snapshot, brain_diff, brain_log and brain_verify."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...errors import printable_text
from ...gating.case_paths import is_case_path
from ...results import text_format
from ...skills.visible_text import strip_hidden
from .checks import hide_paths
from .definitions import MAX_LINE_CHARS, ToolResult, notice_line, pick_fields

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import PathChange, SnapshotInfo

Arguments = dict[str, Any]

MAX_DIFF_FILES = 200
"""Changed files, and changed skills, listed in a result."""
MAX_PATCH_CHARS = 60_000
"""Characters of a patch in a result."""
DEFAULT_LOG_LIMIT = 10
"""Snapshots listed by default."""
MAX_SHOWN_FINDINGS = 50
MAX_NOTICES = 20


def brain_snapshot(brain: Brain, arguments: Arguments) -> ToolResult:
    """Record the folder as it is."""
    recorded = brain.snapshot(arguments.get("message", ""))
    notices = [one for one in recorded.notices if not is_case_path(one.path)][:MAX_NOTICES]
    data = {
        **pick_fields(recorded, "snapshot", "bundle", "changed", "added", "modified", "removed"),
        "notices": [pick_fields(notice, "path", "message") for notice in notices],
    }
    short_id = text_format.short_id(recorded.snapshot)
    counts = f"{recorded.added} added, {recorded.modified} modified, {recorded.removed} removed"
    text = (
        f"Recorded {short_id}: {counts}."
        if recorded.changed
        else f"Nothing has changed since {short_id}."
    )
    return ToolResult("\n".join([text, *map(notice_line, notices)]), data, recorded.changed)


def brain_diff(brain: Brain, arguments: Arguments) -> ToolResult:
    """List the differences between two states, or since the last snapshot."""
    diff = brain.history.diff(arguments.get("from"), arguments.get("to"))
    diff = diff._replace(changes=[one for one in diff.changes if not _is_of_case(one)])
    changes = diff.changes[:MAX_DIFF_FILES]
    skills = diff.skills[:MAX_DIFF_FILES]
    data: dict[str, Any] = {
        "from": diff.from_,
        "to": diff.to,
        "changes": [pick_fields(change, "path", "change", "from_path") for change in changes],
        "skills": [change._asdict() for change in skills],
        "count": len(diff.changes),
    }
    lines = [
        printable_text(text_format.format_skill_change(change), MAX_LINE_CHARS) for change in skills
    ]
    lines += [
        printable_text(text_format.format_path_change(change), MAX_LINE_CHARS) for change in changes
    ]
    if len(diff.skills) > len(skills):
        lines.insert(len(skills), f"({len(skills)} of {len(diff.skills)} skills are named.)")
    if len(diff.changes) > len(changes):
        lines.append(f"({len(changes)} of {len(diff.changes)} files are named.)")
    if arguments.get("patch"):
        data["patch"] = _patch_text(brain.history.patch(diff._replace(changes=changes)))
        lines += ["", data["patch"]]
    return ToolResult("\n".join(lines) or "No differences.", data, False)


def _is_of_case(change: PathChange) -> bool:
    """Tell whether a change is of the document of a case, of which agents see nothing here."""
    return is_case_path(change.path) or is_case_path(change.from_path or "")


def brain_log(brain: Brain, arguments: Arguments) -> ToolResult:
    """List snapshots, newest first."""
    limit = arguments.get("limit", DEFAULT_LOG_LIMIT)
    snapshots = list(brain.history.log(limit=limit, skill=arguments.get("skill")))
    lines = [_snapshot_line(info) for info in snapshots]
    return ToolResult(
        "\n".join(lines), {"snapshots": [_snapshot_data(info) for info in snapshots]}, False
    )


def brain_verify(brain: Brain, arguments: Arguments) -> ToolResult:
    """Verify the lineage back to its first snapshot."""
    verified = brain.verify(bool(arguments.get("deep")))
    findings = [
        {**finding._asdict(), "message": hide_paths(finding.message, brain.root)}
        for finding in verified.findings[:MAX_SHOWN_FINDINGS]
    ]
    names = ("ok", "brain", "head", "snapshots", "objects", "trust_level", "roots")
    signers = [one._asdict() for one in verified.signers[:MAX_SHOWN_FINDINGS]]
    data = {**pick_fields(verified, *names), "findings": findings, "signers": signers}
    verdict = "The lineage is whole" if verified.ok else "VERIFICATION FAILED"
    lines = [
        f"{verdict}: {verified.snapshots} snapshots, {verified.objects} objects, "
        f"head {text_format.short_id(verified.head)}, trust level {verified.trust_level}.",
        *(
            printable_text(hide_paths(line, brain.root), MAX_LINE_CHARS)
            for line in text_format.coverage_lines(verified)
        ),
    ]
    for finding in findings:
        message = printable_text(finding["message"], MAX_LINE_CHARS)
        lines.append(f"{finding['severity']}: {finding['code']}: {message}")
    if len(verified.findings) > len(findings):
        lines.append(f"({len(findings)} of {len(verified.findings)} findings are shown.)")
    return ToolResult("\n".join(lines), data, False)


def _snapshot_line(info: SnapshotInfo) -> str:
    author = printable_text(info.author, 80)
    title = printable_text(
        text_format.format_snapshot(info.message, info.operation), MAX_LINE_CHARS
    )
    return (
        f"{text_format.short_id(info.snapshot)}  {info.time:%Y-%m-%dT%H:%M:%SZ}  {author}  {title}"
    )


def _snapshot_data(info: SnapshotInfo) -> dict[str, Any]:
    return {
        **pick_fields(info, "snapshot", "bundle", "parents", "author"),
        "time": f"{info.time:%Y-%m-%dT%H:%M:%SZ}",
        "message": info.message[:MAX_LINE_CHARS],
        "operation": info.operation,
    }


def _patch_text(pieces: Iterable[str]) -> str:
    remaining_chars, pieces_shown = MAX_PATCH_CHARS, []
    for raw in pieces:
        piece = strip_hidden(raw)  # so that neither a path nor a text adds a line
        pieces_shown.append(piece[:remaining_chars])
        remaining_chars -= len(piece)
        if remaining_chars < 0:
            return "".join(chain(pieces_shown, [f"\n(cut after {MAX_PATCH_CHARS} characters)\n"]))
    return "".join(pieces_shown)
