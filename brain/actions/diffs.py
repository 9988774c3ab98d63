"""What changed: paths, renames, and skills in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import Bundle
from ..objects.compare import Difference
from ..objects.entry import LINK, Entry
from ..results import Change, Diff, SkillChange
from ..session import Session
from ..skills import layout, version
from ..skills.card import Card, read_card
from ..skills.version import compare as compare_versions
from . import derived
from .revisions import resolve


def between(session: Session, from_: str, to: str) -> Diff:
    """Compare two revisions; cost grows with the changes alone."""
    old, new = resolve(session, from_), resolve(session, to)
    before, after = session.bundle_of(old), session.bundle_of(new)
    found = list(bundles.compare(session.nodes, before, after))
    cards = derived.cards(session, _skill_blobs(found))
    return Diff(old.hex(), new.hex(), changes(found), _skills(session, before, after, found, cards))


def with_folder(session: Session, from_: str | None = None) -> Diff:
    """Compare a revision, the head if none is given, with the folder.

    A proposal has none: what is proposed stands for it, and where it begins for the head.
    """
    from . import folder

    if not session.has_folder:
        return between(session, from_ or session.base().hex(), session.head().hex())
    old = resolve(session, from_ or "@")
    before = session.bundle_of(old)
    seen = folder.look(session)
    edits = folder.edits(session, seen, before, folder.hashed(session, seen.found.changed))
    found = _differences(session, before, edits)
    after = bundles.update(session.nodes, before, edits)
    skills = _skills(session, before, after, found, _cards_of_folder(session, found))
    session.nodes.dropped()
    return Diff(old.hex(), "", changes(found), skills)


def being_recorded(session: Session, before: Bundle, edits: Mapping[str, Entry | None]) -> Told:
    """Return what edits change whose content the open transaction holds."""
    found = _differences(session, before, edits)
    after = bundles.update(session.nodes, before, edits)
    cards = derived.cards(session, _skill_blobs(found))
    return Told(changes(found), _skills(session, before, after, found, cards))


class Told(NamedTuple):
    """What differs: by path, and of skills."""

    changes: list[Change]
    skills: list[SkillChange]


def _differences(
    session: Session, before: Bundle, edits: Mapping[str, Entry | None]
) -> list[Difference]:
    return [
        Difference(path, bundles.get(session.nodes, before, path), entry)
        for path, entry in sorted(edits.items())
    ]


def changes(found: list[Difference]) -> list[Change]:
    """Return differences as changes; a path gone and one come with equal content are a rename."""
    gone: dict[tuple[bytes, int], list[str]] = {}
    for path, was, now in found:
        if was is not None and now is None:
            gone.setdefault((was.blob, was.kind), []).append(path)
    sources: dict[str, str] = {}
    for path, was, now in found:
        if was is None and now is not None and gone.get((now.blob, now.kind)):
            sources[path] = gone[now.blob, now.kind].pop(0)
    moved = set(sources.values())
    return [
        _change(path, was, now, sources.get(path)) for path, was, now in found if path not in moved
    ]


def _change(path: str, was: Entry | None, now: Entry | None, source: str | None) -> Change:
    kind = "added" if was is None else "removed" if now is None else "modified"
    before = was.blob.hex() if was else None
    after = now.blob.hex() if now else None
    if source is not None:
        kind, before = "renamed", after
    return Change(path, paths.split(path)[0], kind, before, after, source)


class _Sides(NamedTuple):
    """The cards of a skill before and after; None where it is not there."""

    before: Card | None
    after: Card | None


def _skills(
    session: Session,
    before: Bundle,
    after: Bundle,
    found: list[Difference],
    cards: dict[bytes, Card],
) -> list[SkillChange]:
    was_skill, is_skill = derived.classifiers(session, before, after, found)
    sides: dict[str, _Sides] = {}
    touched: set[str] = set()
    for path, was, now in found:
        old = cards.get(was.blob) if was and was_skill(path) else None
        new = cards.get(now.blob) if now and is_skill(path) else None
        if old or new:
            slug = layout.slug_of(paths.split(path)[1])
            known = sides.get(slug, _Sides(None, None))
            sides[slug] = _Sides(known.before or old, known.after or new)
        elif path.startswith("skills/"):
            touched.add(path)
    out = [_skill_change(slug, *both) for slug, both in sides.items()]
    out += _by_their_files(session, after, touched, set(sides))
    return sorted(out, key=lambda change: (change.slug, change.change, change.name))


def _skill_change(slug: str, old: Card | None, new: Card | None) -> SkillChange:
    name = (new or old or Card("", "", "1", "")).name or slug
    from_version = version.value(old.version) if old else None
    to_version = version.value(new.version) if new else None
    if old is None or new is None:
        return SkillChange(
            slug, "removed" if new is None else "added", from_version, to_version, name
        )
    rises = compare_versions(new.version, old.version) > 0
    return SkillChange(slug, "upgraded" if rises else "changed", from_version, to_version, name)


def _by_their_files(
    session: Session, after: Bundle, touched: set[str], told: set[str]
) -> list[SkillChange]:
    """Skills whose SKILL.md stayed while files beside it changed."""
    owners = {owner for path in touched if (owner := _owner(session, after, path)) is not None}
    out = []
    for path in sorted(owners):
        slug = layout.slug_of(paths.split(path)[1])
        entry = bundles.get(session.nodes, after, path)
        if slug in told or entry is None:
            continue
        card = derived.cards(session, [entry.blob])[entry.blob]
        current = version.value(card.version)
        out.append(SkillChange(slug, "changed", current, current, card.name or slug))
    return out


def _owner(session: Session, bundle: Bundle, path: str) -> str | None:
    """Return the SKILL.md of the folder, at or above, that a file belongs to."""
    parts = path.split("/")[:-1]
    while len(parts) > 1:
        candidate = "/".join([*parts, "SKILL.md"])
        if bundles.get(session.nodes, bundle, candidate) is not None:
            return candidate
        parts.pop()
    return None


def _skill_blobs(found: list[Difference]) -> list[bytes]:
    return [
        entry.blob
        for path, *both in found
        if derived.may_be_skill(path)
        for entry in both
        if entry is not None and entry.kind != LINK
    ]


def _cards_of_folder(session: Session, found: list[Difference]) -> dict[bytes, Card]:
    """Cards for both sides, where the new side may lie in the folder alone."""
    from ..worktree import reading

    blobs = _skill_blobs(found)
    lost = session.reader.missing(blobs)
    cards = derived.cards(session, [blob for blob in blobs if blob not in lost])
    for path, _, now in found:
        if now is not None and now.blob in lost and derived.may_be_skill(path):
            cards[now.blob] = read_card(reading.read_whole(session.root, path), "")
    return cards
