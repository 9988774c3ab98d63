"""Compare states of a brain: paths, renames, skills and lines; describe what changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, product

from ..errors import InvalidInput, NotFound, printable_text
from ..merging import lines
from ..objects import operation
from ..objects.paths import folders_above, is_at_or_below, split_section
from ..objects.tree import Difference
from ..objects.tree_node import ENTRY_KIND_NAMES, LINK, TreeEntry
from ..repo import derive, lineage_cache
from ..repo.session import BrainState, Session
from ..results import Diff, DiffStat, FileState, Hunk, PathChange, SkillChange, UndiffableFile
from ..results.text_format import changes_outside_skills, format_skill_change
from ..skills import skill_version
from ..skills.skill_metadata import SkillMetadata, read_skill_metadata
from ..skills.skill_version import compare_versions

MAX_DIFF_BYTES = 128 << 20
"""The largest file whose lines are compared."""
_BINARY, _TOO_LARGE = "binary", "too_large"
_GIT_MODES = ("100644", "100755", "120000")
"""Git's modes of FILE, EXECUTABLE and LINK."""
_MAX_BODY_BYTES = 1 << 20
_MAX_BODIES = 1024
"""The most skills whose texts are read to find out which were renamed."""
_MAX_COMPARED_PAIRS = 4096
"""The most pairs of texts whose lines are compared for the same reason."""
_MIN_SIMILARITY = 0.5
"""The least part of equal lines at which an edited skill counts as renamed."""
_MAX_DIFFERENCES = 4096
"""The most differences of one snapshot that are read; a first import has more."""
_MAX_NAMED_CHANGES = 8
"""The most changes that a message names; the others are counted."""
_MAX_DESCRIBED_FILES = 500
_HUNK_CONTEXT = 1
"""Unchanged lines around a change that is accepted alone: few, so that close ones stay apart."""
_HUNK_START = re.compile(r"^(?=@@ )", re.MULTILINE)


def diff(
    session: Session, from_: str | None = None, to: str | None = None, *, paths: Sequence[str] = ()
) -> Diff:
    """Compare two revisions; without `to`, a revision (by default the head) with the folder.

    With `paths`, only what is at or below them. A proposal has no folder: its head is compared
    with its base.
    """
    if to is None and session.has_folder:
        return _diff_with_folder(session, from_ or "@", paths)
    if to is None:
        from_, to = from_ or session.base().hex(), session.head().hex()
    old, new = session.resolve(from_ or "@"), session.resolve(to)
    before, after = session.state_of(old), session.state_of(new)
    return diff_states((old.hex(), before), (new.hex(), after), paths)


def diff_with_parent(session: Session, rev: str = "@", *, paths: Sequence[str] = ()) -> Diff:
    """Compare a snapshot with its first parent, a genesis with nothing; as `diff`."""
    new = session.resolve(rev)
    snapshot = session.load_snapshot(new)
    before = snapshot.parents[0].hex() if snapshot.parents else "", session.parent_state(snapshot)
    return diff_states(before, (new.hex(), session.state_of(new)), paths)


def diff_states(
    old: tuple[str, BrainState],
    new: tuple[str, BrainState],
    paths: Sequence[str] = (),
) -> Diff:
    """Compare two states, each given with the id of its snapshot."""
    (from_, before), (to, after) = old, new
    differences = _select(before.diff(after), paths)
    return Comparison(before, after, differences).to_diff(from_, to)


def _diff_with_folder(session: Session, from_: str, paths: Sequence[str]) -> Diff:
    from ..repo import working_copy

    old = session.resolve(from_)
    before = session.state_of(old)
    edits = working_copy.scan_folder(session).diff(before)
    differences = _select(_compare_edits(before, edits), paths)
    after = before.edit(edits)
    found = Comparison(before, after, differences, in_folder=True).to_diff(old.hex(), "")
    session.nodes.drop_unstored()
    return found


def _select(differences: Iterable[Difference], paths: Sequence[str]) -> list[Difference]:
    return [item for item in differences if not paths or is_at_or_below(item.path, paths)]


def _compare_edits(before: BrainState, edits: Mapping[str, TreeEntry | None]) -> list[Difference]:
    return [Difference(path, before.get(path), entry) for path, entry in sorted(edits.items())]


class Comparison:
    """Two states of a brain and their differences, in the order of paths.

    With `in_folder`, content of the later state may be in the folder alone; `unstored` is other
    content that the store lacks, by blob id. `skill_sources` are the old paths of renamed skills,
    by their new ones.
    """

    def __init__(
        self,
        before: BrainState,
        after: BrainState,
        differences: list[Difference],
        *,
        in_folder: bool = False,
        unstored: Mapping[bytes, bytes] | None = None,
    ) -> None:
        self._session = after.session
        self._after = after
        self._differences = differences
        self._in_folder = in_folder
        self._unstored = unstored or {}
        self._was_skill, self._is_skill = derive.build_skill_predicates(before, after, differences)
        self._removed = {path: was for path, was, now in differences if was and not now}
        self._added = {path: now for path, was, now in differences if now and not was}
        self.skill_sources = self._find_renamed_skills()

    def to_diff(self, from_: str, to: str) -> Diff:
        """Return the differences as changes of paths and of skills."""
        return Diff(from_, to, self._build_path_changes(), self._build_skill_changes())

    def _find_renamed_skills(self) -> dict[str, str]:
        """Return the old path of each renamed skill by its new one."""
        removed = [
            entry
            for path, entry in self._removed.items()
            if derive.may_be_skill(path) and entry.kind != LINK and self._was_skill(path)
        ]
        added = [
            entry
            for path, entry in (self._added.items() if removed else ())
            if derive.may_be_skill(path) and entry.kind != LINK and self._is_skill(path)
        ]
        return _match_renamed_skills(self._session, removed, added, self._unstored)

    def _build_path_changes(self) -> list[PathChange]:
        """A removed and an added file of equal content are a rename, as is a renamed skill."""
        sources = self._find_renamed_files()
        renamed = set(sources.values())
        changes = []
        for path, was, now in self._differences:
            if path in renamed:
                continue
            source = self._removed.get(sources.get(path, ""))
            old = source or was
            kind = "added" if was is None else "removed" if now is None else "modified"
            changes.append(
                PathChange(
                    path=path,
                    section=split_section(path)[0],
                    change="renamed" if source else kind,
                    before=old.blob.hex() if old else None,
                    after=now.blob.hex() if now else None,
                    from_path=source.path if source else None,
                )
            )
        return changes

    def _find_renamed_files(self) -> dict[str, str]:
        sources = dict(self.skill_sources)
        folders = {new.rpartition("/")[0]: old.rpartition("/")[0] for new, old in sources.items()}
        added = {path: entry for path, entry in self._added.items() if path not in sources}
        # Two passes: a file that moved with its skill goes before others of equal content.
        for path, entry in added.items():
            old = self._removed.get(_find_old_place(path, folders))
            if old is not None and (old.blob, old.kind) == (entry.blob, entry.kind):
                sources[path] = old.path
        taken = set(sources.values())
        by_content: dict[tuple[bytes, int], list[str]] = {}
        for path, entry in reversed(self._removed.items()):
            if path not in taken:
                by_content.setdefault((entry.blob, entry.kind), []).append(path)
        for path, entry in added.items():
            if path not in sources and (same := by_content.get((entry.blob, entry.kind))):
                sources[path] = same.pop()
        return sources

    def _build_skill_changes(self) -> list[SkillChange]:
        cards = self._read_cards()
        renamed = set(self.skill_sources.values())
        changes: list[SkillChange] = []
        others: set[str] = set()
        for path, was, now in self._differences:
            if path in renamed:
                continue
            source = self.skill_sources.get(path, path)
            before = self._removed.get(source, was)
            old = cards.get(before.blob) if before and self._was_skill(source) else None
            new = cards.get(now.blob) if now and self._is_skill(path) else None
            if old or new:
                changes.append(_build_skill_change(path, old, new, source))
            elif "/" in path:
                others.add(path)
        changes += self._find_changed_skill_files(others, {change.path for change in changes})
        return sorted(changes, key=lambda one: (one.slug, one.change, one.name, one.path))

    def _read_cards(self) -> dict[bytes, SkillMetadata]:
        session = self._session
        changed = [item for item in self._differences if derive.may_be_skill(item.path)]
        blobs = {
            entry.blob for _, *both in changed for entry in both if entry and entry.kind != LINK
        }
        unstored = session.reader.find_missing(list(blobs)) if self._in_folder else set()
        cards = lineage_cache.load_cards(session, blobs - unstored)
        for path, _, now in changed:
            if now is not None and now.blob in unstored:
                from ..folder.read import read_working_file

                cards[now.blob] = read_skill_metadata(read_working_file(session.root, path), "")
        return cards

    def _find_changed_skill_files(
        self, paths: set[str], changed_skills: set[str]
    ) -> Iterator[SkillChange]:
        """Yield the skills that have other files than before, and the same text."""
        homes = derive.SkillHomes([self._after])
        for path in sorted({homes.find_home(path) for path in paths} - changed_skills - {""}):
            if entry := self._after.get(path):
                card = lineage_cache.load_cards(self._session, [entry.blob])[entry.blob]
                yield _build_skill_change(path, card, card, path)


def _find_old_place(path: str, folders: Mapping[str, str]) -> str:
    """Return where a file was if it moved with the folder of its skill, "" if it has none."""
    for folder in folders_above(path):
        if folder in folders:
            return folders[folder] + path[len(folder) :]
    return ""


def _build_skill_change(
    path: str, old: SkillMetadata | None, new: SkillMetadata | None, source: str
) -> SkillChange:
    slug, from_slug = derive.slug_from_full_path(path), derive.slug_from_full_path(source)
    change, renamed_from = "changed", None
    if old is None or new is None:
        change = "removed" if new is None else "added"
    elif from_slug != slug:
        change, renamed_from = "renamed", from_slug
    elif compare_versions(new.version, old.version) > 0:
        change = "upgraded"
    return SkillChange(
        slug=slug,
        change=change,
        from_version=skill_version.version_value(old.version) if old else None,
        to_version=skill_version.version_value(new.version) if new else None,
        name=(new or old or SkillMetadata("", "", "1", "")).name or slug,
        from_slug=renamed_from,
        path=path,
    )


# Renames


def _match_renamed_skills(
    session: Session,
    removed: Sequence[TreeEntry],
    added: Sequence[TreeEntry],
    unstored: Mapping[bytes, bytes],
) -> dict[str, str]:
    """Return, by its new path, the old path of each skill that was renamed.

    Equal texts are matched first, then the only one of a slug, which moved to another folder,
    then equal bodies: the text of a folder that a user renamed has another name in it. Last come
    bodies with the most lines in common, at least half of those of the longer one. The front
    matter does not count: those of two short skills are much alike.
    """
    sources: dict[str, str] = {}

    @cache
    def body_of(entry: TreeEntry) -> bytes | None:
        return _read_body(session, entry, unstored)

    keys: tuple[Callable[[TreeEntry], str | bytes | None], ...] = (
        lambda entry: entry.blob,
        lambda entry: derive.slug_from_full_path(entry.path),
        body_of,
    )
    for number, key in enumerate(keys):
        old, new = _unmatched(removed, added, sources)
        if not old or not new or (number == 2 and len(old) + len(new) > _MAX_BODIES):
            return sources
        by_key: dict[str | bytes | None, list[str]] = {}
        for entry in old:
            by_key.setdefault(key(entry), []).append(entry.path)
        by_key.pop(None, None)
        for entry in new:
            paths = by_key.get(key(entry))
            if paths and (number != 1 or len(paths) == 1):
                sources[entry.path] = paths.pop()
    old, new = _unmatched(removed, added, sources)
    if len(old) * len(new) <= _MAX_COMPARED_PAIRS:
        lines_of = {
            entry: Counter(line for line in (body_of(entry) or b"").split(b"\n") if line.strip())
            for entry in (*old, *new)
        }
        scored = []
        for one, other in product(old, new):
            most = max(lines_of[one].total(), lines_of[other].total())
            common = (lines_of[one] & lines_of[other]).total()
            if common and common >= _MIN_SIMILARITY * most:
                scored.append((-common / most, one.path, other.path))
        for _, old_path, new_path in sorted(scored):
            if new_path not in sources and old_path not in sources.values():
                sources[new_path] = old_path
    return sources


def _unmatched(
    removed: Sequence[TreeEntry], added: Sequence[TreeEntry], sources: Mapping[str, str]
) -> tuple[list[TreeEntry], list[TreeEntry]]:
    taken = set(sources.values())
    return (
        [entry for entry in removed if entry.path not in taken],
        [entry for entry in added if entry.path not in sources],
    )


def _read_body(session: Session, entry: TreeEntry, unstored: Mapping[bytes, bytes]) -> bytes | None:
    """Return the text of a skill without its front matter, None if there is nothing to compare."""
    from ..skills import document_parts

    if entry.size > _MAX_BODY_BYTES:
        return None
    content = unstored.get(entry.blob)
    try:
        if content is None:
            content = session.reader.read_blob(entry.blob, entry.size)
    except NotFound as error:
        if error.code == "redacted":
            return None
        content = _read_in_folder(session, entry.path, _MAX_BODY_BYTES)
    try:
        return document_parts.split_document(content or b"").body.strip() or None
    except InvalidInput:  # not readable as a skill
        return None


def find_rename_source(
    session: Session, before: bytes, after: bytes, path: str
) -> TreeEntry | None:
    """Return the skill of snapshot `before` that `after` has at `path`, None for a new one.

    It is the one that the operation names, else as for a diff.
    """
    was, now = session.state_of(before), session.state_of(after)
    entry = now.get(path)
    if entry is None or entry.kind == LINK:
        return None
    differences = islice(was.diff(now), _MAX_DIFFERENCES)
    removed = {
        name: old
        for name, old, new in differences
        if old and not new and old.kind != LINK and derive.may_be_skill(name)
    }
    slug = operation.renamed_skill(session.load_snapshot(after).operation)
    named = (old for name, old in removed.items() if derive.slug_from_full_path(name) == slug)
    if (old := next(named, None)) is not None:
        return old
    return removed.get(
        _match_renamed_skills(session, list(removed.values()), [entry], {}).get(path, "")
    )


# Lines


def diff_stat(session: Session, diff: Diff) -> list[DiffStat]:
    """Return how many lines each file of a diff gained and lost; -1 for binary files."""
    return [_count_lines(session, change, bool(diff.to)) for change in diff.changes]


def _count_lines(session: Session, change: PathChange, stored: bool) -> DiffStat:
    sides = _read_sides(session, change, stored)
    counts = (-1, -1) if isinstance(sides, str) else lines.count_changed_lines(*sides)
    return DiffStat(change.path, *counts)


def patch(session: Session, diff: Diff, context: int = lines.CONTEXT_LINES) -> Iterator[str]:
    """Yield a diff in git's unified format, one text per file; binary files only by name.

    `context` is the number of unchanged lines around each change.
    """
    for change in diff.changes:
        source = change.from_path or change.path
        old_name = "/dev/null" if change.change == "added" else f"a/{source}"
        new_name = "/dev/null" if change.change == "removed" else f"b/{change.path}"
        text = list(_render_mode_lines(session, diff, change))
        if change.from_path:
            text += [f"rename from {change.from_path}", f"rename to {change.path}"]
        sides = _read_sides(session, change, bool(diff.to))
        if not isinstance(sides, str):
            was, now = map(lines.find_line_ends, sides)
            if was != now and sides[0].replace(b"\r\n", b"\n") == sides[1].replace(b"\r\n", b"\n"):
                text.append(f"Only line ends differ: {was} before, {now} after")
            text += lines.unified_diff(*sides, old_name, new_name, context)
        elif change.before != change.after and sides == _BINARY:
            text.append(f"Binary files {old_name} and {new_name} differ")
        elif change.before != change.after:
            reason = sides.replace("_", " ")
            text.append(f"Files {old_name} and {new_name} differ: {reason}")
        yield "".join(line + "\n" for line in text)


def _render_mode_lines(session: Session, diff: Diff, change: PathChange) -> Iterator[str]:
    if change.after is None:
        return
    if diff.to:
        entry = _find_entry(session, diff.to, change.path)
        new = entry and entry.kind
    else:
        from ..folder.handles import entry_kind, lstat_or_none

        found = lstat_or_none(session.root / change.path)
        new = found and entry_kind(found.st_mode)
    was = None
    if change.before is not None:
        was = _find_entry(session, diff.from_, change.from_path or change.path)
    if change.before is None and new:
        yield f"new file mode {_GIT_MODES[new]}"
    elif was and new is not None and was.kind != new:
        yield f"old mode {_GIT_MODES[was.kind]}"
        yield f"new mode {_GIT_MODES[new]}"


def _find_entry(session: Session, snapshot: str, path: str) -> TreeEntry | None:
    return session.state_of(bytes.fromhex(snapshot)).get(path)


def _read_sides(session: Session, change: PathChange, stored: bool) -> tuple[bytes, bytes] | str:
    """Return the content before and after, or why it cannot be compared.

    The reasons are "binary", "too_large" and "redacted". Unless it is `stored`, the content
    after may be read from the folder.
    """
    old = _read_side(session, change.before, change.from_path or change.path, stored=True)
    new = _read_side(session, change.after, change.path, stored=stored)
    if isinstance(new, str):
        return new
    if isinstance(old, str):
        return old
    return _BINARY if lines.is_binary(old) or lines.is_binary(new) else (old, new)


def _read_side(session: Session, blob: str | None, path: str, *, stored: bool) -> bytes | str:
    if blob is None:
        return b""
    id = bytes.fromhex(blob)
    try:
        if session.reader.blob_size(id) > MAX_DIFF_BYTES:
            return _TOO_LARGE
        return session.reader.read_blob(id)
    except NotFound as error:
        if error.code == "redacted":
            return "redacted"
        if stored:
            raise
        content = _read_in_folder(session, path, MAX_DIFF_BYTES)
        return _TOO_LARGE if content is None else content


def _read_in_folder(session: Session, path: str, max_bytes: int) -> bytes | None:
    from ..folder.read import read_bounded_file

    return read_bounded_file(session.root, path, max_bytes)


def list_hunks(session: Session, diff: Diff) -> Iterator[Hunk]:
    """Yield the changes of a diff between two snapshots, as they can be taken one by one.

    A file that was added, removed or renamed, that is no text, or whose kind changed, is one.
    """
    number = 0
    for change, text in zip(diff.changes, patch(session, diff, _HUNK_CONTEXT), strict=True):
        kinds = [
            entry and entry.kind
            for entry in (_find_entry(session, side, change.path) for side in (diff.from_, diff.to))
        ]
        parts = [text]
        if change.change == "modified" and kinds[0] == kinds[1] != LINK:
            head, *rest = _HUNK_START.split(text)
            parts = [head + part if not at else part for at, part in enumerate(rest)] or [head]
        for part in parts:
            number += 1
            yield Hunk(number, change.path, part)


def choose_hunks(
    session: Session, diff: Diff, numbers: Sequence[int]
) -> tuple[dict[str, TreeEntry | None], dict[str, bytes]]:
    """Return what some hunks of a diff change: entries by path, and texts of which a part is taken.

    Raises `NotFound` (`no_hunk`).
    """
    chosen: dict[str, list[bool]] = {}
    for hunk in list_hunks(session, diff):
        chosen.setdefault(hunk.path, []).append(hunk.number in numbers)
    last = sum(map(len, chosen.values()))
    if wrong := [number for number in numbers if not 1 <= number <= last]:
        raise NotFound(
            f"the proposal has no hunk {wrong[0]}; the last one is {last}",
            code="no_hunk",
            hint="`brain proposal show` numbers them",
        )
    edits: dict[str, TreeEntry | None] = {}
    texts: dict[str, bytes] = {}
    for change in diff.changes:
        marks = chosen[change.path]
        if all(marks):
            edits[change.path] = _find_entry(session, diff.to, change.path)
            if change.from_path:
                edits[change.from_path] = None
        elif any(marks) and not isinstance(sides := _read_sides(session, change, True), str):
            texts[change.path] = lines.apply_hunks(*sides, marks, _HUNK_CONTEXT)
    return edits, texts


def find_undiffable(session: Session, diff: Diff) -> list[UndiffableFile]:
    """Return the files of a diff between two snapshots whose content `patch` does not show."""

    def describe(snapshot: str, path: str) -> FileState | None:
        entry = _find_entry(session, snapshot, path)
        return entry and FileState(ENTRY_KIND_NAMES[entry.kind], entry.size, entry.blob.hex())

    undiffable = []
    for change in diff.changes:
        reason = _read_sides(session, change, stored=True)
        if isinstance(reason, str) and change.before != change.after:
            source = change.from_path or change.path
            old = describe(diff.from_, source) if change.before else None
            new = describe(diff.to, change.path) if change.after else None
            undiffable.append(UndiffableFile(change.path, change.from_path, reason, old, new))
    return undiffable


def refuse_undiffable(session: Session, diff: Diff) -> None:
    """Raise `InvalidInput` (`not_shown`) if a patch cannot show a file that is added or changed."""
    from ..repo import working_copy

    undiffable = [file.path for file in find_undiffable(session, diff) if file.after is not None]
    if undiffable:
        raise InvalidInput(
            f"{working_copy.name_files(undiffable)} cannot be shown as text",
            code="not_shown",
            hint="`brain proposal show` tells what they are; accept them, too, with --binary",
        )


# Messages


def describe_edits(before: BrainState, edits: Mapping[str, TreeEntry | None]) -> str:
    """Describe the changes by `edits`, whose content is in the open transaction.

    For example "oracle-manipulation edited; memory/MEMORY.md +3 lines".
    """
    if len(edits) > _MAX_DESCRIBED_FILES:
        removed = sum(entry is None for entry in edits.values())
        known = sum(before.has(path) for path in edits)
        counts = f"{len(edits) - known} files added, {known - removed} modified"
        return f"{counts}, {removed} removed"
    after = before.edit(edits)
    differences = _compare_edits(before, edits)
    found = Comparison(before, after, differences).to_diff("", "")
    others = changes_outside_skills(found.changes, found.skills) if found.skills else found.changes
    words = [
        printable_text(
            f"{change.slug} edited" if change.change == "changed" else format_skill_change(change)
        )
        for change in found.skills[:_MAX_NAMED_CHANGES]
    ]
    words += [
        _describe_file_change(before.session, change)
        for change in others[: _MAX_NAMED_CHANGES - len(words)]
    ]
    unnamed = len(found.skills) + len(others) - len(words)
    return "; ".join([*words, *([f"{unnamed} more"] if unnamed else [])])


def _describe_file_change(session: Session, change: PathChange) -> str:
    if change.from_path is not None:
        return f"{printable_text(change.from_path)} moved to {printable_text(change.path)}"
    text = change.change
    if text == "modified":
        text = " ".join(_line_count_words(_count_lines(session, change, stored=True)))
    return f"{printable_text(change.path)} {text}"


def _line_count_words(stat: DiffStat) -> Iterator[str]:
    if stat.added > 0:
        yield f"+{stat.added}"
    if stat.removed > 0:
        yield f"-{stat.removed}"
    most = max(stat.added, stat.removed)
    yield "edited" if most < 1 else "line" if most == 1 else "lines"
