"""Create the brain for an adoption, with its manifest, and roll back on failure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from json import dumps
from pathlib import Path
from typing import NamedTuple

from ..errors import BrainError, InvalidInput, printable_text
from ..folder.ignore import IGNORE_FILE_NAME as IGNORE
from ..objects.tree_node import FILE
from ..ops.create import INITIAL_FOLDERS
from ..ops.undo import list_operations
from ..repo import manifest
from ..repo.part import open_session
from ..repo.session import CONTROL_FOLDER, is_brain
from .brain_protocol import AdoptionBrain
from .layouts import LAYOUT_BY_KIND, HomeLayout
from .source_files import SourceFile, SourceState


class BrainOpener(NamedTuple):
    """Opens and creates the brain that adopts; `name` is that of a new one."""

    name: str
    create: Callable[[Path], AdoptionBrain]
    open: Callable[[Path], AdoptionBrain]


def refuse_foreign_folder(folder: Path) -> None:
    """Refuse a folder with files that is not a brain. Raises `InvalidInput` (`not_empty`)."""
    if folder.is_dir() and any(folder.iterdir()) and not is_brain(folder):
        raise InvalidInput(
            f"{folder} holds files and is not a brain",
            code="not_empty",
            hint="name a new folder, or turn this one into a brain first with `brain init`",
        )


def open_or_create(folder: Path, opener: BrainOpener) -> AdoptionBrain:
    """Open the brain in a folder, or create it."""
    return opener.open(folder) if is_brain(folder) else opener.create(folder)


def _do_nothing() -> None:
    return


@contextmanager
def rollback_on_failure(folder: Path, put_back: Callable[[], None] = _do_nothing) -> Iterator[None]:
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
            put_back()
            remaining = [str(path) for path in created if os.path.lexists(path)]
            if remaining:
                _extend_hint(error, f"these can be removed: {printable_text(', '.join(remaining))}")
        raise


def _created_paths(folder: Path) -> Iterator[Path]:
    """Yield the files and folders that creating a brain may make, the deepest first."""
    for name in (CONTROL_FOLDER, manifest.MANIFEST_PATH, IGNORE, *INITIAL_FOLDERS):
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
