"""Tell which files are skills, read their cards, and describe how a snapshot changed them.

A card is the name, description and version of a SKILL.md. Nothing here writes: cards that
had to be read from content are handed to a `KeepCards`, which `card_cache` provides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import cache

from ... import limits
from ...cache.derived_cache import CacheUnusable, SkillHistoryRow
from ...errors import InvalidInput
from ...objects import bundle as bundles
from ...objects import tree
from ...objects.bundle import Bundle
from ...objects.tree_diff import Difference
from ...objects.tree_entry import LINK, TreeEntry
from ...skills import SKILLS_SECTION, skill_layout
from ...skills.skill_metadata import (
    SkillMetadata,
    decode_skill_metadata,
    read_skill_metadata,
)
from ...skills.skill_version import compare_versions
from ...skills.slug import is_slug, is_windows_device, slugify
from ..open.session import Session

ADDED, UPGRADED, CHANGED, REMOVED = range(4)
SKILL_CHANGE_NAMES = ("added", "upgraded", "changed", "removed")

MIN_BULK_PATHS = 500
"""Number of changed paths from which on all skills of a bundle are listed at once, and one
history row is written for all changes."""
_MAX_CARDS_TO_REMEMBER = 64
"""Most cards of one call that are kept in memory: those of a change, not those of a list."""
BULK_PATH = ""
"""The path of a history row about very many paths."""

SkillPredicate = Callable[[str], bool]
"""Tells whether a full path is a skill."""
CardLoader = Callable[[Session, list[bytes]], dict[bytes, SkillMetadata]]
"""Returns the cards of SKILL.md blobs."""
KeepCards = Callable[[Session, dict[bytes, SkillMetadata]], None]
"""Keeps cards that were read from content."""
SkillWithCard = tuple[str, str, bytes, SkillMetadata]
"""A skill: its full path, the name its path gives it, its blob and its card."""


def may_be_skill(path: str) -> bool:
    """Tell cheaply whether a full path could be a skill; a superset of those that are."""
    return path.endswith(skill_layout.FOLDER_SUFFIXES) or (
        path.startswith(_SECTION_PREFIX) and path[-3:].lower() == ".md"
    )


def is_skill(session: Session, bundle: Bundle, path: str) -> bool:
    """Tell whether the full `path` is a skill in `bundle`; O(log n)."""
    return may_be_skill(path) and find_skill_name(session, bundle, path) is not None


def find_skill_name(session: Session, bundle: Bundle, path: str) -> str | None:
    """Return the name that its path gives the skill at a full path, None if it is none there."""
    section, slash, _ = path.partition("/")

    def has_any(others: Sequence[str]) -> bool:
        inner = [other[len(section + slash) :] for other in others]
        return tree.has_any_path(session.nodes, bundle.get(section), inner)

    return skill_layout.match_skill_path(path, has_any)


def find_cards(
    session: Session, blobs: Iterable[bytes], keep: KeepCards | None = None
) -> dict[bytes, SkillMetadata]:
    """Return the cards of SKILL.md blobs: from memory, the user's cache, or their content.

    Cards that were read from content are given to `keep`.
    """
    wanted = list(dict.fromkeys(blobs))
    session.drop_redacted()
    known = session.loaded_cards
    out = {blob: known[blob] for blob in wanted if blob in known}
    unknown = [blob for blob in wanted if blob not in out] if out else wanted
    if unknown:
        found = _find_cached_cards(session, unknown)
        absent = [blob for blob in unknown if blob not in found]
        read = read_cards(session, absent) if absent else {}
        found.update(read)
        if len(found) <= _MAX_CARDS_TO_REMEMBER:
            session.keep_loaded_cards(found)
        if read and keep is not None:  # clears the above if something was redacted meanwhile
            keep(session, read)
        out.update(found)
    return out


def _find_cached_cards(session: Session, blobs: list[bytes]) -> dict[bytes, SkillMetadata]:
    staged = session.new_cards
    found = {blob: staged[blob] for blob in blobs if blob in staged}
    with suppress(CacheUnusable):  # they are read from content
        found |= session.cache.read_metadata([blob for blob in blobs if blob not in found])
    return {blob: decode_skill_metadata(data, "") for blob, data in found.items()}


CONTENT_UNREAD_FLAGS = ("redacted", "too_large")
"""Flags of placeholder cards, for content that was not read; these are never cached."""


def read_cards(session: Session, blobs: list[bytes]) -> dict[bytes, SkillMetadata]:
    """Return the cards of SKILL.md blobs, from their content."""
    redacted_blobs = session.reader.find_redactions(blobs)
    contents = read_skill_contents(session, [blob for blob in blobs if blob not in redacted_blobs])
    out = {blob: read_skill_metadata(content, "") for blob, content in contents}
    redacted, too_large = CONTENT_UNREAD_FLAGS
    flags = {blob: redacted if blob in redacted_blobs else too_large for blob in blobs}
    return {blob: out.get(blob) or SkillMetadata("", "", "1", flag) for blob, flag in flags.items()}


def read_skill_contents(session: Session, blobs: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the content of SKILL.md blobs, in any order, but for those past the limit."""
    large = set(blobs)
    for blob, content in session.reader.read_small_blobs(blobs):
        large.discard(blob)
        yield blob, content
    for blob in large:
        if session.reader.blob_size(blob) <= limits.MAX_SKILL_BYTES:
            yield blob, session.reader.read_blob(blob)


def note_declared_name(session: Session, path: str, blob: bytes, name: str) -> None:
    """Note a skill whose name leads to another slug than its place.

    The key is both path and blob: the same text at two places needs a note at one of them only.
    """
    if name and name != slug_from_full_path(path):
        session.declared_names[path, blob] = name


def slug_from_full_path(path: str) -> str:
    """Return the slug of the skill at a full path, by its folder or file."""
    plain = _plain_path_slug(path)
    return plain if plain else skill_layout.slug_from_path(path)


def _plain_path_slug(path: str) -> str:
    """Return the slug of a skill right below skills/ if its name is one, else ""."""
    if not path.startswith(_SECTION_PREFIX):
        return ""
    for ending in _SKILL_PATH_ENDINGS[:2]:
        if path.endswith(ending):
            name = path[len(_SECTION_PREFIX) : -len(ending)]
            return name if is_slug(name) and not is_windows_device(name) else ""
    return ""


def build_skill_rows(
    session: Session,
    snapshot_id: bytes,
    generation: int,
    changed: list[Difference],
    is_old: SkillPredicate,
    is_new: SkillPredicate,
    load_cards: CardLoader,
) -> Iterable[SkillHistoryRow]:
    """Yield the history rows of a snapshot that changed the given full paths."""
    pairs = [
        (path, was if was and is_old(path) else None, now if now and is_new(path) else None)
        for path, was, now in changed
    ]
    blobs = [e.blob for _, *both in pairs for e in both if e and e.kind != LINK]
    known = load_cards(session, blobs)
    for path, was, now in pairs:
        if was == now:
            continue
        old = known.get(was.blob, _EMPTY_CARD) if was else None
        new = known.get(now.blob, _EMPTY_CARD) if now else None
        card = new or old or _EMPTY_CARD
        slugs = nonstandard_slugs(path, card.name)
        yield SkillHistoryRow(
            path, snapshot_id, generation, _classify_change(old, new), card.version, slugs
        )


_EMPTY_CARD = SkillMetadata("", "", "1", "")


def _classify_change(old: SkillMetadata | None, new: SkillMetadata | None) -> int:
    if old is None:
        return ADDED
    if new is None:
        return REMOVED
    return UPGRADED if compare_versions(new.version, old.version) > 0 else CHANGED


def build_skill_predicates(
    session: Session, before: Bundle, after: Bundle, changed: list[Difference]
) -> tuple[SkillPredicate, SkillPredicate]:
    """Return the skill predicates of both sides, which differ in `changed` only.

    Whether a path is a skill depends on the SKILL.md files around it. If none of these was
    added or removed, one predicate serves both sides.
    """
    was_skill = build_skill_predicate(session, before, changed)
    moved = any(path.endswith(skill_layout.SKILL_FILES) for path, _, _ in changed)
    if before and after and not moved and len(changed) < MIN_BULK_PATHS:
        return was_skill, was_skill
    return was_skill, build_skill_predicate(session, after, changed)


def find_reclassified(
    session: Session, after: Bundle, changed: Iterable[Difference], known: Set[str]
) -> Iterator[Difference]:
    """Yield unchanged files that became or ceased to be skills as a SKILL.md came or went.

    See `skill_layout`. The paths that are `known` are left out.
    """
    moved = {path for path, was, now in changed if was is None or now is None}
    found: dict[str, TreeEntry] = {}
    for path in moved:
        folder = path.rpartition("/")[0]
        if path.endswith(skill_layout.FOLDER_SUFFIXES) and folder != SKILLS_SECTION:
            for entry in bundles.walk_below(session.nodes, after, folder):
                is_flat = entry.path.count("/") == 2 and may_be_skill(entry.path)
                if is_flat or entry.path.endswith(skill_layout.FOLDER_SUFFIXES):
                    found[entry.path] = entry
    for path in sorted(found.keys() - known):
        yield Difference(path, found[path], found[path])


def build_skill_predicate(
    session: Session, bundle: Bundle, changed: list[Difference]
) -> SkillPredicate:
    """Return a predicate for the `changed` paths: whether they are skills in `bundle`."""
    if not bundle:
        return lambda path: False
    if len(changed) < MIN_BULK_PATHS:
        return cache(lambda path: is_skill(session, bundle, path))
    known = set(skill_layout.find_skill_paths(_list_section_paths(session, bundle)))
    is_elsewhere = cache(lambda path: is_skill(session, bundle, path))
    return lambda path: path in known if path.startswith(_SECTION_PREFIX) else is_elsewhere(path)


def _list_section_paths(session: Session, bundle: Bundle) -> Iterator[str]:
    for entry in bundles.walk_section(session.nodes, bundle, SKILLS_SECTION):
        yield entry.path


_SECTION_PREFIX = f"{SKILLS_SECTION}/"
_SKILL_PATH_ENDINGS = (
    f"/{skill_layout.SKILL_FILES[0]}",
    ".md",
    *(f"/{spelling}" for spelling in skill_layout.SKILL_FILES[1:]),
)


def standard_skill_paths(slug: str) -> tuple[str, ...]:
    """Return the full paths at which a skill of that slug is looked for in any case."""
    return tuple(f"skills/{slug}{ending}" for ending in _SKILL_PATH_ENDINGS)


def nonstandard_slugs(path: str, name: str) -> tuple[str, ...]:
    """Return the slugs a skill answers to but would not be looked for at its place.

    It answers to the slug of its place and to that of its name.
    """
    plain_slug = _plain_path_slug(path)
    if plain_slug and name in ("", plain_slug):
        return ()
    return tuple(slug for slug in skill_slugs(path, name) if not _is_standard_path(path, slug))


def skill_slugs(path: str, name: str) -> tuple[str, ...]:
    """Return the slugs that a skill answers to: that of its place, and that of its name."""
    path_slug = slug_from_full_path(path)
    try:
        name_slug = slugify(name) if name and name != path_slug else path_slug
    except InvalidInput:
        name_slug = path_slug
    return tuple(dict.fromkeys((path_slug, name_slug)))


def _is_standard_path(path: str, slug: str) -> bool:
    start = f"skills/{slug}"
    return path.startswith(start) and path[len(start) :] in _SKILL_PATH_ENDINGS
