"""Finding skills in a bundle: all of them, or one by its slug."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidInput, NotFound, printable
from ..objects import bundle as bundles
from ..objects import paths, tree
from ..objects.bundle import Bundle
from ..objects.entry import LINK
from ..objects.node import Line
from ..session import Session
from ..skills import layout, version
from ..skills.card import Card
from ..skills.slug import slugify
from . import derived, lineage_cache
from .derived import SECTION
from .within import Within

if TYPE_CHECKING:
    from ..results import Skill

_HOLDING = 3
"""Names that are told because they hold what was asked for, if none is much like it."""
_AT_ONCE = 4096
"""Files that are looked at together, at least."""

_Place = tuple[str, str, bytes]
"""Path in the section, name of the place and blob of a skill."""


class Found(NamedTuple):
    """A skill of a bundle; `path` is full, `blob` that of its SKILL.md."""

    slug: str
    path: str
    blob: bytes
    card: Card

    @property
    def folder(self) -> str | None:
        """The folder of a skill that has one, with a `/` at the end; None for a flat one."""
        head, _, name = self.path.rpartition("/")
        return head + "/" if name in layout.SKILL_FILES and head != SECTION else None

    def line(self) -> Skill:
        """Return the skill as a line of the list."""
        from ..results import Skill

        return Skill(
            self.slug,
            self.card.name or self.slug,
            self.card.description,
            version.value(self.card.version),
            self.path,
        )


def every(session: Session, bundle: Bundle) -> list[Found]:
    """Return all skills of `bundle`, by path, without reading bodies."""
    return [
        Found(layout.slug_of(path), paths.join(SECTION, path), blob, card)
        for path, _, blob, card in places(session, bundle)
    ]


def places(session: Session, bundle: Bundle) -> Iterator[tuple[str, str, bytes, Card]]:
    """Yield all skills, by path, as path in the section, the name of the place, blob and card.

    Their cards are read some at a time: all at once would take much memory.
    """
    for part in _placed(session, bundle):
        cards = derived.cards(session, [blob for _, _, blob in part])
        for path, name, blob in part:
            yield path, name, blob, cards[blob]


def one(session: Session, bundle: Bundle, text: str) -> Found:
    """Return the skill that `text`, a slug, a name or a path below skills/, means.

    Raises `NotFound` (`no_skill`) with near names, or `InvalidInput`
    (`ambiguous_skill`) with the paths.
    """
    found = maybe(session, bundle, text)
    if found is None:
        raise missing(session, bundle, text)
    return found


def maybe(session: Session, bundle: Bundle, text: str) -> Found | None:
    """Return what `one` returns, or None where there is no such skill."""
    path = place(session, bundle, text)
    return None if path is None else at(session, bundle, path)


def place(session: Session, bundle: Bundle, text: str) -> str | None:
    """Return the full path of the skill that `text` means, None where there is none.

    Raises as `one`.
    """
    for candidates in _candidates(session, text):
        there = [path for path in candidates if bundles.has(session.nodes, bundle, path)]
        skills = [
            path
            for path in there
            if derived.is_skill(session, bundle, path) and _answers_to(session, bundle, path, text)
        ]
        if len(skills) > 1:
            raise InvalidInput(
                f"{printable(text)} may be any of: {', '.join(map(printable, skills))}",
                code="ambiguous_skill",
                hint="name it by its path below skills/, as in `brain skill view tools/search`",
            )
        if skills:
            return skills[0]
    return None


def _answers_to(session: Session, bundle: Bundle, path: str, text: str) -> bool:
    """Tell whether the skill at `path` is called so by its place or its name in this bundle."""
    if "/" in text:
        return True
    slug = slugify(text)
    if derived.place_of(path) == slug:
        return True
    entry = bundles.get(session.nodes, bundle, path)
    card = derived.cards(session, [entry.blob])[entry.blob] if entry else None
    return card is not None and slug in derived.slugs_of(path, card.name)


def at(session: Session, bundle: Bundle, path: str) -> Found:
    """Return the skill at the full `path`, which is one."""
    entry = bundles.get(session.nodes, bundle, path)
    if entry is None:
        raise NotFound(f"no skill at {printable(path)}", code="no_skill")
    card = derived.cards(session, [entry.blob])[entry.blob]
    return Found(layout.slug_of(paths.split(path)[1]), path, entry.blob, card)


def known_paths(session: Session, slug: str) -> list[str]:
    """Return the full paths at which a skill of that slug lies, lay or would lie."""
    usual = derived.usual_paths(slug)
    return list(dict.fromkeys([*usual, *lineage_cache.skill_paths(session, slug)]))


def paths_within(session: Session, inside: Within, slug: str) -> list[str]:
    """Return those `known_paths` at which a skill of that slug lies or lay in one lineage.

    The usual ones are among them in any case. In another lineage, such as one that was
    undone, another skill may have had a path that is of no concern to this one.
    """
    usual = derived.usual_paths(slug)
    return [
        path
        for path in known_paths(session, slug)
        if path in usual
        or any(
            slug in row.slugs and row.snapshot in inside
            for row in lineage_cache.log_of(session, path)
        )
    ]


def _candidates(session: Session, text: str) -> list[list[str]]:
    """Paths to look at, in the order of how well they fit: own slug first, names second."""
    if "/" in text:
        return [[f"skills/{text}/SKILL.md"], [f"skills/{text}.md", f"skills/{text}"]]
    slug = slugify(text)
    places = known_paths(session, slug)
    own = [path for path in places if layout.slug_of(paths.split(path)[1]) == slug]
    return [own, [path for path in places if path not in own]]


def missing(session: Session, bundle: Bundle, text: str) -> NotFound:
    """Return the error for a skill that is not there, with the names that are near."""
    from ..skills.near import closest

    names = {name: path for part in _placed(session, bundle) for path, name, _ in part}
    like = closest(text, names) or islice((name for name in names if text in name), _HOLDING)
    near = [layout.slug_of(names[name]) for name in like]
    return NotFound(
        f"no skill {printable(text)}",
        code="no_skill",
        hint=f"did you mean {', '.join(near)}?" if near else "see `brain skill list`",
    )


def _placed(session: Session, bundle: Bundle) -> Iterator[list[_Place]]:
    """Yield all skills, some at a time and by path, without looking into them."""
    for part in _parts(session, bundle):
        names = layout.skill_paths(line[0] for line in part)
        # A link is no skill, but may keep the files beside it from being some.
        yield [
            (path, names[path], blob)
            for path, kind, blob, _ in part
            if path in names and kind != LINK
        ]


def _parts(session: Session, bundle: Bundle) -> Iterator[list[Line]]:
    """Yield the files below skills/, by path, some at a time and no top folder in two parts."""
    part: list[Line] = []
    for node in tree.leaves(session.nodes.glance, bundle.get(SECTION)):
        part += node.entries
        if len(part) < _AT_ONCE:
            continue
        folder, slash, _ = part[-1][0].partition("/")
        cut = bisect_left(part, (folder + slash,)) if slash else len(part)
        if cut:
            yield part[:cut]
            del part[:cut]
    if part:
        yield part
