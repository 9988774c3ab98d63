"""Skills whose names deceive, noticed as they are recorded.

A name in letters of two scripts, or with what nobody sees, is told with these letters; one
that is, or looks like, the name of a skill in another folder, with that skill.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..errors import InvalidInput, printable
from ..objects import bundle as bundles
from ..objects.bundle import Bundle
from ..objects.entry import LINK, Entry
from ..results import Notice
from ..session import Session
from ..skills import names, scripts
from ..skills.card import Card
from ..skills.slug import slugify
from . import derived, find

SAME = "same_name"
MOST = 1000
"""Skills of one snapshot whose names are compared with those of others."""


def notices(
    session: Session, before: Bundle, after: Bundle, edits: Mapping[str, Entry | None]
) -> list[Notice]:
    """Return what there is to say of the names of skills that these edits brought or changed.

    Of very many it is said once that they were not looked at.
    """
    changed = [
        (path, entry)
        for path, entry in edits.items()
        if entry is not None and entry.kind != LINK and derived.may_be_skill(path)
    ]
    if len(changed) > MOST:
        return [_too_many(len(changed))]
    out: list[Notice] = []
    for path, entry in changed:
        was = bundles.get(session.nodes, before, path)
        if derived.is_skill(session, after, path):
            known = derived.cards(session, [one.blob for one in (was, entry) if one is not None])
            now, old = known[entry.blob], known[was.blob] if was is not None else None
            if old is None or (old.name, _hides(old)) != (now.name, _hides(now)):
                out += _of_skill(session, after, path, now)
    return out


def at_head(session: Session, paths: Iterable[str]) -> list[Notice]:
    """Return what there is to say of the names of skills at full paths, as of the head."""
    bundle = session.bundle_of(session.head())
    skills = [path for path in paths if derived.is_skill(session, bundle, path)]
    if len(skills) > MOST:
        return [_too_many(len(skills))]
    found = [find.at(session, bundle, path) for path in skills]
    return [notice for one in found for notice in _of_skill(session, bundle, one.path, one.card)]


def of_new(session: Session, bundle: Bundle, path: str, given: str) -> list[Notice]:
    """Return what there is to say of a skill that was made, or renamed, under the name `given`."""
    card = find.at(session, bundle, path).card
    return list(dict.fromkeys((*_doubts(path, given), *_of_skill(session, bundle, path, card))))


def _of_skill(session: Session, bundle: Bundle, path: str, card: Card) -> Iterator[Notice]:
    name = card.name or derived.place_of(path)
    yield from _doubts(path, name)
    if _hides(card):
        yield Notice(names.HIDDEN, path, names.said_hidden(name))
    for other in _others(session, bundle, path, name):
        yield Notice(SAME, path, same_words(name, [other]))


def _too_many(skills: int) -> Notice:
    message = f"the names of {skills} skills were not compared: run `brain skill check`"
    return Notice("names_not_compared", "", message)


def _doubts(path: str, name: str) -> Iterator[Notice]:
    for code, message in names.doubts(name):
        yield Notice(code, path, message)


def same_words(name: str, others: Iterable[str]) -> str:
    """Say that a name is, or looks like, that of skills at these paths."""
    return f"is called {printable(name)}, as is {', '.join(map(printable, others))}"


def _others(session: Session, bundle: Bundle, path: str, name: str) -> Iterator[str]:
    """Yield the first other skill that people may take for the one at `path`."""
    looked_at = dict.fromkeys(
        there
        for slug in _slugs(name)
        for there in find.known_paths(session, slug)
        if there != path and bundles.has(session.nodes, bundle, there)
    )
    for there in looked_at:
        if derived.is_skill(session, bundle, there):
            called = find.at(session, bundle, there).card.name or derived.place_of(there)
            if names.look_alike(name, called):
                yield there
                return


def _slugs(name: str) -> Iterator[str]:
    for form in dict.fromkeys((name, scripts.as_latin(name))):
        try:
            yield slugify(form)
        except InvalidInput:  # such a name nobody finds a skill by
            continue


def _hides(card: Card) -> bool:
    return names.HIDDEN in card.flags.split()
