"""Catalogues of a few skills, for tests of selectors."""

from __future__ import annotations

from brain.digest import blob_id
from brain.selection.bm25 import WEIGHTS, texts
from brain.selection.catalogue import Catalogue
from brain.selection.protocol import Document, Ranked
from brain.store import fulltext
from brain.store.fulltext import FullText


def document(path: str, description: str, name: str = "") -> Document:
    """Return a skill at `path` below skills/, without its SKILL.md."""
    slug = path.rpartition("/")[2]
    return Document(f"{path}/SKILL.md", slug, name or slug, description, blob_id(path.encode()))


def catalogue(*documents: Document) -> Catalogue:
    made = Catalogue()
    made.change((), documents)
    return made


def words(*skills: Document) -> FullText:
    """Return the index of the words of skills."""
    made = fulltext.in_memory(WEIGHTS)
    with made.changing():
        made.change(b"", (), ((one.path, texts(one)) for one in skills))
    return made


def slugs(found: list[Ranked]) -> list[str]:
    return [one.slug for one in found]
