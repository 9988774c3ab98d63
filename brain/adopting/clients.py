"""Takers of the homes of programs, each made from a layout."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from .layouts import Layout
from .left import Left
from .protocol import File, Found, Step, Taking
from .sift import sift
from .unsafe import without_unsafe

SURE, LIKELY = 30, 20
"""Weights: a mark of a program was seen, or signs of it; each one adds 1."""


class Client:
    """Recognises and reads the home of one kind of program."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.kind = layout.kind

    def detect(self, path: Path) -> Found | None:
        """Look for marks and signs of the program; no file is read."""
        layout = self.layout
        seen = [mark for mark in layout.marks if is_there(path, mark)]
        signs = [sign for sign in layout.signs if is_there(path, sign)]
        other = any(is_there(path, mark) for mark in layout.unless)
        if other or (not seen and len(signs) < layout.needs):
            return None
        weight = (SURE if seen else LIKELY) + min(len(seen) + len(signs), 9)
        return Found(self.kind, path, ", ".join((seen + signs)[:3]), weight, self.home(path))

    def assume(self, path: Path) -> Found | None:
        """Take a folder for such a home because the user says so, if a rule finds anything."""
        places = (rule.home.partition("*")[0].rstrip("/") for rule in self.layout.rules)
        here = next((place for place in places if place and is_there(path, place)), None)
        return Found(self.kind, path, here, SURE, self.home(path)) if here else None

    def home(self, path: Path) -> Path | None:
        """Return the folder around which a brain can be made in place, if there is one."""
        return path if self.layout.in_place else None

    def shape(self, path: Path) -> Layout:
        """Return the layout of the home at `path`."""
        return self.layout

    def take(self, found: Found, since: str | None, allow: Collection[str]) -> Taking:
        """Read the home as one state, which is all there is of it."""
        left = Left([])
        placed: dict[str, str] = {}
        step = Step(
            _files(found.path, self.shape(found.path), left, placed, allow),
            whole=True,
            message=f"Adopt {self.layout.title} {found.path.name}",
            stays=left.stays,
        )
        return Taking(iter((step,)), left.rows, placed, left.named)


def _files(
    root: Path, layout: Layout, left: Left, placed: dict[str, str], allow: Collection[str]
) -> Iterator[tuple[str, File | None]]:
    for home, brain, file in without_unsafe(sift(root, layout, left), left, allow):
        placed[brain] = home
        yield brain, file
    if is_there(root, ".git"):
        left.add("history", ".git", "the history of git: take that in with --as git")
    left.close()


def is_there(root: Path, name: str) -> bool:
    """Tell whether there is something at a path below `root`, be it a link that leads nowhere."""
    return os.path.lexists(root / name)
