"""Compare two revisions, or a revision with the folder: paths, renames and skills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...objects import bundle as bundles
from ...objects import paths
from ...objects.bundle import Bundle
from ...objects.tree_diff import Difference
from ...objects.tree_entry import LINK, TreeEntry
from ...results import Diff, PathChange, SkillChange
from ...skills import skill_version
from ...skills.skill_metadata import SkillMetadata, read_skill_metadata
from ...skills.skill_version import compare_versions
from ..open.session import Session
from ..read import card_cache, skill_rows
from ..read.revisions import resolve_revision
from ..read.skill_homes import SkillHomes


def diff_revisions(session: Session, from_: str, to: str) -> Diff:
    """Compare two revisions; the cost grows with the changes alone."""
    old, new = resolve_revision(session, from_), resolve_revision(session, to)
    before, after = session.bundle_of(old), session.bundle_of(new)
    differences = list(bundles.diff_bundles(session.nodes, before, after))
    cards = card_cache.load_cards(session, _find_skill_blobs(differences))
    return Diff(
        old.hex(),
        new.hex(),
        build_path_changes(differences),
        _diff_skills(session, before, after, differences, cards),
    )


def diff_with_folder(session: Session, from_: str | None = None) -> Diff:
    """Compare a revision, by default the head, with the folder.

    A proposal has no folder: its head is compared with its base.
    """
    from ..core import working_copy

    if not session.has_folder:
        return diff_revisions(session, from_ or session.base().hex(), session.head().hex())
    old = resolve_revision(session, from_ or "@")
    before = session.bundle_of(old)
    scan = working_copy.scan_folder(session)
    edits = working_copy.diff_folder(
        session, scan, before, working_copy.hash_files(session, scan.scan.changed)
    )
    differences = _compare_edits(session, before, edits)
    after = bundles.update_bundle(session.nodes, before, edits)
    skills = _diff_skills(
        session, before, after, differences, _read_cards_with_folder(session, differences)
    )
    session.nodes.drop_unstored()
    return Diff(old.hex(), "", build_path_changes(differences), skills)


def diff_pending_edits(
    session: Session, before: Bundle, edits: Mapping[str, TreeEntry | None]
) -> Diff:
    """Return the changes by edits whose content is in the open transaction."""
    differences = _compare_edits(session, before, edits)
    after = bundles.update_bundle(session.nodes, before, edits)
    cards = card_cache.load_cards(session, _find_skill_blobs(differences))
    skills = _diff_skills(session, before, after, differences, cards)
    return Diff("", "", build_path_changes(differences), skills)


def _compare_edits(
    session: Session, before: Bundle, edits: Mapping[str, TreeEntry | None]
) -> list[Difference]:
    return [
        Difference(path, bundles.get_entry(session.nodes, before, path), entry)
        for path, entry in sorted(edits.items())
    ]


def build_path_changes(differences: list[Difference]) -> list[PathChange]:
    """Return differences as changes; a removed and an added path of equal content are a rename."""
    removed_paths: dict[tuple[bytes, int], list[str]] = {}
    for path, was, now in differences:
        if was is not None and now is None:
            removed_paths.setdefault((was.blob, was.kind), []).append(path)
    sources: dict[str, str] = {}
    for path, was, now in differences:
        if was is None and now is not None and removed_paths.get((now.blob, now.kind)):
            sources[path] = removed_paths[now.blob, now.kind].pop(0)
    renamed_paths = set(sources.values())
    return [
        _build_path_change(path, was, now, sources.get(path))
        for path, was, now in differences
        if path not in renamed_paths
    ]


def _build_path_change(
    path: str, was: TreeEntry | None, now: TreeEntry | None, source: str | None
) -> PathChange:
    kind = "added" if was is None else "removed" if now is None else "modified"
    before = was.blob.hex() if was else None
    after = now.blob.hex() if now else None
    if source is not None:
        kind, before = "renamed", after
    return PathChange(
        path=path,
        section=paths.split_section(path)[0],
        change=kind,
        before=before,
        after=after,
        from_path=source,
    )


class _CardPair(NamedTuple):
    before: SkillMetadata | None
    after: SkillMetadata | None


def _diff_skills(
    session: Session,
    before: Bundle,
    after: Bundle,
    differences: list[Difference],
    cards: dict[bytes, SkillMetadata],
) -> list[SkillChange]:
    was_skill, is_skill = skill_rows.build_skill_predicates(session, before, after, differences)
    sides: dict[str, _CardPair] = {}
    touched: set[str] = set()
    for path, was, now in differences:
        old = cards.get(was.blob) if was and was_skill(path) else None
        new = cards.get(now.blob) if now and is_skill(path) else None
        if old or new:
            slug = skill_rows.slug_from_full_path(path)
            known = sides.get(slug, _CardPair(None, None))
            sides[slug] = _CardPair(known.before or old, known.after or new)
        elif "/" in path:
            touched.add(path)
    out = [_build_skill_change(slug, *both) for slug, both in sides.items()]
    out += _diff_skill_files(session, after, touched, set(sides))
    return sorted(out, key=lambda change: (change.slug, change.change, change.name))


def _build_skill_change(
    slug: str, old: SkillMetadata | None, new: SkillMetadata | None
) -> SkillChange:
    name = (new or old or SkillMetadata("", "", "1", "")).name or slug
    from_version = skill_version.version_value(old.version) if old else None
    to_version = skill_version.version_value(new.version) if new else None
    if old is None or new is None:
        return SkillChange(
            slug, "removed" if new is None else "added", from_version, to_version, name
        )
    rises = compare_versions(new.version, old.version) > 0
    return SkillChange(slug, "upgraded" if rises else "changed", from_version, to_version, name)


def _diff_skill_files(
    session: Session, after: Bundle, touched: set[str], reported_slugs: set[str]
) -> list[SkillChange]:
    homes = SkillHomes(session, [after])
    owners = {homes.find_home(path) for path in touched}
    out = []
    for path in sorted(owners - {""}):
        slug = skill_rows.slug_from_full_path(path)
        entry = bundles.get_entry(session.nodes, after, path)
        if slug in reported_slugs or entry is None:
            continue
        card = card_cache.load_cards(session, [entry.blob])[entry.blob]
        current = skill_version.version_value(card.version)
        out.append(SkillChange(slug, "changed", current, current, card.name or slug))
    return out


def _find_skill_blobs(differences: list[Difference]) -> list[bytes]:
    return [
        entry.blob
        for path, *both in differences
        if skill_rows.may_be_skill(path)
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
    cards = card_cache.load_cards(session, [blob for blob in blobs if blob not in missing_blobs])
    for path, _, now in differences:
        if now is not None and now.blob in missing_blobs and skill_rows.may_be_skill(path):
            cards[now.blob] = read_skill_metadata(
                file_reader.read_working_file(session.root, path), ""
            )
    return cards
