"""Changes, conflicts, notices and merges in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from brain.errors import Conflict
from brain.results import text_format

from ..context import App
from ..output import emit
from ..terminal import escape
from .human_format import pluralize, short_id
from .ledgers import commitment_lines, raise_if_not_committed

if TYPE_CHECKING:
    from brain import results


_MAX_NAMED_PATHS = 12
"""Paths that are listed in one line."""
_MAX_NAMED_FOLDERS = 3
"""Folders with skills that are named."""
FILE_TYPE_NAMES = {"file": "a file", "executable": "an executable file", "link": "a link"}
"""Type of a file to its description."""
_UNDIFFABLE_REASONS = {"binary": "not text", "too_large": "too large", "redacted": "redacted"}


def skill_change_line(change: results.SkillChange) -> str:
    """Describe the change of a skill: "oracle-manipulation upgraded 1 → 2"."""
    return escape(text_format.format_skill_change(change))


def upsert_line(result: results.Upserted) -> str:
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


def merged_skill_line(skill: results.MergedSkill) -> str:
    """Describe a skill that both sides changed."""
    ours, theirs = ("removed" if side == "" else side for side in (skill.ours, skill.theirs))
    return escape(f"{skill.slug} merged {ours} + {theirs} → {skill.version}")


def conflict_line(row: results.MergeConflict) -> str:
    """Return a conflict with its reason, and its resolution or the file to edit."""
    reason = row.reason.replace("_", " ")
    if row.our_path:
        reason += f", {row.our_path} here"
    if row.choice:
        note = "edited" if row.choice == "content" else row.choice
        return escape(f"C {row.path}: {reason}, resolved: {note}")
    where = f", markers in {row.file}" if row.file else ""
    return escape(f"C {row.path}: {reason}{where}")


def path_change_line(change: results.PathChange) -> str:
    """Return a changed path with its letter: A, M, D, or R with both names."""
    return escape(text_format.format_path_change(change))


def undiffable_line(one: results.UndiffableFile) -> str:
    """Describe a change that cannot be shown as text."""
    path = f"{one.from_path} → {one.path}" if one.from_path else one.path
    if one.before is None or one.after is None:
        change = "removed" if one.after is None else "added"
        sides = f"{change}, {_content_text(one.before or one.after)}"
    else:
        sides = f"{_content_text(one.before)} → {_content_text(one.after)}"
    return escape(f"  {path}: {_UNDIFFABLE_REASONS[one.reason]}; {sides}")


def _content_text(content: results.FileState | None) -> str:
    if content is None:
        return "nothing"
    return (
        f"{FILE_TYPE_NAMES[content.type]} of {pluralize(content.size, 'byte')}, blob {content.blob}"
    )


def notice_lines(found: Sequence[results.Notice]) -> Iterator[str]:
    """Describe skipped and suspicious files."""
    for notice in found:
        place = f"{escape(notice.path)}: " if notice.path else ""
        yield f"Note: {place}{escape(notice.message)}"


_LEFT_OUT_REASONS = {
    "link_outside": "behind links that lead outside the brain",
    "ignored": "ignored by .brainignore",
    "hidden_folder": "in hidden folders and others that hold no skills",
    "link": "links that lead to no skill",
    "in_skill": "files of the skill whose folder they are in",
    "top": "at the top, where its folder is the whole brain",
}
"""Reasons of `LeftOutSkills` in words."""
_UNRECORDED_REASONS = ("link_outside", "ignored")


def scan_note_lines(
    result: results.Init | results.Status | results.Recorded | results.Watched,
) -> Iterator[str]:
    """Describe what a scan skipped; links to skills are counted, the other notices listed."""
    counted = {place.path for place in result.left_out_skills}
    yield from notice_lines([notice for notice in result.notices if notice.path not in counted])
    yield from left_out_skill_lines(result.left_out_skills)


def left_out_skill_lines(found: Sequence[results.LeftOutSkills]) -> Iterator[str]:
    """Count the files called SKILL.md that are no skills, and say how to take some of them."""
    counts = dict.fromkeys(_LEFT_OUT_REASONS, 0)
    for place in found:
        counts[place.reason] += place.files
    for verb, reasons in (
        ("not recorded", _UNRECORDED_REASONS),
        ("no skills", [reason for reason in counts if reason not in _UNRECORDED_REASONS]),
    ):
        parts = [f"{counts[one]} {_LEFT_OUT_REASONS[one]}" for one in reasons if counts[one]]
        total = sum(counts[one] for one in reasons)
        if parts:
            files = pluralize(total, "SKILL.md file")
            yield f"Note: {files} {'is' if total == 1 else 'are'} {verb}: {', '.join(parts)}"
    folders = dict.fromkeys(_folder_to_adopt(place) for place in found if place.target)
    for folder in list(folders)[:_MAX_NAMED_FOLDERS]:
        yield f"Hint: 'brain adopt {escape(folder)} .' copies the skills behind the links"
    ignored = [place.path for place in found if place.reason == "ignored"]
    yield from copy_hint_lines(".", filter(_is_open_folder, ignored))


def _is_open_folder(path: str) -> bool:
    """Tell a folder, which can be adopted, from a file that has a rule for its secrets."""
    from brain.skills.skill_layout import SKILL_FILES

    return "/." not in f"/{path}" and path.rpartition("/")[2] not in SKILL_FILES


def copy_hint_lines(root: str, folders: Iterable[str]) -> Iterator[str]:
    """Name the commands that copy the skills in some folders of the brain at `root` into it."""
    import shlex

    for folder in list(dict.fromkeys(folders))[:_MAX_NAMED_FOLDERS]:
        source = shlex.quote(folder if root == "." else f"{root}/{folder}")
        into = shlex.quote(root)
        command = f"brain adopt {escape(source)} {escape(into)}"
        yield f"Hint: `{command}` copies its skills into the brain"


def _folder_to_adopt(place: results.LeftOutSkills) -> str:
    """Return the folder of skills that a link leads to, or into."""
    is_one_skill = place.files == 1 and place.path.rpartition("/")[0].endswith("skills")
    return place.target.rpartition("/")[0] if is_one_skill else place.target


def skipped_lines(found: list[results.Notice]) -> Iterator[str]:
    """List skipped files, one line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for notice in found:
        by_reason.setdefault(notice.message, []).append(escape(notice.path) or "at the top")
    for reason, paths in by_reason.items():
        more = f" and {len(paths) - _MAX_NAMED_PATHS} more" if len(paths) > _MAX_NAMED_PATHS else ""
        yield f"{escape(reason)}: {', '.join(paths[:_MAX_NAMED_PATHS])}{more}"


def restored_text(result: results.Restored | results.Undone | results.Switched) -> str:
    """Describe the head after a restore, an undo, a redo or a switch."""
    files = f"{pluralize(len(result.written), 'file')} written, {len(result.removed)} removed"
    if result.redacted:  # what was not written, because its content is gone
        files += f"; redacted: {', '.join(map(escape, result.redacted))}"
    return f"{short_id(result.snapshot)}; {files}"


def report_merge(app: App, result: results.Merged) -> None:
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


def _merge_lines(result: results.Merged) -> Iterator[str]:
    for row in result.conflicts:
        yield conflict_line(row)
    if result.conflicts:
        return
    for skill in result.skills:
        yield merged_skill_line(skill)
    for notice in result.notices:
        yield escape(f"{notice.path}: {notice.message}")
    if not result.changed:
        yield f"Nothing to merge: the head, {short_id(result.snapshot)}, already has it"
        return
    files = f"{result.added} added, {result.modified} modified, {result.removed} removed"
    how = "Fast-forwarded to" if result.fast_forward else "Merged as"
    yield f"{how} {short_id(result.snapshot)}; {escape(files)}"
    yield from commitment_lines(result.commitment)
