"""skill_view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import printable
from ...skills.text import clean
from .tool import Answer

if TYPE_CHECKING:
    from ...brain import Brain

MOST_SHOWN = 200_000
"""Characters of one file that are shown."""


def skill_view(brain: Brain, given: dict[str, Any]) -> Answer:
    """Read a skill, or one of its files, now or at an earlier version."""
    name, version = given["name"], given.get("version", "")
    found = brain.read_skill(f"{name}@{version}" if version != "" else name, file_of(given))
    shown = _shown(found.content)
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
    files = ", ".join(map(printable, found.files))
    if files and not found.file:
        shown += f"\n\nFiles, to be read with file_path: {files}"
    return Answer(shown, data, False)


def file_of(given: dict[str, Any]) -> str:
    """Return which file of a skill is meant, "" for its own text."""
    path: str = given.get("file_path", "")
    return "" if path == "SKILL.md" else path


def _shown(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return f"(not a text: {len(content)} bytes)"
    text = clean(text)
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}\n(cut: {MOST_SHOWN} of {len(text)} characters)"
