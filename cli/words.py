"""Changes and operations in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from brain.results import words

from .terminal import escape
from .text import count, short

if TYPE_CHECKING:
    from brain.results import (
        Change,
        Content,
        MergeConflict,
        MergedSkill,
        Notice,
        Restored,
        SkillChange,
        Unshown,
        Upserted,
    )


_NAMED = 12
"""Paths that are named in one line."""
TYPES = {"file": "a file", "executable": "an executable file", "link": "a link"}
"""What a path may hold."""
_UNSHOWN = {"binary": "no text", "too_large": "too large", "redacted": "redacted"}


def skill_change(change: SkillChange) -> str:
    """Say what became of a skill: "oracle-manipulation upgraded 1 → 2"."""
    return escape(words.skill_change(change))


def upserted(result: Upserted) -> str:
    """Say what an upsert or a revert did."""
    if not result.changed:
        done = f"unchanged at version {result.version}"
    elif result.previous_version is None:
        done = f"added at version {result.version}"
    else:
        done = f"upgraded {result.previous_version} → {result.version}"
    return escape(f"{result.slug} {done}")


def operation(fields: dict[str, Any]) -> str:
    """Say what a snapshot did; `fields` are those of `SnapshotInfo.operation`."""
    return escape(words.operation(fields))


def merged_skill(skill: MergedSkill) -> str:
    """Say what became of a skill that both sides had changed."""
    ours, theirs = ("removed" if side == "" else side for side in (skill.ours, skill.theirs))
    return escape(f"{skill.slug} merged {ours} + {theirs} → {skill.version}")


def conflict(row: MergeConflict) -> str:
    """Return a conflict with why it is one, and what was decided or can be edited."""
    reason = row.reason.replace("_", " ")
    if row.choice:
        note = "edited" if row.choice == "content" else row.choice
        return escape(f"C {row.path}: {reason}, decided: {note}")
    where = f", markers in {row.file}" if row.file else ""
    return escape(f"C {row.path}: {reason}{where}")


def path_change(change: Change) -> str:
    """Return a changed path with its letter: A, M, D, or R with both names."""
    return escape(words.path_change(change))


def unshown(one: Unshown) -> str:
    """Say what a change is that is not shown as text."""
    path = f"{one.from_path} → {one.path}" if one.from_path else one.path
    if one.before is None or one.after is None:
        done = "removed" if one.after is None else "added"
        sides = f"{done}, {_content(one.before or one.after)}"
    else:
        sides = f"{_content(one.before)} → {_content(one.after)}"
    return escape(f"  {path}: {_UNSHOWN[one.reason]}; {sides}")


def _content(content: Content | None) -> str:
    if content is None:
        return "nothing"
    return f"{TYPES[content.type]} of {count(content.size, 'byte')}, blob {content.blob}"


def notices(found: Sequence[Notice]) -> Iterator[str]:
    """Say what was left out or looks odd."""
    for notice in found:
        place = f"{escape(notice.path)}: " if notice.path else ""
        yield f"Note: {place}{escape(notice.message)}"


def crowds(found: list[Notice]) -> Iterator[str]:
    """Say what was left out, one line a reason."""
    by_reason: dict[str, list[str]] = {}
    for notice in found:
        by_reason.setdefault(notice.message, []).append(escape(notice.path) or "at the top")
    for reason, paths in by_reason.items():
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        yield f"{escape(reason)}: {', '.join(paths[:_NAMED])}{more}"


def restored(done: Restored) -> str:
    """Say where the head is after a restore, an undo or a redo."""
    files = f"{count(len(done.written), 'file')} written, {len(done.removed)} removed"
    return f"Head is {short(done.snapshot)}; {files}{left_out(done.redacted)}"


def left_out(redacted: list[str]) -> str:
    """Say which files could not be written, for their content was redacted."""
    return f"; redacted: {', '.join(map(escape, redacted))}" if redacted else ""
