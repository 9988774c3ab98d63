"""Compare two revisions, or a revision with the folder: paths, renames and skills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from ...errors import NotFound
from ...objects import bundle as bundles
from ...objects import paths
from ...objects.bundle import Bundle
from ...objects.tree_diff import Difference
from ...objects.tree_entry import LINK, TreeEntry
from ...results import Diff, PathChange, SkillChange
from ...skills import skill_version
from ...skills.skill_metadata import SkillMetadata, read_skill_metadata
from ...skills.skill_version import compare_versions
from .. import derive, lineage_cache
from ..derive import SkillHomes
from ..open.session import Session
from ..revisions import resolve_revision


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
    from ..core import working_copy

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
    folder = path.rpartition("/")[0]
    while folder:
        if folder in folders:
            return folders[folder] + path[len(folder) :]
        folder = folder.rpartition("/")[0]
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
    from . import renames

    was_skill, is_skill = derive.build_skill_predicates(session, before, after, differences)
    return renames.match_renamed_skills(
        [entry for entry in removed if entry.kind != LINK and was_skill(entry.path)],
        [entry for entry in added if entry.kind != LINK and is_skill(entry.path)],
        partial(_read_text, session),
    )


def _read_text(session: Session, entry: TreeEntry) -> bytes | None:
    """Return the content of an entry, which may be in the folder alone."""
    from ...worktree import file_reader
    from .renames import MAX_COMPARED_BYTES

    if entry.size > MAX_COMPARED_BYTES:
        return None
    try:
        return session.reader.read_blob(entry.blob, entry.size)
    except NotFound as error:
        if error.code == "redacted":
            return None
        return file_reader.read_bounded_file(session.root, entry.path, MAX_COMPARED_BYTES)


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
    from ...worktree import file_reader

    blobs = _find_skill_blobs(differences)
    missing_blobs = session.reader.find_missing(blobs)
    cards = lineage_cache.load_cards(session, [blob for blob in blobs if blob not in missing_blobs])
    for path, _, now in differences:
        if now is not None and now.blob in missing_blobs and derive.may_be_skill(path):
            cards[now.blob] = read_skill_metadata(
                file_reader.read_working_file(session.root, path), ""
            )
    return cards
