"""Letta's MemFS: the memory of an agent in a repository of git, each commit a state.

Two generations of it: files under `system/` are in every prompt, or, since 0.34, those at
the top, with an index beside them that is called MEMORY.md.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from . import layouts
from .clients import Client
from .git import CERTAIN, read_history
from .gitrepo import folder_of
from .layouts import Layout
from .protocol import Found, Taking

_SECTION = b"[letta]"
_MAX_CONFIG_BYTES = 64 << 10
_SYSTEM = "system"


class MemFS(Client):
    """Recognises and reads one generation of MemFS, as a repository or as a copy of its files."""

    def detect(self, path: Path) -> Found | None:
        """Look for the files every agent has, and for Letta's section in the settings of git."""
        signs = [sign for sign in self.layout.signs if os.path.lexists(path / sign)]
        of_letta = _names_letta(path)
        is_older = (path / _SYSTEM).is_dir()
        if is_older != (self.layout is layouts.LETTA_SYSTEM):
            return None
        if not of_letta and len(signs) < self.layout.needs:
            return None
        why = ", ".join([*([".git of Letta"] if of_letta else []), *signs][:3])
        return Found(self.kind, path, why, CERTAIN, None)

    def take(self, found: Found, since: str | None, allow: Collection[str]) -> Taking:
        """Read the history, or the files alone where there is none."""
        if folder_of(found.path) is None:
            return super().take(found, since, allow)
        return read_history(found, since, allow, lambda *_: self.layout)

    def shape(self, path: Path) -> Layout:
        """Return the layout, the same for every agent."""
        return self.layout


def _names_letta(path: Path) -> bool:
    try:
        with open(path / ".git" / "config", "rb", opener=_at_once) as config:
            return _SECTION in config.read(_MAX_CONFIG_BYTES)
    except OSError:
        return False


def _at_once(path: str, flags: int) -> int:
    """Open a file that may be a pipe nobody writes to."""
    return os.open(path, flags | os.O_NONBLOCK)
