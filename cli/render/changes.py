"""Changes, conflicts, notices and merges in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from brain.errors import Conflict
from brain.results import text_format

from ..context import App
from ..output import emit
from ..terminal import escape
from .human_format import pluralize, short_id
from .ledgers import commitment_lines, raise_if_not_committed

if TYPE_CHECKING:
    from brain.results import (
        FileState,
        MergeConflict,
        Merged,
        MergedSkill,
        Notice,
        PathChange,
        Restored,
        SkillChange,
        UndiffableFile,
        Undone,
        Upserted,
    )


_MAX_NAMED_PATHS = 12
"""Paths that are listed in one line."""
FILE_TYPE_NAMES = {"file": "a file", "executable": "an executable file", "link": "a link"}
"""Type of a file to its description."""
_UNDIFFABLE_REASONS = {"binary": "not text", "too_large": "too large", "redacted": "redacted"}


def skill_change_line(change: SkillChange) -> str:
    """Describe the change of a skill: "oracle-manipulation upgraded 1 → 2"."""
    return escape(text_format.format_skill_change(change))


def upsert_line(result: Upserted) -> str:
    """Describe the result of an upsert or a revert."""
    if not result.changed:
        words = f"unchanged at version {result.version}"
    elif result.previous_version is None:
        words = f"added at version {result.version}"
    else:
        words = f"upgraded {result.previous_version} → {result.version}"
    return escape(f"{result.slug} {words}")


def operation_text(fields: dict[str, Any]) -> str:
    """Describe the operation of a snapshot; `fields` are those of `SnapshotInfo.operation`."""
    return escape(text_format.format_operation(fields))


def merged_skill_line(skill: MergedSkill) -> str:
    """Describe a skill that both sides changed."""
    ours, theirs = ("removed" if side == "" else side for side in (skill.ours, skill.theirs))
    return escape(f"{skill.slug} merged {ours} + {theirs} → {skill.version}")


def conflict_line(row: MergeConflict) -> str:
    """Return a conflict with its reason, and its resolution or the file to edit."""
    reason = row.reason.replace("_", " ")
    if row.choice:
        note = "edited" if row.choice == "content" else row.choice
        return escape(f"C {row.path}: {reason}, resolved: {note}")
    where = f", markers in {row.file}" if row.file else ""
    return escape(f"C {row.path}: {reason}{where}")


def path_change_line(change: PathChange) -> str:
    """Return a changed path with its letter: A, M, D, or R with both names."""
    return escape(text_format.format_path_change(change))


def undiffable_line(one: UndiffableFile) -> str:
    """Describe a change that cannot be shown as text."""
    path = f"{one.from_path} → {one.path}" if one.from_path else one.path
    if one.before is None or one.after is None:
        change = "removed" if one.after is None else "added"
        sides = f"{change}, {_content_text(one.before or one.after)}"
    else:
        sides = f"{_content_text(one.before)} → {_content_text(one.after)}"
    return escape(f"  {path}: {_UNDIFFABLE_REASONS[one.reason]}; {sides}")


def _content_text(content: FileState | None) -> str:
    if content is None:
        return "nothing"
    return (
        f"{FILE_TYPE_NAMES[content.type]} of {pluralize(content.size, 'byte')}, blob {content.blob}"
    )


def notice_lines(found: Sequence[Notice]) -> Iterator[str]:
    """Describe skipped and suspicious files."""
    for notice in found:
        place = f"{escape(notice.path)}: " if notice.path else ""
        yield f"Note: {place}{escape(notice.message)}"


def skipped_lines(found: list[Notice]) -> Iterator[str]:
    """List skipped files, one line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for notice in found:
        by_reason.setdefault(notice.message, []).append(escape(notice.path) or "at the top")
    for reason, paths in by_reason.items():
        more = f" and {len(paths) - _MAX_NAMED_PATHS} more" if len(paths) > _MAX_NAMED_PATHS else ""
        yield f"{escape(reason)}: {', '.join(paths[:_MAX_NAMED_PATHS])}{more}"


def restore_line(result: Restored | Undone) -> str:
    """Describe the head after a restore, an undo or a redo."""
    files = f"{pluralize(len(result.written), 'file')} written, {len(result.removed)} removed"
    return f"Head is {short_id(result.snapshot)}; {files}{redacted_suffix(result.redacted)}"


def redacted_suffix(redacted: list[str]) -> str:
    """List the files that were not written because their content is redacted."""
    return f"; redacted: {', '.join(map(escape, redacted))}" if redacted else ""


def report_merge(app: App, result: Merged) -> None:
    """Print what a merge did. Raises `Conflict` (`merge_conflict`) if there are conflicts."""
    emit(app, result, _merge_lines(result))
    if result.conflicts:
        unresolved = sum(row.choice is None for row in result.conflicts)
        raise Conflict(
            f"{pluralize(unresolved, 'conflict')} to resolve; nothing was merged yet",
            code="merge_conflict",
            hint="resolve them with `brain resolve`, then `brain merge --continue`, or `--abort`",
        )
    raise_if_not_committed(result.commitment)


def _merge_lines(result: Merged) -> Iterator[str]:
    for row in result.conflicts:
        yield conflict_line(row)
    if result.conflicts:
        return
    for skill in result.skills:
        yield merged_skill_line(skill)
    if not result.changed:
        yield f"Nothing to merge: the head, {short_id(result.snapshot)}, already has it"
        return
    files = f"{result.added} added, {result.modified} modified, {result.removed} removed"
    how = "Fast-forwarded to" if result.fast_forward else "Merged as"
    yield f"{how} {short_id(result.snapshot)}; {escape(files)}"
    yield from commitment_lines(result.commitment)
