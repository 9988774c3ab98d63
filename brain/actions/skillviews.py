"""Reading skills: the list, one with its text, and whether they keep the rules."""

from __future__ import annotations

from .. import limits
from ..errors import NotFound, printable
from ..results import Skill, SkillFile, SkillProblem, SkillView
from ..session import Session
from ..skills import frontmatter, names
from ..skills.check import WARNING, check
from ..skills.near import closest
from . import derived, editing, find, lookalikes
from .find import Found
from .history import at_version
from .revisions import resolve
from .upsert import entries_of

_NAMED = 20
"""Files of a skill that are named where another was asked for."""


def skills(session: Session, revision: str = "@") -> list[Skill]:
    """Return all skills at a revision, by slug, without reading bodies."""
    bundle = session.bundle_of(resolve(session, revision))
    lines = [found.line() for found in find.every(session, bundle)]
    return sorted(lines, key=lambda line: (line.slug, line.path))


def _found(session: Session, text: str, revision: str) -> tuple[bytes, Found]:
    """Return the snapshot that a skill, or a version of it, is read from, and the skill."""
    slug, at, wanted = text.partition("@")
    start = resolve(session, revision)
    if at:
        return at_version(session, start, slug, wanted)
    return start, find.one(session, session.bundle_of(start), text)


def view(session: Session, text: str, revision: str = "@") -> SkillView:
    """Return one skill with its text; `text` may be SLUG@VERSION.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    snapshot_id, found = _found(session, text, revision)
    files = entries_of(session, session.bundle_of(snapshot_id), found)
    main = next(entry for entry in files if entry.path == found.path)
    content = session.reader.read_blob(main.blob, main.size)
    fields, body = frontmatter.read_leniently(content)
    return SkillView(
        *found.line(), snapshot_id.hex(), fields, body, [entry.path for entry in files]
    )


def read(session: Session, text: str, inner: str = "", revision: str = "@") -> SkillFile:
    """Return a file of a skill, by default its own text; `text` may be SLUG@VERSION.

    Raises `NotFound` (`no_skill`, `no_version`, `no_file`) or `InvalidInput` (`too_large`).
    """
    snapshot_id, found = _found(session, text, revision)
    entries = entries_of(session, session.bundle_of(snapshot_id), found)
    home = found.folder or ""
    others = {e.path.removeprefix(home): e for e in entries if e.path != found.path}
    entry = others.get(inner)
    if inner and entry is None:
        raise no_file(found.slug, inner, list(others))
    main = next(entry for entry in entries if entry.path == found.path)
    content = editing.content(session, entry or main)
    return SkillFile(*found.line(), snapshot_id.hex(), inner, content, list(others))


def no_file(slug: str, inner: str, there: list[str]) -> NotFound:
    """Return the error for a file that a skill has not, with those that it has."""
    near = closest(inner, there) or there[:_NAMED]
    names = ", ".join(map(printable, near))
    return NotFound(
        f"{slug} has no file {printable(inner)}",
        code="no_file",
        hint=f"it has {names}" if near else "it has no files",
    )


def _name(found: Found) -> str:
    return found.card.name or found.slug


def check_skills(session: Session, texts: list[str], strict: bool) -> list[SkillProblem]:
    """Check skills of the head, all or some, against agentskills.io.

    `strict` asks for the rules of the specification, else for what clients need.
    """
    bundle = session.bundle_of(session.head())
    every = find.every(session, bundle)
    chosen = [find.one(session, bundle, text) for text in texts] if texts else every
    shared: dict[str, list[str]] = {}
    called: dict[str, list[str]] = {}
    for found in every:
        shared.setdefault(found.slug, []).append(found.path)
        called.setdefault(names.seen_as(_name(found)), []).append(found.path)
    content = dict(derived.skill_contents(session, list({found.blob for found in chosen})))
    out: list[SkillProblem] = []
    for found in chosen:
        folder = found.path.split("/")[-2] if found.folder else None
        if found.blob not in content:
            size = f"more than {limits.MAX_SKILL_BYTES} bytes"
            out.append(SkillProblem(found.slug, found.path, "too_large", "error", 0, size))
            continue
        for problem in check(found.path, content[found.blob], folder, strict):
            out.append(SkillProblem(found.slug, found.path, *problem))
        others = [path for path in shared[found.slug] if path != found.path]
        if others:
            message = f"shares its slug with {', '.join(map(printable, others))}"
            out.append(SkillProblem(found.slug, found.path, "duplicate_slug", "error", 0, message))
        alike = [path for path in called[names.seen_as(_name(found))] if path != found.path]
        if alike:
            message = lookalikes.same_words(_name(found), alike[:_NAMED])
            out.append(SkillProblem(found.slug, found.path, lookalikes.SAME, WARNING, 0, message))
    return out
