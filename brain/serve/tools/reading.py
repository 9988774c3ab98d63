"""skill_view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import printable
from ...skills.text import clean
from .tool import Answer

if TYPE_CHECKING:
    from ...brain import Brain

MOST_SHOWN = 200_000
"""Characters that are shown of a file, the names of other files among them."""
MOST_FILES = 200
"""Files of a skill that are named."""
_NOTE = 60
"""Room for the line that says how much was cut."""


def skill_view(brain: Brain, given: dict[str, Any]) -> Answer:
    """Read a skill, or one of its files, now or at an earlier version."""
    name, version = given["name"], given.get("version", "")
    found = brain.read_skill(f"{name}@{version}" if version != "" else name, file_of(given))
    files = _listed(found.files) if not found.file else ""
    shown = shown_text(found.content, MOST_SHOWN - len(files))
    data = {
        "slug": found.slug,
        "name": found.name,
        "description": found.description,
        "version": found.version,
        "path": found.path,
        "snapshot": found.snapshot,
        "file": found.file,
        "content": shown,
        "files": found.files,
    }
    return Answer(shown + files, data, False)


def file_of(given: dict[str, Any]) -> str:
    """Return which file of a skill is meant, "" for its own text."""
    path: str = given.get("file_path", "")
    return "" if path == "SKILL.md" else path


def shown_text(content: bytes, most: int = MOST_SHOWN) -> str:
    """Return a file as a model is shown it: what nobody sees left out, at most so long."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return f"(not a text: {len(content)} bytes)"
    text = clean(text)
    if len(text) <= most:
        return text
    kept = most - _NOTE
    return f"{text[:kept]}\n(cut: {kept} of {len(text)} characters)"


def _listed(files: Sequence[str]) -> str:
    """Return the line that names the files of a skill, as many as there is room for."""
    if not files:
        return ""
    names = ", ".join(map(printable, files[:MOST_FILES]))
    more = f" ({MOST_FILES} of {len(files)} files)" if len(files) > MOST_FILES else ""
    return f"\n\nFiles, to be read with file_path: {names}{more}"
