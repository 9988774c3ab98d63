"""Folders of skills, whoever keeps them: one skill, a folder of skills, or `skills/` in one."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from ..skills.layout import SKILL_FILES, slug_of
from .clients import Client
from .layouts import COLLECTION, Layout
from .protocol import Found
from .rules import Rule

PLAIN = 10
"""Weight: skills, and no sign of a program. A history of them weighs more."""
_LOOKED_AT = 10_000
"""Names in one folder that are looked at."""
_SKILL = f"/{SKILL_FILES[0]}"


class Collection(Client):
    """Recognises and reads skills that lie in no program's home."""

    def __init__(self) -> None:
        super().__init__(COLLECTION)

    def detect(self, path: Path) -> Found | None:
        """Look for SKILL.md: in the folder, in `skills/`, or up to two folders below."""
        if _skill_file(path):
            return Found(self.kind, path, "SKILL.md", PLAIN, None)
        if _holders(path / "skills"):
            return Found(self.kind, path, "skills/", PLAIN, path)
        holders = _holders(path)
        if holders:
            return Found(self.kind, path, f"{min(holders)}/", PLAIN, None)
        return None

    def home(self, path: Path) -> Path | None:
        """Return the folder that holds `skills/`."""
        return path if not _skill_file(path) and _holders(path / "skills") else None

    def shape(self, path: Path) -> Layout:
        """Return where the skills are in the folder at `path`."""
        if _skill_file(path):
            rule = Rule("", f"skills/{slug_of(path.name + _SKILL)}/")
            return COLLECTION._replace(rules=(rule,), owned=(), left=((".*", "hidden"),))
        if _holders(path / "skills"):
            return COLLECTION
        return COLLECTION._replace(rules=(Rule("", "skills/"),), tops=_holders(path))


def _holders(folder: Path) -> frozenset[str]:
    """Return the names in `folder` of what is a skill or a category of skills."""
    return frozenset(
        name for name, is_folder in _names(folder) if is_folder and _has_skill(folder / name)
    )


def _has_skill(folder: Path) -> bool:
    return _skill_file(folder) or any(
        is_folder and _skill_file(folder / name) for name, is_folder in _names(folder)
    )


def _skill_file(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in SKILL_FILES)


def _names(folder: Path) -> list[tuple[str, bool]]:
    """Return names in `folder` that are not hidden, each with whether it is a folder."""
    try:
        with os.scandir(folder) as entries:
            return [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in islice(entries, _LOOKED_AT)
                if not entry.name.startswith(".")
            ]
    except OSError:
        return []
