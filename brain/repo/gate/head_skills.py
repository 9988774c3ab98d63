"""Read the skills of a snapshot as a gate needs them: texts and programs."""

from __future__ import annotations

from contextlib import suppress

from ...errors import InvalidInput, NotFound
from ...programs.program import Program
from ...skills import frontmatter
from ..open.session import Session
from ..programs.find_program import find_program
from ..read import skill_lookup


def read_text_at(session: Session, snapshot: bytes, slug: str) -> bytes | None:
    """Return the SKILL.md of a skill by its slug, None if there is no such skill."""
    with suppress(InvalidInput):  # ambiguous
        skill = skill_lookup.find_skill_or_none(session, session.bundle_of(snapshot), slug)
        return None if skill is None else session.reader.read_blob(skill.blob)
    return None


def body_of(text: bytes) -> str:
    """Return the text of a SKILL.md without its front matter."""
    return frontmatter.load_leniently(text)[1].lstrip("\n")


def read_program_at(session: Session, snapshot: bytes, slug: str) -> Program | None:
    """Return the program of a skill by its slug, None without one that can be read."""
    bundle = session.bundle_of(snapshot)
    try:
        skill = skill_lookup.find_skill_or_none(session, bundle, slug)
        return None if skill is None else find_program(session, bundle, skill)
    except (InvalidInput, NotFound):  # ambiguous, too large or redacted
        return None
