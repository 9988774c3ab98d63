"""Finding skills in a bundle: all of them, or one by its slug."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidInput, NotFound, printable
from ..objects import bundle as bundles
from ..objects import paths, tree
from ..objects.bundle import Bundle
from ..objects.entry import LINK
from ..session import Session
from ..skills import layout, version
from ..skills.card import Card
from ..skills.slug import slugify
from . import derived
from .derived import SECTION

if TYPE_CHECKING:
    from ..results import Skill


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
        return head + "/" if name.lower() == "skill.md" else None

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
    """Yield all skills as path in the section, the name of the place, blob and card."""
    blobs, names = placed(session, bundle)
    cards = derived.cards(session, map(blobs.__getitem__, names))
    for path, name in names.items():
        blob = blobs[path]
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
        skills = [path for path in there if derived.is_skill(session, bundle, path)]
        if len(skills) > 1:
            raise InvalidInput(
                f"{printable(text)} may be any of: {', '.join(map(printable, skills))}",
                code="ambiguous_skill",
                hint="name it by its path below skills/, as in `brain skill view tools/search`",
            )
        if skills:
            return skills[0]
    return None


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
    return list(dict.fromkeys([*usual, *session.reader.skill_paths(slug)]))


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

    names = {name: path for path, name in placed(session, bundle)[1].items()}
    near = [layout.slug_of(names[name]) for name in closest(text, names)]
    return NotFound(
        f"no skill {printable(text)}",
        code="no_skill",
        hint=f"did you mean {', '.join(near)}?" if near else "see `brain skill list`",
    )


def placed(session: Session, bundle: Bundle) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files below skills/ with their blobs, and which are skills, with their names.

    A link is none, but may keep the files beside it from being skills.
    """
    blobs: dict[str, bytes] = {}
    links = []
    for node in tree.leaves(session.nodes, bundle.get(SECTION)):
        for path, kind, blob, _ in node.entries:
            blobs[path] = blob
            if kind == LINK:
                links.append(path)
    names = layout.skill_paths(blobs)
    for path in links:
        names.pop(path, None)
    return blobs, names
