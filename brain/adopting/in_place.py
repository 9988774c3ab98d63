"""A brain made in place: the ignore rules and the manifest written into a home.

The rules take in what the layout names, and nothing else, so that a database or a cache
that the next release of the program makes stays out as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInput, printable_text
from ..objects.tree_entry import FILE
from ..repo.open import manifest
from ..repo.open.discovery import is_brain
from ..worktree.dirfd import FolderHandles, open_root
from ..worktree.file_reader import read_working_file
from ..worktree.file_writer import remove_temporary_files, replace_file
from ..worktree.ignore_rules import IGNORE_FILE_NAME, IgnoreRules
from ..worktree.scan import scan_files
from .create_brain import render_home_manifest
from .ignore_filter import is_ignored
from .layouts import LAYOUT_BY_KIND, HomeLayout
from .source_protocol import SourceStates

OWN_FILES = frozenset((manifest.MANIFEST_PATH, IGNORE_FILE_NAME))
"""What is written into a home, and is no part of it; the brain around it holds it."""
BLOCK_BEGIN, BLOCK_END = "# adopted: begin, written by `brain adopt`", "# adopted: end"
_ADOPTED_BLOCK = re.compile(
    f"{re.escape(BLOCK_BEGIN)}\n.*?{re.escape(BLOCK_END)}\n".encode(), re.DOTALL
)
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")
_UNWRITABLE = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")
_TRANSIENT_CODES = frozenset(("gone", "changed_while_reading", "not_regular", "link_outside"))
"""Codes of what the scan of a brain copes with, or what may be there again in a moment."""


class IgnoreFileChange(NamedTuple):
    """What a home leaves out from now on: the text of its `.brainignore`, before and after."""

    before: bytes
    after: bytes
    rules: IgnoreRules


def plan_ignore_file(home: Path, kind: str, states: SourceStates) -> IgnoreFileChange:
    """Return the rules for a home; nothing is written.

    Lines of a `.brainignore` that somebody else wrote stay, and count more. Raises
    `InvalidInput` (`bad_ignore`) if they cannot be read, or become too many.
    """
    layout = LAYOUT_BY_KIND[kind]
    known = IgnoreRules("\n".join(ignore_lines(layout)))
    excluded = [
        path
        for code, path in states.skipped_paths
        if code not in _TRANSIENT_CODES and path not in OWN_FILES and not is_ignored(known, path)
    ]
    block = "\n".join((BLOCK_BEGIN, *ignore_lines(layout, excluded), BLOCK_END, "")).encode()
    was = _read_ignore_file(home, IGNORE_FILE_NAME)
    text = block + _ADOPTED_BLOCK.sub(b"", was)
    try:
        return IgnoreFileChange(was, text, IgnoreRules.parse(text))
    except InvalidInput as error:
        error.hint = error.hint or (
            f"mend {printable_text(home / IGNORE_FILE_NAME)}, or name a folder for a brain of its own"
        )
        raise


def list_brain_files(home: Path, rules: IgnoreFileChange) -> set[str]:
    """Return what a brain around the home would hold. Raises as a scan does."""
    found = scan_files(home, rules.rules, None).changed
    return {file.path for file in found} - OWN_FILES


def write_in_place_files(home: Path, kind: str, rules: IgnoreFileChange, name: str) -> None:
    """Write the rules, and a manifest if there is none, into the home.

    Where no brain is yet, so that no other writer is at work, what an adoption that was killed
    here left half written is removed.
    """
    if not is_brain(home):
        remove_temporary_files(home)
    with open_root(home) as fd:
        folders = FolderHandles(fd)
        if rules.after != rules.before:
            replace_file(folders, IGNORE_FILE_NAME, FILE, rules.after)
        if not os.path.lexists(home / manifest.MANIFEST_PATH):
            replace_file(
                folders,
                manifest.MANIFEST_PATH,
                FILE,
                render_home_manifest(name or home.name, LAYOUT_BY_KIND[kind], True),
            )


def restore_ignore_file(home: Path, rules: IgnoreFileChange) -> None:
    """Let the `.brainignore` that was there before be what it was."""
    if rules.before and rules.after != rules.before:
        with open_root(home) as fd:
            replace_file(FolderHandles(fd), IGNORE_FILE_NAME, FILE, rules.before)


def ignore_lines(layout: HomeLayout, excluded: Iterable[str] = ()) -> list[str]:
    """Return lines for a `.brainignore` that take in what the layout does.

    `alone` are files that are left out although a rule of the layout reaches them.
    """
    lines = ["/*", f"!/{IGNORE_FILE_NAME}", f"!/{manifest.MANIFEST_PATH}"]
    for home, _ in layout.rules:
        parts = home.removesuffix("/").split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            lines += [f"!/{above}/", f"/{above}/*"]
        lines.append(f"!/{home}")
    lines += [pattern for pattern, _ in layout.skipped_patterns]
    lines += [f"/{_UNWRITABLE.sub('?', _SPECIAL.sub(_escape_match, path))}" for path in excluded]
    return list(dict.fromkeys(lines))


def _escape_match(found: re.Match[str]) -> str:
    return "\\" + found[1]


def _read_ignore_file(home: Path, name: str) -> bytes:
    if not os.path.lexists(home / name):
        return b""
    if os.path.islink(home / name):
        raise InvalidInput(f"{name} is a link", code="bad_ignore")
    return read_working_file(home, name)
