"""Read the skills of a snapshot as a gate needs them: what ranks them, texts and programs."""

from __future__ import annotations

from ...errors import InvalidInput, NotFound
from ...programs.program import Program
from ...search.selector import SearchDocument
from ...skills import frontmatter, skill_layout
from ..open.session import Session
from ..programs.find_program import find_program
from ..read import skill_lookup


def list_documents(session: Session, snapshot: bytes) -> list[SearchDocument]:
    """Return what the skills of a snapshot are ranked by, by path."""
    bundle = session.bundle_of(snapshot)
    return [
        SearchDocument(
            path, skill_layout.slug_from_name(name), card.name or name, card.description, blob
        )
        for path, name, blob, card in skill_lookup.iter_skills(session, bundle)
    ]


def read_body(session: Session, snapshot: bytes, path: str) -> str:
    """Return the text of the skill at a path, without its front matter."""
    skill = skill_lookup.load_skill(session, session.bundle_of(snapshot), path)
    return body_of(session.reader.read_blob(skill.blob))


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
