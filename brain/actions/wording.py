"""What a snapshot changed, in words: its message where nobody says one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..errors import printable
from ..objects import bundle as bundles
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..results import Change, SkillChange, Stat
from ..results.words import skill_change
from ..session import Session
from . import diffs, texts

NAMED = 8
"""Changes named one by one; of more, the number is told."""
_COMPARED = 500
"""Changed files up to which it is looked at what they are."""


def describe(session: Session, before: Bundle, edits: Mapping[str, Entry | None]) -> str:
    """Say what `edits`, whose content the open transaction holds, change in `before`.

    Such as "oracle-manipulation edited; memory/MEMORY.md +3 lines". At most a few hundred
    characters a change.
    """
    if len(edits) > _COMPARED:
        return _counted(session, before, edits)
    told = diffs.being_recorded(session, before, edits)
    others = [change for change in told.changes if change.section != "skills"]
    if not told.skills:
        others = told.changes
    words = [skill(change) for change in told.skills[:NAMED]]
    words += [_other(session, change) for change in others[: NAMED - len(words)]]
    left = len(told.skills) + len(others) - len(words)
    return "; ".join([*words, *([f"{left} more"] if left else [])])


def skill(change: SkillChange) -> str:
    """Say what became of a skill."""
    if change.change == "changed":
        return printable(f"{change.slug} edited")
    return printable(skill_change(change))


def _other(session: Session, change: Change) -> str:
    if change.from_path is not None:
        return f"{printable(change.from_path)} moved to {printable(change.path)}"
    words = change.change
    if words == "modified":
        words = " ".join(_lines(texts.stat_of(session, change)))
    return f"{printable(change.path)} {words}"


def _lines(stat: Stat) -> Iterator[str]:
    if stat.added > 0:
        yield f"+{stat.added}"
    if stat.removed > 0:
        yield f"-{stat.removed}"
    most = max(stat.added, stat.removed)
    yield "edited" if most < 1 else "line" if most == 1 else "lines"


def _counted(session: Session, before: Bundle, edits: Mapping[str, Entry | None]) -> str:
    removed = sum(entry is None for entry in edits.values())
    known = sum(bundles.get(session.nodes, before, path) is not None for path in edits)
    modified = known - removed
    return f"{len(edits) - known} files added, {modified} modified, {removed} removed"
