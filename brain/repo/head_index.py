"""The index of the head in the user's cache: one line a skill, changed with the skill.

It names the bundle it is of. Lines of another revision are derived from those of the head by the
difference of the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from ..errors import NotFound
from ..objects.tree import Difference
from ..objects.tree_node import LINK
from ..skills.skill_layout import address_group
from ..skills.skill_metadata import SkillMetadata
from . import derive, lineage_cache
from .derived_db import CacheUnusable, show_lines
from .find_skill import Skills
from .lineage_cache import MAX_CHANGED_PATHS, is_cached, load_cards
from .session import BrainState, Session, StagedDerivation

_LineChanges = tuple[list[str], dict[str, str]]
"""The paths whose lines are gone or replaced, and the new lines by path."""


def write_staged_updates(session: Session) -> None:
    """Write to the cache what the transaction that just ended staged for it.

    A snapshot whose parents are not cached is left out; the next reader catches up.
    """
    staged, session.staged_updates = list(session.staged_updates.values()), {}
    if not staged and not session.new_cards:
        return
    snapshots = [session.load_snapshot(update.derived.snapshot) for update in staged]
    if any(snapshot.operation[0] == "redact" for snapshot in snapshots):
        _ = session.cache  # another one: that of before may hold redacted text
        return
    try:
        with session.cache.transaction():
            session.cache.put_metadata(session.new_cards.items())
            session.new_cards.clear()
            for update, snapshot in zip(staged, snapshots, strict=True):
                if all(is_cached(session, parent) for parent in snapshot.parents):
                    session.cache.put_snapshots([update.derived])
                    session.snapshots_in_cache.add(update.derived.snapshot)
                    _update_index(session, update)
    except CacheUnusable as error:
        session.give_up_cache(error)


def _update_index(session: Session, staged: StagedDerivation) -> None:
    before, after, changed = staged.before, staged.after, staged.changed
    if len(changed) <= MAX_CHANGED_PATHS and session.cache.read_index_state() == before.id:
        gone, lines = _changed_lines(before, after, changed)
        session.cache.put_index(after.id, lines, gone)


def build_index(state: BrainState) -> str:
    """Return the lines of all skills of a state that is not the one in the cache.

    There is no newline after the last line. Those of the head are cached.
    """
    session = state.session
    try:
        kept, lines = session.cache.list_index_lines()
    except CacheUnusable as error:
        session.give_up_cache(error)
        kept, lines = b"", {}
    changes = _find_changes(kept, state) if kept else None
    gone = None
    if changes is None:
        lines = new = derive.build_index_lines(session, Skills(state).iter())
    else:
        gone, new = changes
        lines = {path: line for path, line in lines.items() if path not in gone} | new
    if state == session.at():
        with suppress(CacheUnusable), session.cache.transaction():
            if gone is None or session.cache.read_index_state() == kept:
                session.cache.put_index(state.id, new, gone)
    return show_lines("\n".join(sorted(lines.values())))


def _find_changes(kept: bytes, after: BrainState) -> _LineChanges | None:
    """Return what changed in the lines since those of a bundle id; None for very much."""
    try:
        before = derive.load_indexed_state(after.session, kept)
        changed = derive.diff_skills(before, after, MAX_CHANGED_PATHS + 1)
    except NotFound:  # its tree was collected
        return None
    if len(changed) > MAX_CHANGED_PATHS:
        return None
    # The names in the cache must be those of the lineage of the state too.
    return lineage_cache.query_cache(
        after.session, lambda _: _changed_lines(before, after, changed)
    )


def is_index_valid(session: Session) -> bool:
    """Tell whether the index in the cache, if there is one, follows from the files of its tree."""
    if not session.cache.read_index_state():
        return True
    kept, lines = session.cache.list_index_lines()
    try:
        state = derive.load_indexed_state(session, kept) if kept else None
    except NotFound:  # it was collected
        return True
    return state is not None and lines == derive.build_index_lines(session, Skills(state).iter())


def _changed_lines(
    before: BrainState, after: BrainState, changed: list[Difference]
) -> _LineChanges:
    """Return which lines differ: of changed skills, and of those that get another address.

    The cache must have the snapshot of `after`.
    """
    session = after.session
    if all(_has_same_line(session.loaded_cards, pair) for pair in changed):
        return [], {}
    blobs = [e.blob for _, *both in changed for e in both if e and e.kind != LINK]
    cards = load_cards(session, blobs)
    seen = [pair for pair in changed if not _has_same_line(cards, pair)]
    if any(was is None or now is None for _, was, now in changed):
        known = {path for path, _, _ in seen}
        seen += derive.find_reclassified(before, after, changed, known)
    is_skill = derive.build_skill_predicate(after, seen)
    new = {path: e.blob for path, _, e in seen if e and e.kind != LINK and is_skill(path)}
    by_slug: dict[str, list[Difference]] = {}
    for pair in seen:
        by_slug.setdefault(derive.slug_from_full_path(pair.path), []).append(pair)
    sharing = Skills(after).sharing_paths(
        {slug: [pair.path for pair in pairs] for slug, pairs in by_slug.items()}
    )
    addresses: dict[str, str] = {}
    for slug, pairs in by_slug.items():
        group = [pair.path for pair in pairs if pair.path in new]
        others = sharing[slug]
        found = address_group(slug, [*others, *group])
        if not all(map(_is_edited, pairs)):  # one came or went: the others get other addresses
            group += others
            for path in others:
                if entry := after.get(path):
                    new[path] = entry.blob
        addresses.update((path, found[path]) for path in group)
    cards = load_cards(session, list(new.values()))
    skills = [(path, addresses[path], cards[blob]) for path, blob in new.items()]
    return [pair.path for pair in seen], derive.format_index_lines(skills)


def _is_edited(pair: Difference) -> bool:
    """Tell whether a file stays what it is, a skill or none, with other content."""
    _, was, now = pair
    return was is not None and now is not None and was != now and LINK not in (was.kind, now.kind)


def _has_same_line(cards: Mapping[bytes, SkillMetadata], pair: Difference) -> bool:
    """Tell from loaded cards whether the index line of a file is certainly unchanged."""
    _, was, now = pair
    old, new = cards.get(was.blob) if was else None, cards.get(now.blob) if now else None
    if not (old and new and _is_edited(pair)):
        return False
    return old[:2] == new[:2] and old.is_user_only == new.is_user_only
