"""Cached data about skills: a card for each SKILL.md, and a row for each change of a skill.

For each SKILL.md a card (name, description, version) under the id of its blob, and for
each snapshot which skills it changed. A writer adds what it made, once that is stored; a
reader adds what it misses. Both go by objects that were hashed to their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from functools import cache, partial

from ... import limits
from ...cache.derived_cache import CacheUnusable, SkillHistoryRow
from ...errors import InvalidInput
from ...objects import bundle as bundles
from ...objects import paths, tree
from ...objects.bundle import Bundle
from ...objects.tree_diff import Difference
from ...objects.tree_entry import LINK
from ...skills import skill_layout
from ...skills.skill_metadata import (
    SkillMetadata,
    decode_skill_metadata,
    encode_skill_metadata,
    read_skill_metadata,
)
from ...skills.skill_version import compare_versions
from ...skills.slug import is_slug, is_windows_device, slugify
from ..open.session import Session

SKILLS_SECTION = "skills"

ADDED, UPGRADED, CHANGED, REMOVED = range(4)
SKILL_CHANGE_NAMES = ("added", "upgraded", "changed", "removed")

MIN_BULK_PATHS = 500
"""From so many changed paths on, skills are told from other files in one sweep, and
their log has one row for all of them."""
_MAX_CARDS_TO_CACHE = 64
"""Up to so many cards at a time are kept at hand: those of one change, not of a list."""
_CARDS_PER_BATCH = 4096
"""Cards that are made or written together."""
BULK_PATH = ""
"""Stands in the log for "very many paths"."""

SkillPredicate = Callable[[str], bool]
"""Tells whether a full path is a skill."""


def may_be_skill(path: str) -> bool:
    """Tell cheaply whether a full path could be a skill; a superset of those that are."""
    return path.startswith("skills/") and path[-3:].lower() == ".md"


def is_skill(session: Session, bundle: Bundle, path: str) -> bool:
    """Tell whether the full `path` is a skill in `bundle`; O(log n)."""
    if not may_be_skill(path):
        return False
    has_any = partial(tree.has_any_path, session.nodes, bundle.get(SKILLS_SECTION))
    return skill_layout.match_skill_path(paths.split_section(path)[1], has_any) is not None


def load_cards(session: Session, blobs: Iterable[bytes]) -> dict[bytes, SkillMetadata]:
    """Return the cards of SKILL.md blobs; what the cache does not know is read anew."""
    wanted = list(dict.fromkeys(blobs))
    session.drop_redacted()
    known = session.loaded_cards
    out = {blob: known[blob] for blob in wanted if blob in known}
    unknown = [blob for blob in wanted if blob not in out] if out else wanted
    if unknown:
        out.update(_load_cards_from_cache(session, unknown))
    return out


def _load_cards_from_cache(session: Session, blobs: list[bytes]) -> dict[bytes, SkillMetadata]:
    made = session.new_cards
    found = {blob: made[blob] for blob in blobs if blob in made}
    with suppress(CacheUnusable):  # they are read anew
        found |= session.cache.read_metadata([blob for blob in blobs if blob not in found])
    out = {blob: decode_skill_metadata(data, "") for blob, data in found.items()}
    lost = [blob for blob in blobs if blob not in out]
    if lost:
        read = read_cards(session, lost)
        of_content = (pair for pair in read.items() if pair[1].flags not in _CONTENT_UNREAD_FLAGS)
        stage_cards(session, ((blob, encode_skill_metadata(card)) for blob, card in of_content))
        out.update(read)
    if len(out) <= _MAX_CARDS_TO_CACHE:
        session.keep_loaded_cards(out)
    if session.reader is session.store:  # clears what is at hand if something was redacted
        write_staged_cards(session)
    return out


_CONTENT_UNREAD_FLAGS = ("redacted", "too_large")
"""Flags of what stands for a card where the content was not read: no function of the blob."""


def read_cards(session: Session, blobs: list[bytes]) -> dict[bytes, SkillMetadata]:
    """Return the cards of SKILL.md blobs, from their content."""
    gone = session.reader.find_redactions(blobs)
    contents = read_skill_contents(session, [blob for blob in blobs if blob not in gone])
    out = {blob: read_skill_metadata(content, "") for blob, content in contents}
    redacted, too_large = _CONTENT_UNREAD_FLAGS
    rest = {blob: redacted if blob in gone else too_large for blob in blobs}
    return {blob: out.get(blob) or SkillMetadata("", "", "1", flag) for blob, flag in rest.items()}


def read_skill_contents(session: Session, blobs: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the content of SKILL.md blobs, in any order, but for those past the limit."""
    large = set(blobs)
    for blob, content in session.reader.read_small_blobs(blobs):
        large.discard(blob)
        yield blob, content
    for blob in large:
        if session.reader.blob_size(blob) <= limits.MAX_SKILL_BYTES:
            yield blob, session.reader.read_blob(blob)


def build_card_row(session: Session, path: str, blob: bytes, content: bytes) -> tuple[bytes, bytes]:
    """Return the row of the card of a SKILL.md that is being stored."""
    card = read_skill_metadata(content, "")
    session.keep_loaded_cards({blob: card})
    note_declared_name(session, path, blob, card.name)
    return blob, encode_skill_metadata(card)


def note_declared_name(session: Session, path: str, blob: bytes, name: str) -> None:
    """Note a skill whose name leads to another slug than its place."""
    if name and name != slug_from_full_path(path):
        session.declared_names[blob] = name


def slug_from_full_path(path: str) -> str:
    """Return the slug of the skill at a full path, by its folder or file."""
    plain = _plain_path_slug(path)
    return plain if plain else skill_layout.slug_from_path(paths.split_section(path)[1])


def stage_cards(session: Session, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Keep cards, given as (blob, card), for the cache; very many are written at once."""
    session.new_cards.update(rows)
    if len(session.new_cards) >= _CARDS_PER_BATCH:
        write_staged_cards(session)


def write_staged_cards(session: Session) -> None:
    """Put the cards that were made into the cache, if it takes them: they can be made anew.

    What was redacted since its content was read is left out. The cache is asked for before
    that is: one of after a later redaction never takes them.
    """
    made, session.new_cards = session.new_cards, {}
    if made:
        cache = session.cache
        gone = session.reader.find_redactions(list(made))
        with suppress(CacheUnusable), cache.transaction():
            cache.put_metadata(pair for pair in made.items() if pair[0] not in gone)


def _plain_path_slug(path: str) -> str:
    """Return the slug of a skill right below skills/ that is called by it, else ""."""
    for ending in _SKILL_PATH_ENDINGS[:2]:
        if path.endswith(ending):
            name = path[len(SKILLS_SECTION) + 1 : -len(ending)]
            return name if is_slug(name) and not is_windows_device(name) else ""
    return ""


def build_skill_rows(
    session: Session,
    snapshot_id: bytes,
    generation: int,
    changed: list[Difference],
    is_old: SkillPredicate,
    is_new: SkillPredicate,
) -> Iterable[SkillHistoryRow]:
    """Yield the log rows of a snapshot that changed the given full paths."""
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
    """Return the `classifier` of either side, where `changed` is all that may make a difference.

    Whether a path is a skill hangs on the SKILL.md files around it, so where none of
    these came or went, one side answers for the other too.
    """
    was_skill = build_skill_predicate(session, before, changed)
    moved = any(path.endswith(skill_layout.SKILL_FILES) for path, _, _ in changed)
    if before and after and not moved and len(changed) < MIN_BULK_PATHS:
        return was_skill, was_skill
    return was_skill, build_skill_predicate(session, after, changed)


def find_reclassified(
    session: Session, after: Bundle, changed: Iterable[Difference], known: Set[str]
) -> Iterator[Difference]:
    """Yield files that are no skills any more, or only now, since others came or went.

    In a folder at the top they are, unless there is a SKILL.md; see `layout`. The paths
    that are `known` are left out.
    """
    moved = [path.split("/") for path, was, now in changed if was is None or now is None]
    folders = {
        parts[1] for parts in moved if len(parts) == 3 and parts[2] in skill_layout.SKILL_FILES
    }
    for folder in sorted(folders):
        for entry in bundles.walk_below(session.nodes, after, f"{SKILLS_SECTION}/{folder}"):
            if entry.path.count("/") == 2 and entry.path not in known:
                yield Difference(entry.path, entry, entry)


def build_skill_predicate(
    session: Session, bundle: Bundle, changed: list[Difference]
) -> SkillPredicate:
    """Return what tells whether one of the `changed` paths is a skill in `bundle`."""
    if not bundle:
        return lambda path: False
    if len(changed) < MIN_BULK_PATHS:
        return cache(lambda path: is_skill(session, bundle, path))
    known = set(list_skill_paths(session, bundle))
    return known.__contains__


def list_skill_paths(session: Session, bundle: Bundle) -> list[str]:
    """Return the full paths of all skills of `bundle`, sorted."""
    inner = [
        paths.split_section(e.path)[1]
        for e in bundles.walk_section(session.nodes, bundle, SKILLS_SECTION)
    ]
    return [
        paths.join_section(SKILLS_SECTION, path) for path in skill_layout.find_skill_paths(inner)
    ]


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
    own = _plain_path_slug(path)
    if own and name in ("", own):
        return ()
    return tuple(slug for slug in skill_slugs(path, name) if not _is_standard_path(path, slug))


def skill_slugs(path: str, name: str) -> tuple[str, ...]:
    """Return the slugs that a skill answers to: that of its place, and that of its name."""
    own = slug_from_full_path(path)
    try:
        other = slugify(name) if name and name != own else own
    except InvalidInput:
        other = own
    return tuple(dict.fromkeys((own, other)))


def _is_standard_path(path: str, slug: str) -> bool:
    """As `path in usual_paths(slug)`, without making them."""
    start = f"skills/{slug}"
    return path.startswith(start) and path[len(start) :] in _SKILL_PATH_ENDINGS
