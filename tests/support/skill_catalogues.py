"""Catalogues of a few skills, for tests of selectors."""

from brain.digest import blob_id
from brain.search import full_text
from brain.search.full_text import FullTextIndex
from brain.search.selectors import (
    FIELD_WEIGHTS,
    RankedSkill,
    SearchDocument,
    index_fields,
)


def skill_document(path: str, description: str, name: str = "") -> SearchDocument:
    """Return a skill at `path` below skills/, without its SKILL.md."""
    slug = path.rpartition("/")[2]
    return SearchDocument(
        f"{path}/SKILL.md", slug, name or slug, description, blob_id(path.encode())
    )


def make_catalogue(*documents: SearchDocument) -> dict[str, SearchDocument]:
    return {document.path: document for document in documents}


def index_words(*skills: SearchDocument) -> FullTextIndex:
    """Return the index of the words of skills."""
    made = full_text.open_memory_full_text(FIELD_WEIGHTS)
    with made.transaction():
        made.update(b"", (), ((one.path, index_fields(one)) for one in skills))
    return made


def ranked_slugs(found: list[RankedSkill]) -> list[str]:
    return [one.slug for one in found]
