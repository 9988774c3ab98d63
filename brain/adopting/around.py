"""A brain around a home: the rules for what it leaves out, and its manifest.

The rules take in what the layout names, and nothing else, so that a database or a cache
that the next release of the program makes stays out as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .. import manifest
from ..errors import InvalidInput, printable
from ..objects.entry import FILE
from ..worktree.folders import Folders, opened
from ..worktree.ignore import NAME, IgnoreRules
from ..worktree.leftovers import clean_temps
from ..worktree.reading import read_whole
from ..worktree.scan import scan
from ..worktree.writing import replace
from .ignoring import leaves_out
from .layouts import BY_KIND, Layout
from .making import is_brain
from .manifests import text_for
from .protocol import Taking

OWN = frozenset((manifest.PATH, NAME))
"""What is written into a home, and is no part of it; the brain around it holds it."""
BEGIN, END = "# adopted: begin, written by `brain adopt`", "# adopted: end"
_BLOCK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n".encode(), re.DOTALL)
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")
_UNWRITABLE = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")
_PASSED_OVER = frozenset(("gone", "changed_while_reading", "not_regular", "link_outside"))
"""Codes of what the scan of a brain copes with, or what may be there again in a moment."""


class Rules(NamedTuple):
    """What a home leaves out from now on: the text of its `.brainignore`, before and after."""

    was: bytes
    text: bytes
    ignore: IgnoreRules


def rules_of(home: Path, kind: str, taking: Taking) -> Rules:
    """Return the rules for a home; nothing is written.

    Lines of a `.brainignore` that somebody else wrote stay, and count more. Raises
    `InvalidInput` (`bad_ignore`) if they cannot be read, or become too many.
    """
    layout = BY_KIND[kind]
    known = IgnoreRules("\n".join(rules_for(layout)))
    alone = [
        path
        for code, path in taking.named
        if code not in _PASSED_OVER and path not in OWN and not leaves_out(known, path)
    ]
    block = "\n".join((BEGIN, *rules_for(layout, alone), END, "")).encode()
    was = _text(home, NAME)
    text = block + _BLOCK.sub(b"", was)
    try:
        return Rules(was, text, IgnoreRules.of(text))
    except InvalidInput as error:
        error.hint = error.hint or (
            f"mend {printable(home / NAME)}, or name a folder for a brain of its own"
        )
        raise


def files_of(home: Path, rules: Rules) -> set[str]:
    """Return what a brain around the home would hold. Raises as a scan does."""
    found = scan(home, rules.ignore, None).changed
    return {file.path for file in found} - OWN


def prepare(home: Path, kind: str, rules: Rules, name: str) -> None:
    """Write the rules, and a manifest if there is none, into the home.

    Where no brain is yet, so that no other writer is at work, what an adoption that was killed
    here left half written is removed.
    """
    if not is_brain(home):
        clean_temps(home)
    with opened(home) as fd:
        folders = Folders(fd)
        if rules.text != rules.was:
            replace(folders, NAME, FILE, rules.text)
        if not os.path.lexists(home / manifest.PATH):
            replace(folders, manifest.PATH, FILE, text_for(name or home.name, BY_KIND[kind], True))


def put_back(home: Path, rules: Rules) -> None:
    """Let the `.brainignore` that was there before be what it was."""
    if rules.was and rules.text != rules.was:
        with opened(home) as fd:
            replace(Folders(fd), NAME, FILE, rules.was)


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
    lines += [f"/{_UNWRITABLE.sub('?', _SPECIAL.sub(_escaped, path))}" for path in alone]
    return list(dict.fromkeys(lines))


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[1]


def _text(home: Path, name: str) -> bytes:
    if not os.path.lexists(home / name):
        return b""
    if os.path.islink(home / name):
        raise InvalidInput(f"{name} is a link", code="bad_ignore")
    return read_whole(home, name)
