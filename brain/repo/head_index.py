"""Bring the cache up to date after a transaction; build the index lines, or update cached ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

from ..errors import NotFound
from ..objects import bundle as bundles
from ..objects.bundle import Bundle
from ..objects.tree_diff import Difference
from ..objects.tree_node import LINK, TreeEntry
from ..skills import index_lines, index_text
from ..skills.skill_address import address_group
from ..skills.skill_metadata import SkillMetadata
from . import derive, find_skill, lineage_cache
from .derive import SkillPredicate
from .derived_db import CacheUnusable, StagedDerivation
from .find_skill import PathFinder
from .index_cache import (
    IndexCacheHeader,
    IndexLines,
    build_from_skills,
    build_header,
    decode_index_header,
    is_built_from,
    read_cached_index,
)
from .lineage_cache import is_cached, load_cards
from .session import Session

_MIN_REWRITE_LINES = 256
_REWRITE_DIVISOR = 32
"""One line in this many may change, and at least the minimum, before the text is rewritten."""
_MAX_DIFF_DIVISOR = 4
"""If more than one path in this many changed, the lines are built from all cards."""
_LineChanges = tuple[list[bytes], list[bytes]]
"""The removed lines and the new ones."""
_AddressedSkill = tuple[str, str, bytes]
"""The slug, the address and the blob of a skill."""


def write_staged_updates(session: Session) -> None:
    """Write to the cache what the transaction that just ended staged for it.

    A snapshot whose parents are not cached is left out; the next reader catches up.
    """
    staged, session.staged_updates = list(session.staged_updates.values()), {}
    if not staged and not session.new_cards:
        return
    snapshots = [session.load_snapshot(update.derived.snapshot) for update in staged]
    if any(snapshot.operation[0] == "redact" for snapshot in snapshots):
        session.clear_cache()  # it may hold redacted text
        session.new_cards.clear()
        return
    try:
        with session.cache.transaction():
            session.cache.put_metadata(session.new_cards.items())
            session.new_cards.clear()
            for update, snapshot in zip(staged, snapshots, strict=True):
                if all(is_cached(session, parent) for parent in snapshot.parents):
                    session.cache.put_snapshots([update.derived])
                    session.snapshots_in_cache.add(update.derived.snapshot)
                    _update_cached_index(session, update)
    except CacheUnusable:
        session.use_memory_cache()


def _update_cached_index(session: Session, staged: StagedDerivation) -> None:
    header = decode_index_header(session.cache.read_index_note())
    changed = staged.changed
    if (
        header is not None
        and header.bundle_id == bundles.bundle_id(staged.before)
        and len(changed) <= _max_changed_paths(header)
    ):
        find_unusual = session.cache.find_skill_paths  # the snapshot is in the cache by now
        lines = _changed_lines(session, staged.before, staged.after, changed, find_unusual)
        _apply_changes(session, header, staged.after, lines)


def build_index_lines(
    session: Session, bundle: Bundle, found: tuple[IndexCacheHeader, IndexLines] | None
) -> IndexLines:
    """Return the lines of a bundle, derived from those `found` in the cache if that is faster.

    Those of the head are cached.
    """
    found_changes = found and _diff_skills(session, found[0], bundle)
    if found is None or found_changes is None:
        lines = build_from_cards(session, bundle)
        _cache_if_head(session, bundle, lambda: _write_index(session, bundle, lines))
        return lines
    header, lines = found
    before, changed = found_changes
    find_unusual = partial(lineage_cache.find_nonstandard_paths, session)
    gone, new = _changed_lines(session, before, bundle, changed, find_unusual)
    _cache_if_head(session, bundle, lambda: _apply_changes(session, header, bundle, (gone, new)))
    return IndexLines(
        index_text.change_pages(lines.pages, gone, new), lines.line_count - len(gone) + len(new)
    )


def _cache_if_head(session: Session, bundle: Bundle, write: Callable[[], None]) -> None:
    if bundle == session.bundle_of(session.head()):
        with suppress(CacheUnusable), session.cache.transaction():
            write()


def is_cached_index_valid(session: Session) -> bool:
    """Tell whether the cached index, if any, follows from the files of its tree."""
    found = read_cached_index(session)
    if found is None:
        return not session.cache.read_index_note()
    try:
        bundle = found[0].load_bundle(session)
        return is_built_from(session, found[1], find_skill.iter_skills(session, bundle))
    except NotFound:  # it is of a tree of another copy of the brain
        return True


def build_from_cards(session: Session, bundle: Bundle) -> IndexLines:
    """Return the lines of all skills of a bundle, built from their cards."""
    return build_from_skills(session, find_skill.iter_skills(session, bundle))


def _apply_changes(
    session: Session, header: IndexCacheHeader, after: Bundle, changes: _LineChanges
) -> None:
    if decode_index_header(session.cache.read_index_note()) != header:  # another process updated it
        return
    gone, new = changes
    lines = header.line_count - len(gone) + len(new)
    now = build_header(after, lines, header.page_count, header.changed_lines + len(gone) + len(new))
    if now.changed_lines <= max(_MIN_REWRITE_LINES, lines // _REWRITE_DIVISOR):
        rows = [index_text.encode_line_change(gone, new)] if gone or new else []
        session.cache.append_index_text(now.encode(), rows)
        return
    found = read_cached_index(session)
    if found is None:
        _write_index(session, after, build_from_cards(session, after))
    else:
        _write_index(
            session, after, IndexLines(index_text.change_pages(found[1].pages, gone, new), lines)
        )


def _write_index(session: Session, bundle: Bundle, lines: IndexLines) -> None:
    header = build_header(bundle, lines.line_count, len(lines.pages), 0)
    session.cache.replace_index_text(header.encode(), lines.pages)


def _diff_skills(
    session: Session, header: IndexCacheHeader, bundle: Bundle
) -> tuple[Bundle, list[Difference]] | None:
    """Return the bundle of the header, and the changes of possible skills since; None for many."""
    most = _max_changed_paths(header)
    try:
        before = header.load_bundle(session)
        differences = bundles.diff_bundles(session.nodes, before, bundle)
        skills = (pair for pair in differences if derive.may_be_skill(pair.path))
        changed = list(islice(skills, most + 1))
    except NotFound:  # its tree was collected
        return None
    return (before, changed) if len(changed) <= most else None


def _max_changed_paths(header: IndexCacheHeader) -> int:
    return max(_MIN_REWRITE_LINES, header.line_count // _MAX_DIFF_DIVISOR)


def _changed_lines(
    session: Session,
    before: Bundle,
    after: Bundle,
    changed: list[Difference],
    find_unusual: PathFinder,
) -> _LineChanges:
    """Return the lines that differ: of changed skills, and of those that get another address.

    `find_unusual` is `find_nonstandard_paths`; it must know the skills of `after`.
    """
    if all(_has_same_line(session.loaded_cards, pair) for pair in changed):
        return [], []
    blobs = [e.blob for _, *both in changed for e in both if e and e.kind != LINK]
    cards = load_cards(session, blobs)
    seen = [pair for pair in changed if not _has_same_line(cards, pair)]
    if any(was is None or now is None for _, was, now in changed):
        seen += derive.find_reclassified(session, after, changed, {path for path, _, _ in seen})
    if not seen:
        return [], []
    is_old, is_new = derive.build_skill_predicates(session, before, after, seen)
    old = _list_skill_blobs([(path, was) for path, was, _ in seen], is_old)
    new = _list_skill_blobs([(path, now) for path, _, now in seen], is_new)
    paths_by_slug: dict[str, list[str]] = {}
    for path in {**old, **new}:
        paths_by_slug.setdefault(derive.slug_from_full_path(path), []).append(path)
    # These did not change, and the nodes of the tree before are in memory already.
    sharing = find_skill.find_sharing_paths(session, before, paths_by_slug, find_unusual)
    gone: list[_AddressedSkill] = []
    made: list[_AddressedSkill] = []
    for slug, changed_paths in paths_by_slug.items():
        others = sharing[slug]
        was = address_group(slug, [*others, *(path for path in changed_paths if path in old)])
        now = address_group(slug, [*others, *(path for path in changed_paths if path in new)])
        moved = {
            path: entry.blob
            for path in others
            if was[path] != now[path] and (entry := bundles.get_entry(session.nodes, before, path))
        }
        for path in (*changed_paths, *moved):
            if blob := old.get(path) or moved.get(path):
                gone.append((slug, was[path], blob))
            if blob := new.get(path) or moved.get(path):
                made.append((slug, now[path], blob))
    lines = _render_lines(session, [*gone, *made])
    return lines[: len(gone)], lines[len(gone) :]


def _list_skill_blobs(
    found: Iterable[tuple[str, TreeEntry | None]], is_skill: SkillPredicate
) -> dict[str, bytes]:
    return {path: e.blob for path, e in found if e and e.kind != LINK and is_skill(path)}


def _has_same_line(cards: Mapping[bytes, SkillMetadata], pair: Difference) -> bool:
    """Tell from loaded cards whether the index line of a file is certainly unchanged."""
    _, was, now = pair
    if was is None or now is None or was.kind == LINK or now.kind == LINK:
        return False
    old, new = cards.get(was.blob), cards.get(now.blob)
    return old is not None and new is not None and old[:2] == new[:2]


def _render_lines(session: Session, skills: Sequence[_AddressedSkill]) -> list[bytes]:
    cards = load_cards(session, [blob for _, _, blob in skills])
    named = []
    for slug, address, blob in skills:
        card = cards[blob]
        named.append((address, index_lines.differing_name(slug, card.name), card.description))
    return [line.encode() for line in index_lines.format_lines(named)]
