"""Check that the user's cache follows from the objects of the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from ..errors import FormatError, NotFound, StoreError, printable_text
from ..repo import derive
from ..repo.derive import SkillWithCard
from ..repo.derived_db import CacheUnusable, Fact
from ..repo.session import Session
from ..skills.skill_metadata import encode_skill_metadata, read_skill_metadata

_CARDS_PER_BATCH = 4096

_WRONG_INDEX = "the cached index differs from the skills"

CardCheck = Callable[[bytes, bytes], bool]
"""Tells, given a blob and its content, whether the cached card of the blob is wrong."""
CacheDeviation = tuple[bytes, str]
"""The snapshot that the cache is wrong about, b"" if none, and a message."""


def build_card_check(session: Session) -> CardCheck:
    """Return a predicate that finds blobs whose cached card differs from their content's."""
    try:
        cached = dict(session.cache.list_metadata())
    except (CacheUnusable, FormatError, NotFound, StoreError):  # the brain has no readable id
        cached = {}

    def differs(blob: bytes, content: bytes) -> bool:
        card = cached.get(blob)
        return card is not None and card != encode_skill_metadata(read_skill_metadata(content, ""))

    return differs


def card_deviations(wrong: Iterable[bytes]) -> Iterator[CacheDeviation]:
    """Yield a deviation for each blob whose cached card is wrong."""
    for blob in wrong:
        yield b"", f"the cached card of blob {blob.hex()} differs from its content"


def find_cache_deviations(session: Session) -> Iterator[CacheDeviation]:
    """Yield where the cache deviates from the objects, cards aside.

    Histories of skills, decisions, merges, names and the index are derived anew and compared; for a
    snapshot that changed very many skills, only the names of skills that still exist.
    """
    try:
        # What to check is read before the cache is listed: other writers add to both meanwhile.
        refs = set(session.reader.list_refs().values())
        roots = [root for root in refs if session.cache.has_snapshot(root)]
        has_index = bool(session.cache.read_index_state())
        names = session.cache.list_skill_names()
        yield from _check_lineages(session, roots, names)
        yield from _check_head(session, roots, has_index, names)
    except CacheUnusable as error:
        yield b"", f"the cache cannot be read: {error}"
    finally:
        session.new_cards.clear()  # a verification writes nothing, not even to the cache


def _check_head(
    session: Session, roots: Collection[bytes], has_index: bool, names: set[tuple[str, str]]
) -> Iterator[CacheDeviation]:
    """Compare the cached index and the names of the head's skills, reading cards once."""
    state, lines = session.cache.list_index_lines()
    if has_index and not state:
        yield b"", _WRONG_INDEX
    head = session.head()
    missing_names: list[str] = []

    def walk_and_note_names() -> Iterator[SkillWithCard]:
        bundle = derive.load_indexed_state(session, state) if state else session.state_of(head)
        for place in derive.walk_skills(bundle):
            path = place[0]
            if any(
                (slug, path) not in names for slug in derive.nonstandard_slugs(path, place[3].name)
            ):
                missing_names.append(path)
            yield place

    try:
        if derive.build_index_lines(session, walk_and_note_names()) != lines and state:
            yield b"", _WRONG_INDEX
    except NotFound:  # the index is of a tree that was collected
        return
    if missing_names and head in roots:
        yield b"", f"the cache lacks a name of {printable_text(missing_names[0])}"


def find_wrong_cards(session: Session) -> Iterator[bytes]:
    """Yield the stored blobs whose cached cards differ from their content's."""
    is_wrong_card = build_card_check(session)
    try:
        blobs = [blob for blob, _ in session.cache.list_metadata()]
    except CacheUnusable:
        return
    stored_blobs = sorted(set(blobs) - session.reader.find_missing(blobs))
    for start in range(0, len(stored_blobs), _CARDS_PER_BATCH):
        contents = derive.read_skill_contents(
            session, stored_blobs[start : start + _CARDS_PER_BATCH]
        )
        yield from (blob for blob, content in contents if is_wrong_card(blob, content))


def _check_lineages(
    session: Session, roots: Collection[bytes], names: set[tuple[str, str]]
) -> Iterator[CacheDeviation]:
    cached: dict[bytes, list[Fact]] = {}
    for fact in session.cache.list_facts():
        cached.setdefault(fact.snapshot, []).append(fact)
    seen: set[bytes] = set()
    queue = list(roots)
    while queue:
        snapshot_id = queue.pop()
        if snapshot_id in seen:
            continue
        seen.add(snapshot_id)
        queue += session.load_snapshot(snapshot_id).parents
        expected = derive.derive_snapshot(session, snapshot_id, brief=True)
        facts = cached.get(snapshot_id, [])
        if sorted(expected.facts) != facts or not expected.names <= names:
            yield (
                snapshot_id,
                "the cached changes of skills, its decision or merge differ from the snapshot",
            )
