"""The one door through which an agent learns: the upsert of a skill by its slug.

One transaction: read the prior version from the head, raise it, record a
snapshot of just that path, write the file. What somebody changed in that file by
hand is recorded first. Cost O(log n) in the size of the brain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..digest import EMPTY
from ..errors import Conflict, InvalidInput, printable
from ..objects import bundle as bundles
from ..objects import operation, paths
from ..objects.entry import FILE, Entry
from ..results import Upserted
from ..session import Session
from ..skills import document, layout, version
from ..skills.card import read_card
from ..skills.slug import fold, same_skill, slugify
from . import derived, find, folder
from .byhand import record_by_hand
from .given import last_version, was_given
from .turn import Turn, turn

if TYPE_CHECKING:
    from ..receipts import Receipt


Check = Callable[[bytes | None, bytes], object]
NONE_YET = "0"
"""As `base`: that there was no such skill."""


class Wish(NamedTuple):
    """What shall be written. None for `description` or `body` keeps what is there.

    `base` is the version the writer had read, `NONE_YET` if there was none, "" if unknown.
    `category` is the folder below skills/ in which a new skill goes, "" for none. `of` is the
    slug or the path of the skill that is meant, "" where its name alone is known. `check` gets
    the text before, None for a new skill, and the one to be written; what it raises ends the
    turn with nothing recorded.
    """

    name: str
    description: str | None
    body: bytes | None
    receipt: bytes | Receipt | None
    message: str
    base: str = ""
    category: str = ""
    of: str = ""
    check: Check | None = None


def upsert(session: Session, wish: Wish) -> Upserted:
    """Write a skill, always raising its version.

    Raises `InvalidInput` for a name, front matter or version that cannot be
    taken, and `Conflict` (`name_taken`) if another skill has that slug.
    """
    slug = slugify(wish.name)
    with turn(session, "upsert", f"upsert {slug}") as mine:
        slug, path, prior = prior_of(mine, wish.name, slug, wish.category, wish.of)
        return _write(mine, slug, path, prior, wish)


def upsert_if_changed(session: Session, wish: Wish) -> Upserted:
    """As `upsert`, but an identical save records nothing."""
    slug = slugify(wish.name)
    with turn(session, "upsert", f"upsert {slug}") as mine:
        slug, path, prior = prior_of(mine, wish.name, slug, wish.category, wish.of)
        if prior is None or not document.is_noop(prior, wish.description, wish.body):
            return _write(mine, slug, path, prior, wish)
        found = find.at(session, mine.bundle, path)
        current = version.value(found.card.version)
        return _outcome(mine, found.slug, found.card.name or slug, current, current, path, False)


def prior_of(
    mine: Turn, name: str, slug: str, category: str = "", of: str = ""
) -> tuple[str, str, bytes | None]:
    """Return the skill's slug, where it lies or will, and its text after changes by hand."""
    session = mine.session
    meant = of or name
    path = find.place(session, mine.bundle, meant)
    if path is None and "/" in of:
        raise find.missing(session, mine.bundle, of)
    prior = None if path is None else folder.as_recorded(session, mine.bundle, path)
    if path is None or prior is None:
        looked_at = find.known_paths(session, slug) if path is None else [path]
        if category and path is None:
            looked_at.append(_new_path(mine, slug, category))
        record_by_hand(mine, folder.edits_at(session, mine.tx, mine.bundle, looked_at))
        found = find.maybe(session, mine.bundle, meant)
        if found is None:
            path = _new_path(mine, slug, category)
            folder.check_way(session, path)
            return slug, path, None
        path, prior = found.path, session.reader.read_blob(found.blob)
    slug = derived.place_of(path)
    if not of:
        _refuse_twin(name, slug, prior)
    return slug, path, prior


def _refuse_twin(name: str, slug: str, prior: bytes) -> None:
    """Refuse a name that merely folds to the slug of another one ("C++" and "C#").

    A skill made from a name alone bears its slug as name and that name as title:
    then the title is the name it was given. One whose names lead to another slug is
    called by its place, too.
    """
    names = document.declared_names(prior)
    declared = {name for name in names - {slug} if fold(name) == slug} or names | {slug}
    if any(same_skill(name, other) for other in declared):
        return
    other = sorted(declared)[0]
    raise Conflict(
        f"{printable(name)!r} has the slug of another skill, {printable(other)!r}",
        code="name_taken",
        hint=f"write to that one by its own name, {printable(other)!r}, or choose another name",
    )


def _new_path(mine: Turn, slug: str, category: str) -> str:
    from ..manifest import load

    session = mine.session
    path = layout.new_path(slug, load(session).layout)
    if not category:
        return paths.join("skills", path)
    above = f"skills/{slugify(category)}"
    if any(bundles.has(session.nodes, mine.bundle, f"{above}/{n}") for n in layout.SKILL_FILES):
        raise Conflict(
            f"{printable(category)} is a skill itself, and no category",
            code="not_a_category",
            hint="choose another category, or none",
        )
    return f"{above}/{path}"


def _write(mine: Turn, slug: str, path: str, prior: bytes | None, wish: Wish) -> Upserted:
    if prior is None and not wish.body and not wish.description:
        raise InvalidInput(
            f"a new skill, {slug}, needs a body or a description",
            code="no_content",
            hint="give the text with -f FILE, or at least a description with -d TEXT",
        )
    new = _new_text(mine, slug, path, prior, wish)
    if wish.check is not None:
        wish.check(prior, new.content)
    done = commit_skill(mine, slug, path, new, wish.receipt, wish.message)
    if prior is not None and read_card(prior, "").name == read_card(new.content, "").name:
        return done
    from . import lookalikes

    named = lookalikes.of_new(mine.session, mine.bundle, path, wish.name)
    return done._replace(notices=[*done.notices, *named])


def _new_text(mine: Turn, slug: str, path: str, prior: bytes | None, wish: Wish) -> document.Upsert:
    current = ""
    if wish.base and (wish.base, prior) != (NONE_YET, None):
        if prior is None:
            raise Conflict(
                f"{slug} is not there any more at version {printable(wish.base)}",
                code="stale_base",
                hint=f"see `brain skill history {slug}`; without a base it is made anew",
            )
        current = find.at(mine.session, mine.bundle, path).card.version
    if prior is not None and wish.base != current:
        from .rebase import onto

        return onto(mine, slug, prior, current, wish)
    last = last_version(mine, slug) if prior is None else None
    saved = (wish.name, slug, wish.description, wish.body)
    new = document.upsert_document(prior, last, *saved)
    if prior is not None and was_given(mine, path, new.version):
        # An older text was brought back: the versions go on from the last, not from its own.
        new = document.upsert_document(prior, last_version(mine, slug), *saved)
    return new


def commit_skill(
    mine: Turn,
    slug: str,
    path: str,
    new: document.Upsert,
    receipt: bytes | Receipt | None,
    message: str,
    others: Mapping[str, Entry | None] | None = None,
) -> Upserted:
    """Record a new text of a skill, and what else of it changes, as one snapshot."""
    tx = mine.tx
    entry = _put(mine, path, new.content)
    edits = {**(others or {}), path: entry}
    evidence = tx.put_blob(receipt) if isinstance(receipt, bytes) else receipt or EMPTY
    what = operation.upsert(slug, new.previous_version or "", new.version)
    mine.commit(edits, what, message, evidence)
    mine.writes.update(edits)
    previous = version.value(new.previous_version) if new.previous_version else None
    done = _outcome(mine, slug, new.name, version.value(new.version), previous, path, True)
    from . import leaks

    found = leaks.in_skill(mine.session, mine.head, path, new.content)
    return done._replace(notices=[*leaks.in_message(mine.masked), *found])


def _put(mine: Turn, path: str, content: bytes) -> Entry:
    """Store a SKILL.md with its card; return its entry."""
    blob = mine.tx.put_blob(content)
    mine.contents[blob] = content
    derived.keep_cards(mine.session, [derived.card_row(mine.session, path, blob, content)])
    return Entry(path, FILE, blob, len(content))


def _outcome(
    mine: Turn,
    slug: str,
    name: str,
    current: int | str,
    previous: int | str | None,
    path: str,
    changed: bool,
) -> Upserted:
    head, bundle = mine.head, mine.session.load(mine.head).bundle
    return Upserted(slug, name, current, previous, path, head.hex(), bundle.hex(), changed, None)


def delete(session: Session, text: str, message: str = "") -> Upserted:
    """Remove a skill with all its files. Its version goes on from here if it comes back.

    Raises `NotFound` (`no_skill`).
    """
    with turn(session, "delete", f"delete {printable(text, 80)}") as mine:
        found = find.one(session, mine.bundle, text)
        record_by_hand(mine, folder.edits_at(session, mine.tx, mine.bundle, files_of(mine, found)))
        found = find.one(session, mine.bundle, text)
        gone: dict[str, Entry | None] = dict.fromkeys(files_of(mine, found))
        mine.commit(gone, operation.delete(found.slug, found.card.version), message)
        mine.writes.update(gone)
        current = version.value(found.card.version)
        return _outcome(mine, found.slug, found.card.name, current, current, found.path, True)


def files_of(mine: Turn, found: find.Found) -> list[str]:
    """Return the full paths of all recorded files of a skill."""
    return [entry.path for entry in entries_of(mine.session, mine.bundle, found)]


def entries_of(session: Session, bundle: bundles.Bundle, found: find.Found) -> list[Entry]:
    """Return the entries of all files of a skill."""
    if found.folder is None:
        entry = bundles.get(session.nodes, bundle, found.path)
        return [entry] if entry else []
    out = []
    for entry in bundles.walk_section(session.nodes, bundle, "skills", found.folder):
        if not entry.path.startswith(found.folder):
            break
        out.append(entry)
    return out


def revert(session: Session, text: str, to_version: str, message: str = "") -> Upserted:
    """Bring a skill, with all its files, back to what it was at a version, as a new version.

    If its folder has another name by now, that name stays.
    Raises `NotFound` (`no_skill`, `no_version`).
    """
    from .history import at_version

    with turn(session, "revert", f"revert {printable(text, 80)} to {to_version}") as mine:
        head = mine.head
        snapshot_id, then = at_version(session, head, text, to_version)
        found = find.maybe(session, mine.bundle, text)
        if found is not None:
            by_hand = folder.edits_at(session, mine.tx, mine.bundle, files_of(mine, found))
            record_by_hand(mine, by_hand)
            found = find.one(session, mine.bundle, text)
        current = found.card.version if found else last_version(mine, then.slug)
        content = session.reader.read_blob(then.blob)
        previous = version.greatest([current or then.card.version, then.card.version])
        number = version.after(previous)
        raised_text = document.set_version(content, number, then.slug)
        raised = document.Upsert(raised_text, number, previous, then.card.name or then.slug)
        others: dict[str, Entry | None] = dict.fromkeys(files_of(mine, found)) if found else {}
        old = entries_of(session, session.bundle_of(snapshot_id), then)
        places = _places(then, found)
        others.update(
            (path, entry._replace(path=path)) for entry in old for path in [places(entry.path)]
        )
        note = message or f"Revert {then.slug} to version {to_version}"
        path = places(then.path)
        return commit_skill(mine, derived.place_of(path), path, raised, None, note, others)


def _places(then: find.Found, found: find.Found | None) -> Callable[[str], str]:
    """Return where files of a skill of before go: to their places, or to those of a new name."""
    old, new = (paths.split(one.path)[1] for one in (then, found or then))
    if layout.name_of(old) == layout.name_of(new):
        return lambda path: path
    assert found is not None
    if then.folder is None:
        return lambda path: found.path
    home = found.folder or f"{found.path.rpartition('/')[0]}/{derived.place_of(found.path)}/"
    return lambda path: home + path[len(then.folder or "") :]
