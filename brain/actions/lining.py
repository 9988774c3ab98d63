"""Making the lines of the index: from all cards, or from what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from ..cache.cache import Unusable
from ..cache.staged import Staged
from ..errors import NotFound
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import EMPTY, Bundle
from ..objects.compare import Difference
from ..objects.entry import LINK, Entry
from ..session import Session
from ..skills import index, layout, sheet
from ..skills.card import Card
from . import derived, find
from .derived import SECTION, IsSkill
from .lines import Lines, Note, decode, kept, new_note, node_of

_FEWEST = 256
_SHARE = 32
"""One line in so many, and at least the fewest, may change before the text is written anew."""
_MOST = 4
"""If more than one path in so many changed, the lines are rather made from all cards."""

_AT_ONCE = 4096
"""Lines that are made together."""

Place = tuple[str, str, bytes, Card]
"""A skill: path in the section, name of the place, blob and card."""
_Sides = tuple[list[bytes], list[bytes]]
"""The lines that are gone, and the new ones."""


def advance(session: Session, staged: Staged) -> None:
    """Bring the sheet from the tree before a new snapshot to the one after, if it is of that."""
    note = decode(session.cache.sheet_note())
    changed = staged.changed
    if note is not None and note.node == node_of(staged.before) and len(changed) <= _most(note):
        _advance(session, note, staged.after, changed)


def made(session: Session, bundle: Bundle, found: tuple[Note, Lines] | None) -> Lines:
    """Return the lines of a bundle, going by those `found` in the cache where that is less.

    Those of the head are kept.
    """
    changed = found and _changed(session, found[0], bundle)
    if found is None or changed is None:
        lines = from_cards(session, bundle)
        _keep(session, bundle, lambda: _put(session, bundle, lines))
        return lines
    note, lines = found
    gone, new = _sides(session, note.bundle, bundle, changed)
    _keep(session, bundle, lambda: _advance(session, note, bundle, changed))
    return Lines(sheet.change(lines.sheet, gone, new), lines.total - len(gone) + len(new))


def _keep(session: Session, bundle: Bundle, write: Callable[[], None]) -> None:
    """Write the sheet of the head to the cache, if it takes it: it can be made anew."""
    if node_of(bundle) == node_of(session.bundle_of(session.head())):
        with suppress(Unusable), session.cache.changing():
            write()


def is_sound(session: Session) -> bool:
    """Tell whether the sheet that is kept, if any, is what follows from the files of its tree."""
    found = kept(session)
    if found is None:
        return not session.cache.sheet_note()
    try:
        return is_made_of(session, found[1], find.places(session, found[0].bundle))
    except NotFound:  # it is of a tree that only another copy of the brain has
        return True


def is_made_of(session: Session, lines: Lines, places: Iterable[Place]) -> bool:
    """Tell whether these are the lines of skills, given as `find.places` yields them."""
    right = _made_of(session, places)
    return (lines.total, b"".join(lines.sheet)) == (right.total, b"".join(right.sheet))


def from_cards(session: Session, bundle: Bundle) -> Lines:
    """Return the lines of all skills of a bundle, made from their cards."""
    return _made_of(session, find.places(session, bundle))


def _made_of(session: Session, places: Iterable[Place]) -> Lines:
    pages = sheet.build(_every(session, places))
    return Lines(pages, sum(page.count(b"\n") for page in pages))


def _every(session: Session, places: Iterable[Place]) -> Iterator[bytes]:
    """Yield the lines of skills, made many at a time, which is faster, and not all."""
    skills = ((card.name or name, card.description) for _, name, _, card in places)
    done = 0
    while some := list(islice(skills, _AT_ONCE)):
        done += len(some)
        session.report("index", done, 0)
        yield from (line.encode() for line in index.lines(some))


def _advance(session: Session, note: Note, after: Bundle, changed: list[Difference]) -> None:
    if decode(session.cache.sheet_note()) != note:  # another process brought it along
        return
    gone, new = _sides(session, note.bundle, after, changed)
    lines = note.lines - len(gone) + len(new)
    now = new_note(after, lines, note.pages, note.changed + len(gone) + len(new))
    if now.changed <= max(_FEWEST, lines // _SHARE):
        rows = [sheet.encode_change(gone, new)] if gone or new else []
        session.cache.add_to_sheet(now.encode(), rows)
        return
    found = kept(session)
    if found is None:
        _put(session, after, from_cards(session, after))
    else:
        _put(session, after, Lines(sheet.change(found[1].sheet, gone, new), lines))


def _put(session: Session, bundle: Bundle, lines: Lines) -> None:
    note = new_note(bundle, lines.total, len(lines.sheet), 0)
    session.cache.put_sheet(note.encode(), lines.sheet)


def _changed(session: Session, note: Note, bundle: Bundle) -> list[Difference] | None:
    """Return what differs from the tree of the sheet, None if it is too much to go by."""
    most = _most(note)
    skills = {SECTION: bundle[SECTION]} if SECTION in bundle else EMPTY
    try:
        changed = list(islice(bundles.compare(session.nodes, note.bundle, skills), most + 1))
    except NotFound:  # what it stood on was collected
        return None
    if len(changed) > most:
        return None
    return [pair for pair in changed if derived.may_be_skill(pair.path)]


def _most(note: Note) -> int:
    return max(_FEWEST, note.lines // _MOST)


def _sides(session: Session, before: Bundle, after: Bundle, changed: list[Difference]) -> _Sides:
    """Return the lines that `changed` paths took away, and those they brought."""
    if all(_is_alike(session.cards, pair) for pair in changed):
        return [], []
    blobs = [e.blob for _, *both in changed for e in both if e and e.kind != LINK]
    cards = derived.cards(session, blobs)
    seen = [pair for pair in changed if not _is_alike(cards, pair)]
    if any(was is None or now is None for _, was, now in changed):
        seen += derived.unsettled(session, after, changed, {path for path, _, _ in seen})
    if not seen:
        return [], []
    is_old, is_new = derived.classifiers(session, before, after, seen)
    return (
        _lines(session, [(path, was) for path, was, _ in seen if was], is_old),
        _lines(session, [(path, now) for path, _, now in seen if now], is_new),
    )


def _is_alike(cards: Mapping[bytes, Card], pair: Difference) -> bool:
    """Tell, by the cards at hand, whether a file is there as before, with the same line if any."""
    _, was, now = pair
    if was is None or now is None or was.kind == LINK or now.kind == LINK:
        return False
    old, new = cards.get(was.blob), cards.get(now.blob)
    return old is not None and new is not None and old[:2] == new[:2]


def _lines(session: Session, found: Sequence[tuple[str, Entry]], is_skill: IsSkill) -> list[bytes]:
    skills = [(path, e.blob) for path, e in found if e.kind != LINK and is_skill(path)]
    cards = derived.cards(session, [blob for _, blob in skills])
    named = [
        (cards[blob].name or layout.own_name(paths.split(path)[1]) or path, cards[blob].description)
        for path, blob in skills
    ]
    return [line.encode() for line in index.lines(named)]
