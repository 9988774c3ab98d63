"""Create the brain for an adoption, with its manifest, and roll back on failure.

In place it also writes ignore rules into the home. They admit only what the layout names, so
that new databases and caches of later releases of the program stay out, too.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from json import dumps
from pathlib import Path
from typing import NamedTuple

from ..errors import BrainError, InvalidInput, printable_text
from ..folder.handles import FolderHandles, open_root
from ..folder.ignore import IGNORE_FILE_NAME, IgnoreRules
from ..folder.read import read_working_file
from ..folder.scan import scan_files
from ..folder.write import remove_temporary_files, replace_file
from ..objects.tree_node import FILE
from ..ops.create import INITIAL_FOLDERS
from ..ops.import_states import SourceFile
from ..ops.memory import MEMORY_FOLDERS, MEMORY_NOTES
from ..ops.undo import list_operations
from ..repo import manifest
from ..repo.part import open_session
from ..repo.session import CONTROL_FOLDER, is_brain
from .brain_protocol import AdoptionBrain
from .layouts import LAYOUT_BY_KIND, HomeLayout
from .source_files import SkippedFiles, SourceState, is_ignored


class BrainOpener(NamedTuple):
    """Opens and creates the brain that adopts; `name` is that of a new one."""

    name: str
    create: Callable[[Path], AdoptionBrain]
    open: Callable[[Path], AdoptionBrain]

    def open_or_create(self, folder: Path) -> AdoptionBrain:
        """Open the brain in a folder, or create it."""
        return self.open(folder) if is_brain(folder) else self.create(folder)


def refuse_foreign_folder(folder: Path) -> None:
    """Refuse a folder with files that is not a brain. Raises `InvalidInput` (`not_empty`)."""
    if folder.is_dir() and any(folder.iterdir()) and not is_brain(folder):
        raise InvalidInput(
            f"{folder} holds files and is not a brain",
            code="not_empty",
            hint="name a new folder, or turn this one into a brain first with `brain init`",
        )


@contextmanager
def rollback_on_failure(folder: Path, put_back: Callable[[], None] | None = None) -> Iterator[None]:
    """Undo the creation of a brain if the block fails before it records anything.

    The created files are removed, then `put_back` is called to restore changed ones. If
    files of the brain remain, the hint of the error names them.
    """
    if is_brain(folder):
        yield
        return
    created = [path for path in _created_paths(folder) if not os.path.lexists(path)]
    try:
        yield
    except BaseException as error:
        if _has_snapshots(folder):
            _extend_hint(
                error, f"{printable_text(folder)} holds what was read; adopt again to continue"
            )
        else:
            _remove_created(created)
            if put_back is not None:
                put_back()
            remaining = [str(path) for path in created if os.path.lexists(path)]
            if remaining:
                _extend_hint(error, f"these can be removed: {printable_text(', '.join(remaining))}")
        raise


def _created_paths(folder: Path) -> Iterator[Path]:
    """Yield the files and folders that creating a brain may make, the deepest first."""
    for name in (CONTROL_FOLDER, manifest.MANIFEST_PATH, IGNORE_FILE_NAME, *INITIAL_FOLDERS):
        yield folder / name
    yield from (folder, *folder.parents)


def _has_snapshots(folder: Path) -> bool:
    """Tell whether the brain has operations after its genesis; True if it cannot be opened."""
    if not is_brain(folder):
        return False
    try:
        session = open_session(folder)
        try:
            return len(list_operations(session, 2)) > 1
        finally:
            session.close()
    except (BrainError, OSError):
        return True


def _remove_created(paths: list[Path]) -> None:
    """Remove the created files and folders, except folders that hold other files by now."""
    for path in paths:
        with suppress(OSError):
            if path.name == CONTROL_FOLDER:
                shutil.rmtree(path)
            elif path.is_dir():
                path.rmdir()
            else:
                path.unlink()


def _extend_hint(error: BaseException, more: str) -> None:
    if isinstance(error, BrainError):
        error.hint = f"{error.hint}; {more}" if error.hint else more


def render_home_manifest(name: str, layout: HomeLayout, in_place: bool) -> bytes:
    """Return a manifest that names the files for the system prompt, existing or not.

    In place it also names the kind of home, because paths are then those of the program.
    """

    def path(home: str) -> str:
        return home if in_place else layout.brain_path(home) or home

    lines = [manifest.render_manifest(name, "directory").decode()]
    if in_place:
        lines.append(f"home: {layout.kind}\n")
    if layout.system or layout.memory:
        lines.append("prompt:\n")
    if layout.system:
        lines.append("  system:\n")
        lines.extend(f"    - {dumps(path(home))}\n" for home in layout.system)
    if layout.memory:
        lines.append("  memory:\n")
        for home, limit in layout.memory:
            lines.append(f"    - path: {dumps(path(home))}\n      limit: {limit}\n")
    return "".join(lines).encode()


def prepend_manifest(brain: AdoptionBrain, kind: str, state: SourceState) -> SourceState:
    """Add a manifest to the files for a new brain, if their layout has prompt files."""
    layout = LAYOUT_BY_KIND.get(kind)
    if layout is None or not (layout.system or layout.memory):
        return state
    text = render_home_manifest(brain.root.name, layout, False)
    added = (manifest.MANIFEST_PATH, SourceFile(FILE, text))
    return state._replace(files=chain((added,), state.files))


OWN_FILES = frozenset((manifest.MANIFEST_PATH, IGNORE_FILE_NAME))
"""The files that adoption writes into a home; they belong to the brain, not to the program."""
BLOCK_BEGIN, BLOCK_END = "# adopted: begin, written by `brain adopt`", "# adopted: end"
_ADOPTED_BLOCK = re.compile(
    f"{re.escape(BLOCK_BEGIN)}\n.*?{re.escape(BLOCK_END)}\n".encode(), re.DOTALL
)
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")
_ESCAPED = r"\\\1"
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
    before = _read_ignore_file(home)
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
    lines += [f"/{_UNWRITABLE.sub('?', _SPECIAL.sub(_ESCAPED, path))}" for path in excluded]
    return list(dict.fromkeys(lines))


def _read_ignore_file(home: Path) -> bytes:
    if not os.path.lexists(home / IGNORE_FILE_NAME):
        return b""
    if os.path.islink(home / IGNORE_FILE_NAME):
        raise InvalidInput(
            f"{home / IGNORE_FILE_NAME} is a link, and only a regular file is extended",
            code="bad_ignore",
            hint="replace the link with a copy of the file it points to, and adopt again",
        )
    return read_working_file(home, IGNORE_FILE_NAME)
