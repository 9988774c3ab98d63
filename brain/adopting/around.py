"""A brain around a home: the rules for what it leaves out, and its manifest.

The rules take in what the layout names, and nothing else, so that a database or a cache
that the next release of the program makes stays out as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from .. import manifest
from ..errors import InvalidInput
from ..objects.entry import FILE
from ..worktree.folders import Folders, opened
from ..worktree.ignore import NAME
from ..worktree.reading import read_whole
from ..worktree.writing import replace
from .layouts import BY_KIND, Layout
from .manifests import text_for
from .protocol import Taking

BEGIN, END = "# adopted: begin, written by `brain adopt`", "# adopted: end"
_BLOCK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n", re.DOTALL)
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")
_FILES = frozenset(("secret", "too_large", "case_collision", "taken"))
"""Codes of single files that the scan of a brain would take, or stumble over."""


def prepare(home: Path, kind: str, taking: Taking, name: str) -> None:
    """Write the rules, and a manifest if there is none, into the home.

    Lines of a `.brainignore` that somebody else wrote stay, and count more. Raises
    `InvalidInput` (`bad_ignore`) if it cannot be read.
    """
    layout = BY_KIND[kind]
    alone = [path for code, path, _ in taking.left if code in _FILES]
    block = "\n".join((BEGIN, *rules_for(layout, alone), END, "")).encode()
    with opened(home) as fd:
        folders = Folders(fd)
        was = _text(home, NAME)
        now = _BLOCK.sub("", was.decode("utf-8", "surrogateescape"))
        text = block + now.encode("utf-8", "surrogateescape")
        if text != was:
            replace(folders, NAME, FILE, text)
        if not os.path.lexists(home / manifest.PATH):
            replace(folders, manifest.PATH, FILE, text_for(name or home.name, layout, True))


def rules_for(layout: Layout, alone: Iterable[str] = ()) -> list[str]:
    """Return lines for a `.brainignore` that take in what the layout does.

    `alone` are files that are left out although a rule of the layout reaches them.
    """
    lines = ["/*", f"!/{NAME}", f"!/{manifest.PATH}"]
    for home, _ in layout.rules:
        parts = home.removesuffix("/").split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            lines += [f"!/{above}/", f"/{above}/*"]
        lines.append(f"!/{home}")
    lines += [pattern for pattern, _ in layout.left]
    lines += [f"/{_SPECIAL.sub(_escaped, path)}" for path in alone]
    return list(dict.fromkeys(lines))


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[1]


def _text(home: Path, name: str) -> bytes:
    if not os.path.lexists(home / name):
        return b""
    if os.path.islink(home / name):
        raise InvalidInput(f"{name} is a link", code="bad_ignore")
    return read_whole(home, name)
