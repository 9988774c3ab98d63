"""One skill absorbs another: text, files, and the other is gone, in one snapshot."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidInput, printable
from ..merging.absorb import absorb as merged
from ..objects import bundle as bundles
from ..objects import operation
from ..objects.bundle import Bundle
from ..objects.entry import FILE, LINK, Entry
from ..results import Absorbed
from ..session import Session
from ..skills import document, layout, parts, version
from . import derived, find, folder, lineage_cache, naming, partly
from .byhand import record_by_hand
from .find import Found
from .given import last_version, was_given
from .turn import Turn, turn
from .upsert import entries_of, files_of
from .within import Within

_VERSIONS = 64
"""So many of the last versions of each skill are looked at for a text that both once were."""


class Wish(NamedTuple):
    """Which skill absorbs which; with `body`, that is the text of both."""

    slug: str
    other: str
    description: str | None
    body: bytes | None
    message: str


def absorb(session: Session, wish: Wish) -> Absorbed:
    """Let one skill absorb another, which is removed; see `results.Absorbed`.

    What was changed or added by hand in either is recorded first. Raises `NotFound` (`no_skill`),
    `InvalidInput` (`same_skill`) or as `upsert` does.
    """
    one, other = printable(wish.slug, 80), printable(wish.other, 80)
    both = _both(session, session.bundle_of(session.head()), wish)
    partly.snapshot_of(session, "", [(skill.folder or skill.path).rstrip("/") for skill in both])
    with turn(session, "absorb", f"merge {other} into {one}") as mine:
        ours, theirs = _both(session, mine.bundle, wish)
        by_hand = [*files_of(mine, ours), *files_of(mine, theirs)]
        record_by_hand(mine, folder.edits_at(session, mine.tx, mine.bundle, by_hand))
        ours, theirs = _both(session, mine.bundle, wish)
        return _absorb(mine, ours, theirs, wish)


def _both(session: Session, bundle: Bundle, wish: Wish) -> tuple[Found, Found]:
    ours, theirs = (find.one(session, bundle, text) for text in (wish.slug, wish.other))
    if ours.path == theirs.path:
        raise InvalidInput(
            f"{printable(wish.slug)} and {printable(wish.other)} are the same skill",
            code="same_skill",
            hint="name two skills; the first one stays",
        )
    return ours, theirs


def _absorb(mine: Turn, ours: Found, theirs: Found, wish: Wish) -> Absorbed:
    session, tx = mine.session, mine.tx
    slug = derived.place_of(ours.path)
    moved, renamed = _files(mine, ours, theirs)
    path = ours.path
    if moved and ours.folder is None:
        _refuse_neighbours(mine, ours, theirs)
        path = f"{ours.path.rpartition('/')[0]}/{slug}/{layout.SKILL_FILES[0]}"
    content = session.reader.read_blob(ours.blob)
    if wish.body is None:
        content = _text(mine, ours, theirs, content, renamed)
    new = _raised(mine, ours, slug, content, wish)
    gone: dict[str, Entry | None] = {entry.path: None for entry in _own(mine, theirs, ours)}
    if path != ours.path:
        gone[ours.path] = None
    blob = tx.put_blob(new.content)
    mine.contents[blob] = new.content
    derived.keep_cards(session, [derived.card_row(session, path, blob, new.content)])
    edits = {**gone, **moved, path: Entry(path, FILE, blob, len(new.content))}
    done = operation.absorb(
        slug, new.previous_version or "", new.version, theirs.slug, theirs.card.version
    )
    note = f"Absorb {theirs.slug}, version {theirs.card.version}"
    mine.commit(edits, done, wish.message or note)
    mine.writes.update(edits)
    return Absorbed(
        slug,
        new.name,
        version.value(new.version),
        version.value(new.previous_version or version.FIRST),
        path,
        mine.head.hex(),
        session.load(mine.head).bundle.hex(),
        True,
        None,
        theirs.slug,
        version.value(theirs.card.version),
        sorted(moved),
    )


def _raised(mine: Turn, ours: Found, slug: str, content: bytes, wish: Wish) -> document.Upsert:
    """Return the text at the version after all that the skill ever had."""
    saved = (ours.card.name or slug, slug, wish.description, wish.body)
    new = document.upsert_document(content, None, *saved)
    if was_given(mine, ours.path, new.version):
        new = document.upsert_document(content, last_version(mine, slug), *saved)
    return new


def _files(
    mine: Turn, ours: Found, theirs: Found
) -> tuple[dict[str, Entry | None], dict[str, str]]:
    """Return the other's files at their new places, and new names of those that had to have one.

    A file of a name that is taken by another content gets the other's slug into its name.
    """
    session = mine.session
    target = ours.folder or f"{ours.path.rpartition('/')[0]}/{derived.place_of(ours.path)}/"
    moved: dict[str, Entry | None] = {}
    renamed: dict[str, str] = {}
    own = _own(mine, theirs, ours)
    going = {entry.path for entry in own}
    names = naming.Names()
    for entry in bundles.below(session.nodes, mine.bundle, target.rstrip("/")):
        if entry.path not in going:
            names.take(entry.path[len(target) :])
    for entry in own:
        if theirs.folder is None or entry.path == theirs.path:
            continue
        inner = entry.path[len(theirs.folder) :]
        there = bundles.get(session.nodes, mine.bundle, target + inner)
        if there is not None and (there.blob, there.kind) == (entry.blob, entry.kind):
            continue
        name = names.free(inner, theirs.slug)
        if name != inner:
            _refuse_skill(entry.path)
            renamed[inner] = name
        moved[target + name] = entry._replace(path=target + name)
    _refuse_links(own, renamed)
    return moved, renamed


def _own(mine: Turn, found: Found, but: Found) -> list[Entry]:
    """Return the files of a skill without those of another, should that be in its folder."""
    entries = entries_of(mine.session, mine.bundle, found)
    inner = but.folder
    if inner is None or found.folder is None or not inner.startswith(found.folder):
        return entries
    return [entry for entry in entries if not entry.path.startswith(inner)]


def _refuse_neighbours(mine: Turn, ours: Found, theirs: Found) -> None:
    """Refuse to make a folder of a flat skill where others lie: they would become its files."""
    folder = f"{ours.path.rpartition('/')[0]}/{derived.place_of(ours.path)}"
    own = {entry.path for entry in _own(mine, theirs, ours)}
    for entry in bundles.below(mine.session.nodes, mine.bundle, folder):
        if entry.path not in own:
            raise InvalidInput(
                f"{printable(folder)} holds other files already: {printable(entry.path)}",
                code="taken",
                hint="merge the other way round, or move them first",
            )


def _refuse_skill(path: str) -> None:
    """Refuse to give the text of a skill another name, under which it would be none."""
    if path.rpartition("/")[2] in layout.SKILL_FILES:
        raise InvalidInput(
            f"{printable(path)} is a skill of its own, and where it would go is another",
            code="taken",
            hint="move it out of the folder of the other skill first",
        )


def _refuse_links(own: list[Entry], renamed: dict[str, str]) -> None:
    """Refuse where a link might lead to another file than before."""
    links = [entry.path for entry in own if entry.kind == LINK]
    if links and renamed:
        raise InvalidInput(
            f"{printable(next(iter(renamed)))} is in both skills, and {printable(links[0])}"
            " is a link that may lead to it",
            code="taken",
            hint="rename one of the files first, and the link with it",
        )


def _text(mine: Turn, ours: Found, theirs: Found, content: bytes, renamed: dict[str, str]) -> bytes:
    session = mine.session
    mine_parts, other = (
        parts.split(text) for text in (content, session.reader.read_blob(theirs.blob))
    )
    base = _common(mine, ours, theirs)
    body = naming.rewritten(other.body, renamed)
    return merged(mine_parts, other._replace(body=body), base, theirs.card.name).join()


def _common(mine: Turn, ours: Found, theirs: Found) -> bytes | None:
    """Return the last body that both skills had, None if there is none."""
    known = set(_bodies(mine, theirs))
    return next((body for body in _bodies(mine, ours) if body.strip() and body in known), None)


def _bodies(mine: Turn, found: Found) -> list[bytes]:
    """Return the last bodies of a skill in this lineage, the newest first."""
    session, inside = mine.session, Within(mine.session, mine.head)
    rows = [row for row in lineage_cache.log_of(session, found.path) if row.snapshot in inside]
    blobs = []
    for row in reversed(rows[-_VERSIONS:]):
        entry = bundles.get(session.nodes, session.bundle_of(row.snapshot), found.path)
        if entry is not None:
            blobs.append(entry.blob)
    gone = session.reader.redacted(blobs)
    contents = dict(derived.skill_contents(session, [blob for blob in blobs if blob not in gone]))
    return [body for blob in blobs if (body := _body(contents.get(blob))) is not None]


def _body(content: bytes | None) -> bytes | None:
    try:
        return None if content is None else parts.split(content).body
    except InvalidInput:
        return None
