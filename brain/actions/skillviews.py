"""Reading skills: the list, one with its text, and whether they keep the rules."""

from __future__ import annotations

from .. import limits
from ..errors import printable
from ..results import Skill, SkillProblem, SkillView
from ..session import Session
from ..skills import frontmatter
from ..skills.check import check
from . import derived, find
from .history import at_version
from .revisions import resolve
from .upsert import entries_of


def skills(session: Session, revision: str = "@") -> list[Skill]:
    """Return all skills at a revision, by slug, without reading bodies."""
    bundle = session.bundle_of(resolve(session, revision))
    lines = [found.line() for found in find.every(session, bundle)]
    return sorted(lines, key=lambda line: (line.slug, line.path))


def view(session: Session, text: str, revision: str = "@") -> SkillView:
    """Return one skill with its text; `text` may be SLUG@VERSION.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    slug, at, wanted = text.partition("@")
    start = resolve(session, revision)
    if at:
        snapshot_id, found = at_version(session, start, slug, wanted)
    else:
        snapshot_id = start
        found = find.one(session, session.bundle_of(start), text)
    content = session.reader.read_blob(found.blob)
    fields, body = frontmatter.read_leniently(content)
    files = entries_of(session, session.bundle_of(snapshot_id), found)
    return SkillView(
        *found.line(), snapshot_id.hex(), fields, body, [entry.path for entry in files]
    )


def check_skills(session: Session, texts: list[str], strict: bool) -> list[SkillProblem]:
    """Check skills of the head, all or some, against agentskills.io.

    `strict` asks for the rules of the specification, else for what clients need.
    """
    bundle = session.bundle_of(session.head())
    every = find.every(session, bundle)
    chosen = [find.one(session, bundle, text) for text in texts] if texts else every
    shared: dict[str, list[str]] = {}
    for found in every:
        shared.setdefault(found.slug, []).append(found.path)
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
    return out
