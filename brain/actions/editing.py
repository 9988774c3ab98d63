"""Changing one file by what it says now: of a skill, or any other.

The change is a function from the content to the new one, called while the turn is held,
so two that change a file at once do it one after the other and neither is lost. What
somebody changed in the file by hand is recorded first, and is what the function gets.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import limits
from ..errors import Conflict, InvalidInput, NotFound, printable
from ..objects import bundle as bundles
from ..objects import operation, paths
from ..objects.entry import FILE, LINK, Entry
from ..results import Recorded, Upserted
from ..session import Session
from ..skills import document, layout
from ..skills.slug import slugify
from ..worktree.named import is_left_out
from . import find, folder
from .announced import refuse_long_names
from .byhand import record_by_hand
from .given import last_version, was_given
from .partly import Edits, above, refuse_new_twins
from .record import recorded
from .revisions import resolve
from .turn import Turn, turn
from .upsert import commit_skill, prior_of

Change = Callable[[bytes | None], bytes | None]
"""Gets the content of a file and returns the new one; None where there is no file.

What it raises ends the turn with nothing recorded.
"""


def read(session: Session, path: str, revision: str = "@") -> bytes:
    """Return the content of a file at a revision.

    Raises `NotFound` (`no_path`, `redacted`) or `InvalidInput` (`too_large`).
    """
    bundle = session.bundle_of(resolve(session, revision))
    entry = bundles.get(session.nodes, bundle, paths.check(path))
    if entry is None:
        raise NotFound(f"no file {printable(path)}", code="no_path")
    return content(session, entry)


def edit_file(session: Session, path: str, change: Change, message: str = "") -> Recorded:
    """Change a file; if the change changes nothing, there is no new snapshot for it.

    Raises `InvalidInput` or `Conflict` for a path where a brain cannot hold a file, and
    what `change` raises.
    """
    _check_path(session, path)
    with turn(session, "snapshot", message or "snapshot") as mine:
        edits = _edits(mine, path, change)
        before = mine.bundle
        if edits:
            mine.commit(edits, operation.snapshot(), message)
            refuse_new_twins(mine, before, [path for path, entry in edits.items() if entry])
            mine.writes.update(edits)
    return recorded(mine, before, edits, [])


def edit_skill(
    session: Session, text: str, inner: str, change: Change, message: str = ""
) -> Upserted:
    """Change a file of a skill, or with `inner` "" its own text, and raise its version.

    `inner` is relative to the folder of the skill; a flat skill that gets its first file
    moves into a folder of its own. Raises as `edit_file`, and `NotFound` (`no_skill`).
    """
    with turn(session, "upsert", f"edit {printable(text, 80)}") as mine:
        slug = "" if "/" in text else slugify(text)
        slug, path, prior = prior_of(mine, text, slug, of=text)
        if prior is None:
            raise find.missing(session, mine.bundle, text)
        if not inner:
            new = _raised(mine, slug, path, prior, change(prior) or b"")
            return commit_skill(mine, slug, path, new, None, message)
        home, edits = _at_home(mine, path)
        file = f"{home}/{inner}"
        _check_path(session, file)
        if file.rpartition("/")[2] in layout.SKILL_FILES:
            raise InvalidInput(f"{printable(inner)} would be a skill itself", code="bad_path")
        edits.update(_edits(mine, file, change))
        new = _raised(mine, slug, path, prior, prior)
        before = mine.bundle
        main = f"{home}/{layout.SKILL_FILES[0]}" if path in edits else path
        done = commit_skill(mine, slug, main, new, None, message, edits)
        refuse_new_twins(mine, before, [main, file])
        return done


def _edits(mine: Turn, path: str, change: Change) -> Edits:
    """Record what was changed at `path` by hand; return what leads from there to the new file."""
    session = mine.session
    now = folder.as_recorded(session, mine.bundle, path)
    if now is None:
        record_by_hand(mine, folder.edits_at(session, mine.tx, mine.bundle, [path]))
    was = bundles.get(session.nodes, mine.bundle, path)
    if was is not None and was.kind == LINK:
        raise InvalidInput(f"{printable(path)} is a link", code="not_regular")
    if was is not None and now is None:
        now = content(session, was)
    new = change(now)
    if new == now:
        return {}
    if new is None:
        return {path: None}
    _check_place(mine, path)
    blob = mine.tx.put_blob(new)
    mine.contents[blob] = new
    return {path: Entry(path, was.kind if was else FILE, blob, len(new))}


def content(session: Session, entry: Entry) -> bytes:
    """Return the content of a file that is not too large. Raises as `read`."""
    if entry.size > limits.MAX_EDITED_BYTES:
        raise InvalidInput(
            f"{printable(entry.path)} has {entry.size} bytes",
            code="too_large",
            hint=f"files of up to {limits.MAX_EDITED_BYTES} bytes are read as a whole",
        )
    return session.reader.read_blob(entry.blob, entry.size)


def _raised(mine: Turn, slug: str, path: str, prior: bytes, text: bytes) -> document.Upsert:
    new = document.replaced(prior, None, slug, text)
    if was_given(mine, path, new.version):
        return document.replaced(prior, last_version(mine, slug), slug, text)
    return new


def _at_home(mine: Turn, path: str) -> tuple[str, Edits]:
    """Return the folder of a skill, and what has to happen for it to be there.

    Raises `Conflict` (`path_conflict`) for a flat skill beside a folder of its name.
    """
    session = mine.session
    home, _, name = path.rpartition("/")
    if name.lower() == "skill.md":
        return home, {}
    home = path[: -len(".md")]
    main = f"{home}/{layout.SKILL_FILES[0]}"
    in_use = any(True for _ in bundles.below(session.nodes, mine.bundle, home))
    if in_use or (session.has_folder and folder.candidate_at(session, main) is not None):
        raise Conflict(
            f"{printable(path)} cannot move into the folder of its name, which is in use",
            code="path_conflict",
            hint="write the text of the file into the skill itself",
        )
    return home, {path: None}


def _check_path(session: Session, path: str) -> None:
    """Refuse a path that the brain leaves out, or that leads through a link.

    Raises `InvalidInput` (`bad_path`, `left_out`, `name_too_long`, `unsafe_path`, …).
    """
    if is_left_out(session.root, paths.check(path)):
        raise InvalidInput(
            f"files such as {printable(path)} are left out of a brain",
            code="left_out",
            hint="choose another name",
        )
    refuse_long_names(session, [path])
    folder.check_way(session, path)


def _check_place(mine: Turn, path: str) -> None:
    """Refuse a file where the head has a folder, or below what is a file there."""
    nodes, bundle = mine.session.nodes, mine.bundle
    inside = any(entry.path != path for entry in bundles.below(nodes, bundle, path))
    if inside or any(bundles.get(nodes, bundle, outer) is not None for outer in above(path)):
        raise Conflict(
            f"{printable(path)} cannot be both a file and a folder",
            code="path_conflict",
            hint="choose another name",
        )
