"""Derived data: what can be recomputed from the objects, kept in the user's cache to be fast.

For each SKILL.md a card (name, description, version) under the id of its blob, and for
each snapshot which skills it changed. A writer adds what it made, once that is stored; a
reader adds what it misses. Both go by objects that were hashed to their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from functools import cache, partial

from .. import limits
from ..cache.cache import SkillRow, Unusable
from ..errors import InvalidInput
from ..objects import bundle as bundles
from ..objects import paths, tree
from ..objects.bundle import Bundle
from ..objects.compare import Difference
from ..objects.entry import LINK
from ..session import Session
from ..skills import layout
from ..skills.card import Card, decode_card, encode_card, read_card
from ..skills.slug import is_device, is_slug, slugify
from ..skills.version import compare as compare_versions

SECTION = "skills"

ADDED, UPGRADED, CHANGED, REMOVED = range(4)
CHANGES = ("added", "upgraded", "changed", "removed")

BULK = 500
"""From so many changed paths on, skills are told from other files in one sweep, and
their log has one row for all of them."""
_FEW = 64
"""Up to so many cards at a time are kept at hand: those of one change, not of a list."""
_AT_ONCE = 4096
"""Cards that are made or written together."""
MANY = ""
"""Stands in the log for "very many paths"."""

IsSkill = Callable[[str], bool]
"""Tells whether a full path is a skill."""


def may_be_skill(path: str) -> bool:
    """Tell cheaply whether a full path could be a skill; a superset of those that are."""
    return path.startswith("skills/") and path[-3:].lower() == ".md"


def is_skill(session: Session, bundle: Bundle, path: str) -> bool:
    """Tell whether the full `path` is a skill in `bundle`; O(log n)."""
    if not may_be_skill(path):
        return False
    has_any = partial(tree.has_any, session.nodes, bundle.get(SECTION))
    return layout.classify(paths.split(path)[1], has_any) is not None


def cards(session: Session, blobs: Iterable[bytes]) -> dict[bytes, Card]:
    """Return the cards of SKILL.md blobs; what the cache does not know is read anew."""
    wanted = list(dict.fromkeys(blobs))
    session.follow_redactions()
    known = session.cards
    out = {blob: known[blob] for blob in wanted if blob in known}
    unknown = [blob for blob in wanted if blob not in out] if out else wanted
    if unknown:
        out.update(_cards_from_cache(session, unknown))
    return out


def _cards_from_cache(session: Session, blobs: list[bytes]) -> dict[bytes, Card]:
    made = session.new_cards
    found = {blob: made[blob] for blob in blobs if blob in made}
    with suppress(Unusable):  # they are read anew
        found |= session.cache.cards([blob for blob in blobs if blob not in found])
    out = {blob: decode_card(data, "") for blob, data in found.items()}
    lost = [blob for blob in blobs if blob not in out]
    if lost:
        read = read_cards(session, lost)
        of_content = (pair for pair in read.items() if pair[1].flags not in _NOT_OF_CONTENT)
        keep_cards(session, ((blob, encode_card(card)) for blob, card in of_content))
        out.update(read)
    if len(out) <= _FEW:
        session.keep_cards(out)
    if session.reader is session.store:  # clears what is at hand if something was redacted
        write_cards(session)
    return out


_NOT_OF_CONTENT = ("redacted", "too_large")
"""Flags of what stands for a card where the content was not read: no function of the blob."""


def read_cards(session: Session, blobs: list[bytes]) -> dict[bytes, Card]:
    """Return the cards of SKILL.md blobs, from their content."""
    gone = session.reader.redacted(blobs)
    contents = skill_contents(session, [blob for blob in blobs if blob not in gone])
    out = {blob: read_card(content, "") for blob, content in contents}
    redacted, too_large = _NOT_OF_CONTENT
    rest = {blob: redacted if blob in gone else too_large for blob in blobs}
    return {blob: out.get(blob) or Card("", "", "1", flag) for blob, flag in rest.items()}


def skill_contents(session: Session, blobs: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the content of SKILL.md blobs, in any order, but for those past the limit."""
    large = set(blobs)
    for blob, content in session.reader.read_blobs(blobs):
        large.discard(blob)
        yield blob, content
    for blob in large:
        if session.reader.blob_size(blob) <= limits.MAX_SKILL_BYTES:
            yield blob, session.reader.read_blob(blob)


def card_row(session: Session, path: str, blob: bytes, content: bytes) -> tuple[bytes, bytes]:
    """Return the row of the card of a SKILL.md that is being stored."""
    card = read_card(content, "")
    session.keep_cards({blob: card})
    note_name(session, path, blob, card.name)
    return blob, encode_card(card)


def note_name(session: Session, path: str, blob: bytes, name: str) -> None:
    """Note a skill whose name leads to another slug than its place."""
    if name and name != place_of(path):
        session.named_otherwise[blob] = name


def place_of(path: str) -> str:
    """Return the slug that its place gives a skill."""
    plain = _plain_slug(path)
    return plain if plain else layout.slug_of(paths.split(path)[1])


def keep_cards(session: Session, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Keep cards, given as (blob, card), for the cache; very many are written at once."""
    session.new_cards.update(rows)
    if len(session.new_cards) >= _AT_ONCE:
        write_cards(session)


def write_cards(session: Session) -> None:
    """Put the cards that were made into the cache, if it takes them: they can be made anew.

    What was redacted since its content was read is left out. The cache is asked for before
    that is: one of after a later redaction never takes them.
    """
    made, session.new_cards = session.new_cards, {}
    if made:
        cache = session.cache
        gone = session.reader.redacted(list(made))
        with suppress(Unusable), cache.changing():
            cache.put_cards(pair for pair in made.items() if pair[0] not in gone)


def _plain_slug(path: str) -> str:
    """Return the slug of a skill right below skills/ that is called by it, else ""."""
    for ending in _ENDINGS[:2]:
        if path.endswith(ending):
            name = path[len(SECTION) + 1 : -len(ending)]
            return name if is_slug(name) and not is_device(name) else ""
    return ""


def rows(
    session: Session,
    snapshot_id: bytes,
    generation: int,
    changed: list[Difference],
    is_old: IsSkill,
    is_new: IsSkill,
) -> Iterable[SkillRow]:
    """Yield the log rows of a snapshot that changed the given full paths."""
    pairs = [
        (path, was if was and is_old(path) else None, now if now and is_new(path) else None)
        for path, was, now in changed
    ]
    blobs = [e.blob for _, *both in pairs for e in both if e and e.kind != LINK]
    known = cards(session, blobs)
    for path, was, now in pairs:
        if was == now:
            continue
        old = known.get(was.blob, _NOTHING) if was else None
        new = known.get(now.blob, _NOTHING) if now else None
        card = new or old or _NOTHING
        slugs = unusual_slugs(path, card.name)
        yield SkillRow(path, snapshot_id, generation, _change(old, new), card.version, slugs)


_NOTHING = Card("", "", "1", "")


def _change(old: Card | None, new: Card | None) -> int:
    if old is None:
        return ADDED
    if new is None:
        return REMOVED
    return UPGRADED if compare_versions(new.version, old.version) > 0 else CHANGED


def classifiers(
    session: Session, before: Bundle, after: Bundle, changed: list[Difference]
) -> tuple[IsSkill, IsSkill]:
    """Return the `classifier` of either side, where `changed` is all that may make a difference.

    Whether a path is a skill hangs on the SKILL.md files around it, so where none of
    these came or went, one side answers for the other too.
    """
    was_skill = classifier(session, before, changed)
    moved = any(path.endswith(layout.SKILL_FILES) for path, _, _ in changed)
    if before and after and not moved and len(changed) < BULK:
        return was_skill, was_skill
    return was_skill, classifier(session, after, changed)


def unsettled(
    session: Session, after: Bundle, changed: Iterable[Difference], known: Set[str]
) -> Iterator[Difference]:
    """Yield files that are no skills any more, or only now, since others came or went.

    In a folder at the top they are, unless there is a SKILL.md; see `layout`. The paths
    that are `known` are left out.
    """
    moved = [path.split("/") for path, was, now in changed if was is None or now is None]
    folders = {parts[1] for parts in moved if len(parts) == 3 and parts[2] in layout.SKILL_FILES}
    for folder in sorted(folders):
        for entry in bundles.below(session.nodes, after, f"{SECTION}/{folder}"):
            if entry.path.count("/") == 2 and entry.path not in known:
                yield Difference(entry.path, entry, entry)


def classifier(session: Session, bundle: Bundle, changed: list[Difference]) -> IsSkill:
    """Return what tells whether one of the `changed` paths is a skill in `bundle`."""
    if not bundle:
        return lambda path: False
    if len(changed) < BULK:
        return cache(lambda path: is_skill(session, bundle, path))
    known = set(skill_paths(session, bundle))
    return known.__contains__


def skill_paths(session: Session, bundle: Bundle) -> list[str]:
    """Return the full paths of all skills of `bundle`, sorted."""
    inner = [paths.split(e.path)[1] for e in bundles.walk_section(session.nodes, bundle, SECTION)]
    return [paths.join(SECTION, path) for path in layout.skill_paths(inner)]


_ENDINGS = (
    f"/{layout.SKILL_FILES[0]}",
    ".md",
    *(f"/{spelling}" for spelling in layout.SKILL_FILES[1:]),
)


def usual_paths(slug: str) -> tuple[str, ...]:
    """Return the full paths at which a skill of that slug is looked for in any case."""
    return tuple(f"skills/{slug}{ending}" for ending in _ENDINGS)


def unusual_slugs(path: str, name: str) -> tuple[str, ...]:
    """Return the slugs a skill answers to but would not be looked for at its place.

    It answers to the slug of its place and to that of its name.
    """
    own = _plain_slug(path)
    if own and name in ("", own):
        return ()
    return tuple(slug for slug in slugs_of(path, name) if not _is_usual(path, slug))


def slugs_of(path: str, name: str) -> tuple[str, ...]:
    """Return the slugs that a skill answers to: that of its place, and that of its name."""
    own = place_of(path)
    try:
        other = slugify(name) if name and name != own else own
    except InvalidInput:
        other = own
    return tuple(dict.fromkeys((own, other)))


def _is_usual(path: str, slug: str) -> bool:
    """As `path in usual_paths(slug)`, without making them."""
    start = f"skills/{slug}"
    return path.startswith(start) and path[len(start) :] in _ENDINGS
