"""Adopt a home in place: write ignore rules and a manifest into it.

The rules admit only what the layout names, so that new databases and caches of later
releases of the program stay out, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInput, printable_text
from ..folder.handles import FolderHandles, open_root
from ..folder.ignore import IGNORE_FILE_NAME, IgnoreRules
from ..folder.read import read_working_file
from ..folder.scan import scan_files
from ..folder.write import remove_temporary_files, replace_file
from ..objects.tree_node import FILE
from ..ops.memory import MEMORY_FOLDERS, MEMORY_NOTES
from ..repo import manifest
from ..repo.session import is_brain
from .create_brain import render_home_manifest
from .layouts import LAYOUT_BY_KIND, HomeLayout
from .source_files import SkippedFiles, is_ignored

OWN_FILES = frozenset((manifest.MANIFEST_PATH, IGNORE_FILE_NAME))
"""The files that adoption writes into a home; they belong to the brain, not to the program."""
BLOCK_BEGIN, BLOCK_END = "# adopted: begin, written by `brain adopt`", "# adopted: end"
_ADOPTED_BLOCK = re.compile(
    f"{re.escape(BLOCK_BEGIN)}\n.*?{re.escape(BLOCK_END)}\n".encode(), re.DOTALL
)
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")
_UNWRITABLE = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")
_TRANSIENT_CODES = frozenset(("gone", "changed_while_reading", "not_regular", "link_outside"))
"""Codes of skipped files that the scan of a brain handles itself, or that may reappear."""


class IgnoreFileChange(NamedTuple):
    """The content of `.brainignore` before and after, and the rules after."""

    before: bytes
    after: bytes
    rules: IgnoreRules


def plan_ignore_file(home: Path, kind: str, skipped: SkippedFiles) -> IgnoreFileChange:
    """Return the ignore rules for a home, without writing them.

    Existing lines of `.brainignore` stay, after the new ones, so that they win. Raises
    `InvalidInput` (`bad_ignore`) if they cannot be read, or are too many.
    """
    layout = LAYOUT_BY_KIND[kind]
    known = IgnoreRules("\n".join(ignore_lines(layout)))
    excluded = [
        path
        for code, path in skipped.skipped_paths
        if code not in _TRANSIENT_CODES and path not in OWN_FILES and not is_ignored(known, path)
    ]
    block = "\n".join((BLOCK_BEGIN, *ignore_lines(layout, excluded), BLOCK_END, "")).encode()
    before = _read_ignore_file(home, IGNORE_FILE_NAME)
    after = block + _ADOPTED_BLOCK.sub(b"", before)
    try:
        return IgnoreFileChange(before, after, IgnoreRules.parse(after))
    except InvalidInput as error:
        file = printable_text(home / IGNORE_FILE_NAME)
        error.hint = f"{error.hint or f'correct {file}'}; or name a folder for a new brain"
        raise


def list_brain_files(home: Path, rules: IgnoreFileChange) -> set[str]:
    """Return the files that a brain in the home would record. Raises what a scan raises."""
    scan = scan_files(home, rules.rules, None)
    for error in scan.skipped.values():
        raise error
    files = scan.changed
    return {file.path for file in files} - OWN_FILES


def write_in_place_files(home: Path, kind: str, rules: IgnoreFileChange, name: str) -> None:
    """Write the rules into the home, and a manifest if it has none.

    If the home is not a brain yet, no other writer can be active, and temporary files of a
    killed adoption are removed.
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
    """Restore the `.brainignore` that existed before."""
    if rules.before and rules.after != rules.before:
        with open_root(home) as fd:
            replace_file(FolderHandles(fd), IGNORE_FILE_NAME, FILE, rules.before)


def ignore_lines(layout: HomeLayout, excluded: Iterable[str] = ()) -> list[str]:
    """Return the lines of a `.brainignore` that admits what the layout takes.

    `excluded` are files to ignore although a rule of the layout matches them.
    """
    lines = ["/*", f"!/{IGNORE_FILE_NAME}", f"!/{manifest.MANIFEST_PATH}"]
    homes = [rule.home_pattern for rule in layout.rules]
    notes = [f"{MEMORY_FOLDERS[0]}/{name}" for name, _ in MEMORY_NOTES.values()]
    if not layout.memory and layout.brain_path(notes[0]) is None:
        homes += notes  # the program has no memory, but the tool has
    for home in homes:
        parts = home.removesuffix("/").split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            lines += [f"!/{folder}/", f"/{folder}/*"]
        lines.append(f"!/{home}")
    lines += [pattern for pattern, _ in layout.skipped_patterns]
    lines += [f"/{_UNWRITABLE.sub('?', _SPECIAL.sub(_escape_match, path))}" for path in excluded]
    return list(dict.fromkeys(lines))


def _escape_match(match: re.Match[str]) -> str:
    return "\\" + match[1]


def _read_ignore_file(home: Path, name: str) -> bytes:
    if not os.path.lexists(home / name):
        return b""
    if os.path.islink(home / name):
        raise InvalidInput(
            f"{home / name} is a link, and only a regular file is extended",
            code="bad_ignore",
            hint="replace the link with a copy of the file it points to, and adopt again",
        )
    return read_working_file(home, name)
