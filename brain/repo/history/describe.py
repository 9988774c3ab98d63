"""Describe the changes of a snapshot, for a generated message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import printable_text
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_entry import TreeEntry
from ...results import DiffStat, PathChange, SkillChange
from ...results.text_format import changes_outside_skills, format_skill_change
from ..open.session import Session
from . import diff, unified_diff

MAX_NAMED_CHANGES = 8
"""The most changes that are named; the others are counted."""
_MAX_COMPARED_FILES = 500


def describe_edits(session: Session, before: Bundle, edits: Mapping[str, TreeEntry | None]) -> str:
    """Describe the changes by `edits`, whose content is in the open transaction.

    For example "oracle-manipulation edited; memory/MEMORY.md +3 lines".
    """
    if len(edits) > _MAX_COMPARED_FILES:
        return _describe_counts(session, before, edits)
    difference = diff.diff_pending_edits(session, before, edits)
    others = difference.changes
    if difference.skills:
        others = changes_outside_skills(difference.changes, difference.skills)
    words = [describe_changed_skill(change) for change in difference.skills[:MAX_NAMED_CHANGES]]
    words += [
        _describe_file_change(session, change)
        for change in others[: MAX_NAMED_CHANGES - len(words)]
    ]
    unnamed_count = len(difference.skills) + len(others) - len(words)
    return "; ".join([*words, *([f"{unnamed_count} more"] if unnamed_count else [])])


def describe_changed_skill(change: SkillChange) -> str:
    """Describe the change of a skill."""
    if change.change == "changed":
        return printable_text(f"{change.slug} edited")
    return printable_text(format_skill_change(change))


def _describe_file_change(session: Session, change: PathChange) -> str:
    if change.from_path is not None:
        return f"{printable_text(change.from_path)} moved to {printable_text(change.path)}"
    text = change.change
    if text == "modified":
        text = " ".join(_line_count_words(unified_diff.build_diff_stat(session, change)))
    return f"{printable_text(change.path)} {text}"


def _line_count_words(stat: DiffStat) -> Iterator[str]:
    if stat.added > 0:
        yield f"+{stat.added}"
    if stat.removed > 0:
        yield f"-{stat.removed}"
    most = max(stat.added, stat.removed)
    yield "edited" if most < 1 else "line" if most == 1 else "lines"


def _describe_counts(
    session: Session, before: Bundle, edits: Mapping[str, TreeEntry | None]
) -> str:
    removed = sum(entry is None for entry in edits.values())
    known = sum(bundles.has_entry(session.nodes, before, path) for path in edits)
    modified = known - removed
    return f"{len(edits) - known} files added, {modified} modified, {removed} removed"
