"""Compare states of a brain: paths, renames, skills and lines; describe what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from ..errors import InvalidInput, NotFound, printable_text
from ..folder import read
from ..merging import lines as diff3
from ..merging import lines as line_diff
from ..merging.lines import UNMATCHED, match_lines
from ..objects import bundle as bundles
from ..objects import operation, paths
from ..objects.bundle import Bundle
from ..objects.tree_diff import Difference
from ..objects.tree_node import ENTRY_KIND_NAMES, LINK, TreeEntry
from ..repo import derive, lineage_cache
from ..repo.derive import SkillHomes
from ..repo.revisions import resolve_revision
from ..repo.session import Session
from ..results import Diff, DiffStat, FileState, PathChange, SkillChange, UndiffableFile
from ..results.text_format import changes_outside_skills, format_skill_change
from ..skills import skill_version
from ..skills.skill_metadata import SkillMetadata, read_skill_metadata
from ..skills.skill_version import compare_versions


def diff_revisions(session: Session, from_: str, to: str, wanted_paths: Sequence[str] = ()) -> Diff:
    """Compare two revisions; the cost grows with the changes alone.

    With `wanted_paths`, only what is at or below them is compared.
    """
    old, new = resolve_revision(session, from_), resolve_revision(session, to)
    before, after = session.bundle_of(old), session.bundle_of(new)
    return diff_stored_bundles(session, (old.hex(), before), (new.hex(), after), wanted_paths)


def diff_with_parent(session: Session, revision: str, wanted_paths: Sequence[str] = ()) -> Diff:
    """Compare a snapshot with its first parent, a genesis with nothing; `from_` is then ""."""
    new = resolve_revision(session, revision)
    snapshot = session.load_snapshot(new)
    before = snapshot.parents[0].hex() if snapshot.parents else "", session.parent_bundle(snapshot)
    return diff_stored_bundles(session, before, (new.hex(), session.bundle_of(new)), wanted_paths)


def diff_stored_bundles(
    session: Session,
    old: tuple[str, Bundle],
    new: tuple[str, Bundle],
    wanted_paths: Sequence[str] = (),
) -> Diff:
    """Compare two bundles, each given with the id of its snapshot."""
    (from_, before), (to, after) = old, new
    found = bundles.diff_bundles(session.nodes, before, after)
    differences = filter_paths(found, wanted_paths)
    cards = lineage_cache.load_cards(session, _find_skill_blobs(differences))
    sources = _match_renamed_skills(session, before, after, differences)
    return Diff(
        from_,
        to,
        build_path_changes(differences, sources),
        _diff_skills(session, before, after, differences, cards, sources),
    )


def diff_with_folder(
    session: Session, from_: str | None = None, wanted_paths: Sequence[str] = ()
) -> Diff:
    """Compare a revision, by default the head, with the folder.

    A proposal has no folder: its head is compared with its base. `wanted_paths` are as for
    `diff_revisions`.
    """
    from ..repo import working_copy

    if not session.has_folder:
        base, head = session.base().hex(), session.head().hex()
        return diff_revisions(session, from_ or base, head, wanted_paths)
    old = resolve_revision(session, from_ or "@")
    before = session.bundle_of(old)
    scan = working_copy.scan_folder(session)
    edits = working_copy.diff_folder(
        session,
        scan,
        before,
        working_copy.hash_files(session, scan.scan.changed, scan.scan.skipped),
    )
    differences = filter_paths(_compare_edits(session, before, edits), wanted_paths)
    after = bundles.update_bundle(session.nodes, before, edits)
    cards = _read_cards_with_folder(session, differences)
    sources = _match_renamed_skills(session, before, after, differences)
    skills = _diff_skills(session, before, after, differences, cards, sources)
    session.nodes.drop_unstored()
    return Diff(old.hex(), "", build_path_changes(differences, sources), skills)


def diff_pending_edits(
    session: Session, before: Bundle, edits: Mapping[str, TreeEntry | None]
) -> Diff:
    """Return the changes by edits whose content is in the open transaction."""
    differences = _compare_edits(session, before, edits)
    after = bundles.update_bundle(session.nodes, before, edits)
    cards = lineage_cache.load_cards(session, _find_skill_blobs(differences))
    sources = _match_renamed_skills(session, before, after, differences)
    skills = _diff_skills(session, before, after, differences, cards, sources)
    return Diff("", "", build_path_changes(differences, sources), skills)


def filter_paths(
    differences: Iterable[Difference], wanted_paths: Sequence[str]
) -> list[Difference]:
    """Return the differences at or below the wanted paths; all if there are none."""
    if not wanted_paths:
        return list(differences)
    return [item for item in differences if paths.is_at_or_below(item.path, wanted_paths)]


def _compare_edits(
    session: Session, before: Bundle, edits: Mapping[str, TreeEntry | None]
) -> list[Difference]:
    return [
        Difference(path, bundles.get_entry(session.nodes, before, path), entry)
        for path, entry in sorted(edits.items())
    ]


def build_path_changes(
    differences: Sequence[Difference], skill_sources: Mapping[str, str] | None = None
) -> list[PathChange]:
    """Return differences as changes; a removed and an added path of equal content are a rename.

    `skill_sources` has the old paths of renamed skills by their new ones; a file that moved
    with its skill is matched before others of equal content.
    """
    removed = {path: was for path, was, now in differences if was is not None and now is None}
    sources = _match_renamed_files(differences, removed, skill_sources or {})
    renamed_paths = set(sources.values())
    return [
        _build_path_change(path, was, now, removed.get(sources.get(path, "")))
        for path, was, now in differences
        if path not in renamed_paths
    ]


def _match_renamed_files(
    differences: Sequence[Difference],
    removed: Mapping[str, TreeEntry],
    skill_sources: Mapping[str, str],
) -> dict[str, str]:
    sources = dict(skill_sources)
    folders = {new.rpartition("/")[0]: old.rpartition("/")[0] for new, old in skill_sources.items()}
    unmatched: dict[str, tuple[bytes, int]] = {}
    for path, was, now in differences:
        if was is not None or now is None or path in sources:
            continue
        moved = _moved_from(path, folders)
        old = removed.get(moved)
        if old is not None and (old.blob, old.kind) == (now.blob, now.kind):
            sources[path] = moved
        else:
            unmatched[path] = now.blob, now.kind
    taken = set(sources.values())
    by_content: dict[tuple[bytes, int], list[str]] = {}
    for path in reversed(list(removed)):
        if path not in taken:
            by_content.setdefault((removed[path].blob, removed[path].kind), []).append(path)
    for path, content in unmatched.items():
        if candidates := by_content.get(content):
            sources[path] = candidates.pop()
    return sources


def _moved_from(path: str, folders: Mapping[str, str]) -> str:
    """Return where a file was if it moved with the folder of its skill, "" if it has none."""
    for folder in paths.folders_above(path):
        if folder in folders:
            return folders[folder] + path[len(folder) :]
    return ""


def _build_path_change(
    path: str, was: TreeEntry | None, now: TreeEntry | None, source: TreeEntry | None
) -> PathChange:
    kind = "added" if was is None else "removed" if now is None else "modified"
    if source is not None:
        kind, was = "renamed", source
    return PathChange(
        path=path,
        section=paths.split_section(path)[0],
        change=kind,
        before=was.blob.hex() if was else None,
        after=now.blob.hex() if now else None,
        from_path=source.path if source else None,
    )


def _match_renamed_skills(
    session: Session, before: Bundle, after: Bundle, differences: list[Difference]
) -> dict[str, str]:
    """Return the old path of each renamed skill by its new one."""
    removed = [
        was for path, was, now in differences if was and not now and derive.may_be_skill(path)
    ]
    added = [now for path, was, now in differences if now and not was and derive.may_be_skill(path)]
    if not removed or not added:
        return {}

    was_skill, is_skill = derive.build_skill_predicates(session, before, after, differences)
    return match_renamed_skills(
        [entry for entry in removed if entry.kind != LINK and was_skill(entry.path)],
        [entry for entry in added if entry.kind != LINK and is_skill(entry.path)],
        partial(_read_text, session),
    )


def _read_text(session: Session, entry: TreeEntry) -> bytes | None:
    """Return the content of an entry, which may be in the folder alone."""
    from ..folder import read

    if entry.size > MAX_COMPARED_BYTES:
        return None
    try:
        return session.reader.read_blob(entry.blob, entry.size)
    except NotFound as error:
        if error.code == "redacted":
            return None
        return read.read_bounded_file(session.root, entry.path, MAX_COMPARED_BYTES)


_CardsByPath = dict[str, SkillMetadata]
_SkillSides = tuple[_CardsByPath, _CardsByPath]
"""The changed skills of one slug, before and after; a renamed one has its new path in both."""


def _diff_skills(
    session: Session,
    before: Bundle,
    after: Bundle,
    differences: list[Difference],
    cards: dict[bytes, SkillMetadata],
    sources: Mapping[str, str],
) -> list[SkillChange]:
    was_skill, is_skill = derive.build_skill_predicates(session, before, after, differences)
    sides: dict[str, _SkillSides] = {}
    touched: set[str] = set()
    removed = {path: was for path, was, now in differences if was and not now}
    renamed_paths = set(sources.values())
    for path, was, now in differences:
        if path in renamed_paths:
            continue
        source = sources.get(path, "")
        before_entry = removed.get(source, was)
        old = cards.get(before_entry.blob) if before_entry and was_skill(source or path) else None
        new = cards.get(now.blob) if now and is_skill(path) else None
        if old or new:
            slug = derive.slug_from_full_path(path)
            old_cards, new_cards = sides.setdefault(slug, ({}, {}))
            if old:
                old_cards[path] = old
            if new:
                new_cards[path] = new
        elif "/" in path:
            touched.add(path)
    out = [change for slug, both in sides.items() for change in _pair_skills(slug, *both, sources)]
    out += _diff_skill_files(session, after, touched, {change.path for change in out})
    return sorted(out, key=lambda change: (change.slug, change.change, change.name, change.path))


def _pair_skills(
    slug: str, before: _CardsByPath, after: _CardsByPath, sources: Mapping[str, str]
) -> Iterator[SkillChange]:
    """Yield the changes of the skills of one slug; one that moved is a changed one."""
    removed = [path for path in before if path not in after]
    added = [path for path in after if path not in before]
    moved = dict(zip(added, removed, strict=False))
    for path, new in after.items():
        source = sources.get(path)
        from_slug = derive.slug_from_full_path(source) if source else slug
        old = before.get(moved.get(path, path))
        yield _build_skill_change(slug, path, old, new, from_slug)
    for path in removed[len(moved) :]:
        yield _build_skill_change(slug, path, before[path], None, slug)


def _build_skill_change(
    slug: str, path: str, old: SkillMetadata | None, new: SkillMetadata | None, from_slug: str
) -> SkillChange:
    name = (new or old or SkillMetadata("", "", "1", "")).name or slug
    from_version = skill_version.version_value(old.version) if old else None
    to_version = skill_version.version_value(new.version) if new else None
    renamed_from = None
    if old is None or new is None:
        change = "removed" if new is None else "added"
    elif from_slug != slug:
        change, renamed_from = "renamed", from_slug
    else:
        rises = compare_versions(new.version, old.version) > 0
        change = "upgraded" if rises else "changed"
    return SkillChange(slug, change, from_version, to_version, name, renamed_from, path)


def _diff_skill_files(
    session: Session, after: Bundle, touched: set[str], reported_paths: set[str]
) -> list[SkillChange]:
    homes = SkillHomes(session, [after])
    owners = {homes.find_home(path) for path in touched}
    out = []
    for path in sorted(owners - {""}):
        slug = derive.slug_from_full_path(path)
        entry = bundles.get_entry(session.nodes, after, path)
        if path in reported_paths or entry is None:
            continue
        card = lineage_cache.load_cards(session, [entry.blob])[entry.blob]
        current = skill_version.version_value(card.version)
        out.append(SkillChange(slug, "changed", current, current, card.name or slug, None, path))
    return out


def _find_skill_blobs(differences: list[Difference]) -> list[bytes]:
    return [
        entry.blob
        for path, *both in differences
        if derive.may_be_skill(path)
        for entry in both
        if entry is not None and entry.kind != LINK
    ]


def _read_cards_with_folder(
    session: Session, differences: list[Difference]
) -> dict[bytes, SkillMetadata]:
    """Return the cards of both sides; the new content may be in the folder alone."""
    from ..folder import read

    blobs = _find_skill_blobs(differences)
    missing_blobs = session.reader.find_missing(blobs)
    cards = lineage_cache.load_cards(session, [blob for blob in blobs if blob not in missing_blobs])
    for path, _, now in differences:
        if now is not None and now.blob in missing_blobs and derive.may_be_skill(path):
            cards[now.blob] = read_skill_metadata(read.read_working_file(session.root, path), "")
    return cards


_MIN_SIMILARITY = 0.5
"""The least part of equal lines at which a skill counts as renamed."""
_MAX_CANDIDATES = 64
_MAX_DIFFERENCES = 4096
"""The most differences of one snapshot that are read; a first import has more."""
_MAX_COMPARED_PAIRS = 1024
"""The most pairs of a removed and an added skill that are compared line by line."""
MAX_COMPARED_BYTES = 1 << 20
"""The largest text of a skill that is compared line by line."""

ContentReader = Callable[[TreeEntry], bytes | None]
"""Returns the content of an entry; None if it cannot be read or is too large to compare."""


def find_rename_source(
    session: Session, before: bytes, after: bytes, path: str
) -> TreeEntry | None:
    """Return the skill of snapshot `before` that `after` has at `path`, None for a new one.

    Of the removed skills it is the one that the operation names, else one with the same content,
    else the only one with the same slug, which moved to another folder, else the one whose body
    is the most similar. Redacted content is similar to none.
    """
    was, now = session.bundle_of(before), session.bundle_of(after)
    entry = bundles.get_entry(session.nodes, now, path)
    if entry is None or entry.kind == LINK:
        return None
    differences = islice(bundles.diff_bundles(session.nodes, was, now), _MAX_DIFFERENCES)
    removed = [
        old
        for name, old, new in differences
        if old and not new and old.kind != LINK and derive.may_be_skill(name)
    ]
    slug = operation.renamed_skill(session.load_snapshot(after).operation)
    named = [old for old in removed if slug and derive.slug_from_full_path(old.path) == slug]
    equal = [old for old in removed if old.blob == entry.blob]
    own_slug = derive.slug_from_full_path(path)
    moved = [old for old in removed if derive.slug_from_full_path(old.path) == own_slug]
    known = named or equal or (moved if len(moved) == 1 else [])
    if known or len(removed) > _MAX_CANDIDATES:
        return next(iter(known), None)
    redacted = session.reader.find_redactions([entry.blob, *(old.blob for old in removed)])
    if entry.blob in redacted:
        return None
    lines = _body_lines(session.reader.read_blob(entry.blob, entry.size))
    scored = [
        (_common_part(lines, _body_lines(session.reader.read_blob(old.blob, old.size))), old.path)
        for old in removed
        if old.blob not in redacted
    ]
    score, best = max(scored, default=(0.0, ""))
    return next(old for old in removed if old.path == best) if score >= _MIN_SIMILARITY else None


def match_renamed_skills(
    removed: Sequence[TreeEntry], added: Sequence[TreeEntry], read: ContentReader
) -> dict[str, str]:
    """Return, by its new path, the old path of each skill that was renamed.

    Equal texts are matched first, then those whose bodies have the most lines in common. The
    front matter does not count: those of two short skills are much alike.
    """
    by_blob: dict[bytes, list[str]] = {}
    for old in removed:
        by_blob.setdefault(old.blob, []).append(old.path)
    sources: dict[str, str] = {}
    for new in added:
        if paths := by_blob.get(new.blob):
            sources[new.path] = paths.pop()
    taken = set(sources.values())
    old_skills = [old for old in removed if old.path not in taken]
    new_skills = [new for new in added if new.path not in sources]
    if old_skills and len(old_skills) * len(new_skills) <= _MAX_COMPARED_PAIRS:
        sources.update(_match_similar_bodies(old_skills, new_skills, read))
    return sources


def _match_similar_bodies(
    old_skills: list[TreeEntry], new_skills: list[TreeEntry], read: ContentReader
) -> dict[str, str]:
    old_bodies = {old.path: _body_lines(read(old)) for old in old_skills}
    scored = []
    for new in new_skills:
        lines = _body_lines(read(new))
        for path, old_lines in old_bodies.items():
            score = _common_part(lines, old_lines)
            if score >= _MIN_SIMILARITY:
                scored.append((-score, path, new.path))
    sources: dict[str, str] = {}
    for _, old_path, new_path in sorted(scored):
        if new_path not in sources and old_path not in sources.values():
            sources[new_path] = old_path
    return sources


def _body_lines(content: bytes | None) -> list[bytes]:
    if content is None:
        return []
    from ..skills import document_parts

    try:
        body = document_parts.split_document(content).body
    except InvalidInput:  # not readable as a skill: all of it is compared
        body = content
    return [line for line in diff3.split_lines(body) if line.strip()]


def _common_part(lines: list[bytes], old_lines: list[bytes]) -> float:
    common = sum(index != UNMATCHED for index in match_lines(lines, old_lines))
    return common / max(len(lines), len(old_lines), 1)


MAX_DIFF_BYTES = 128 << 20
"""The largest file whose lines are compared."""
BINARY, _TOO_LARGE = "binary", "too_large"
_GIT_MODES = ("100644", "100755", "120000")
"""Git's modes of FILE, EXECUTABLE and LINK."""


def build_diff_stats(session: Session, diff: Diff) -> list[DiffStat]:
    """Return how many lines each file of a diff gained and lost; -1 for binary files."""
    return [build_diff_stat(session, change, bool(diff.to)) for change in diff.changes]


def build_diff_stat(session: Session, change: PathChange, stored: bool = True) -> DiffStat:
    """Return the added and removed lines of a change; `stored` is as for `read_diff_sides`."""
    sides = read_diff_sides(session, change, stored)
    counts = (-1, -1) if isinstance(sides, str) else line_diff.count_changed_lines(*sides)
    return DiffStat(change.path, *counts)


def render_patch(session: Session, diff: Diff) -> Iterator[str]:
    """Yield a diff in git's unified format, one text per file; binary files only by name."""
    for change in diff.changes:
        source = change.from_path or change.path
        old_name = "/dev/null" if change.change == "added" else f"a/{source}"
        new_name = "/dev/null" if change.change == "removed" else f"b/{change.path}"
        lines = list(_render_mode_lines(*entry_kinds(session, diff, change)))
        if change.from_path:
            lines += [f"rename from {change.from_path}", f"rename to {change.path}"]
        sides = read_diff_sides(session, change, bool(diff.to))
        if not isinstance(sides, str):
            lines += line_diff.unified_diff(*sides, old_name, new_name)
        elif change.before != change.after:
            if sides == BINARY:
                lines.append(f"Binary files {old_name} and {new_name} differ")
            else:
                reason = sides.replace("_", " ")
                lines.append(f"Files {old_name} and {new_name} differ: {reason}")
        yield "".join(line + "\n" for line in lines)


def _render_mode_lines(old: int | None, new: int | None) -> Iterator[str]:
    if old is None and new:
        yield f"new file mode {_GIT_MODES[new]}"
    elif old is not None and new is not None and old != new:
        yield f"old mode {_GIT_MODES[old]}"
        yield f"new mode {_GIT_MODES[new]}"


def entry_kinds(session: Session, diff: Diff, change: PathChange) -> tuple[int | None, int | None]:
    """Return the kinds of a changed file before and after; None where it is absent."""
    old = (
        _entry_kind(session, diff.from_, change.from_path or change.path) if change.before else None
    )
    if change.after is None:
        return old, None
    if diff.to:
        return old, _entry_kind(session, diff.to, change.path)
    from ..folder.handles import entry_kind, lstat_or_none

    found = lstat_or_none(session.root / change.path)
    return old, None if found is None else entry_kind(found.st_mode)


def _entry_kind(session: Session, snapshot: str, path: str) -> int | None:
    entry = bundles.get_entry(session.nodes, session.bundle_of(bytes.fromhex(snapshot)), path)
    return entry.kind if entry else None


def read_diff_sides(
    session: Session, change: PathChange, stored: bool
) -> tuple[bytes, bytes] | str:
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
    return BINARY if line_diff.is_binary(old) or line_diff.is_binary(new) else (old, new)


def _read_side(session: Session, blob: str | None, path: str, *, stored: bool) -> bytes | str:
    if blob is None:
        return b""
    blob_id = bytes.fromhex(blob)
    try:
        size = session.reader.blob_size(blob_id)
    except NotFound as error:
        if error.code == "redacted":
            return "redacted"
        if stored:
            raise
        content = read.read_bounded_file(session.root, path, MAX_DIFF_BYTES)
        return _TOO_LARGE if content is None else content
    return session.reader.read_blob(blob_id) if size <= MAX_DIFF_BYTES else _TOO_LARGE


def find_undiffable(session: Session, diff: Diff) -> list[UndiffableFile]:
    """Return the files of a diff of two snapshots whose content `render_patch` does not show."""
    before, after = (session.bundle_of(bytes.fromhex(side)) for side in (diff.from_, diff.to))
    undiffable = []
    for change in diff.changes:
        reason = read_diff_sides(session, change, stored=True)
        if isinstance(reason, str) and change.before != change.after:
            source = change.from_path or change.path
            old = _describe_file_state(session, before, source) if change.before else None
            new = _describe_file_state(session, after, change.path) if change.after else None
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


def _describe_file_state(session: Session, bundle: Bundle, path: str) -> FileState | None:
    entry = bundles.get_entry(session.nodes, bundle, path)
    return FileState(ENTRY_KIND_NAMES[entry.kind], entry.size, entry.blob.hex()) if entry else None


MAX_NAMED_CHANGES = 8
"""The most changes that are named; the others are counted."""
_MAX_COMPARED_FILES = 500


def describe_edits(session: Session, before: Bundle, edits: Mapping[str, TreeEntry | None]) -> str:
    """Describe the changes by `edits`, whose content is in the open transaction.

    For example "oracle-manipulation edited; memory/MEMORY.md +3 lines".
    """
    if len(edits) > _MAX_COMPARED_FILES:
        return _describe_counts(session, before, edits)
    difference = diff_pending_edits(session, before, edits)
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
        text = " ".join(_line_count_words(build_diff_stat(session, change)))
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
