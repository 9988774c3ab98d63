"""A brain for what is adopted: made when there is something to write, and gone if that fails."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import manifest
from ..actions.create import FOLDERS
from ..brain import Brain
from ..errors import BrainError, InvalidInput, printable
from ..session import CONTROL
from ..worktree.ignore import NAME as IGNORE

if TYPE_CHECKING:
    from ..actions.duty import Open as OpenLedger
    from ..session import SignWith


class Owner(NamedTuple):
    """Whose brain it is or becomes: as for `Brain.init` and `Brain.open`."""

    name: str = ""
    author: str = ""
    sign_with: SignWith | None = None
    ledgers: OpenLedger | None = None


NOBODY = Owner()


def is_brain(folder: Path) -> bool:
    """Tell whether a folder is that of a brain."""
    return (folder / CONTROL / "store.db").is_file()


def refuse_others(folder: Path) -> None:
    """Refuse a folder that holds files and is no brain. Raises `InvalidInput` (`not_empty`)."""
    if folder.is_dir() and any(folder.iterdir()) and not is_brain(folder):
        raise InvalidInput(
            f"{printable(folder)} holds files and is no brain",
            code="not_empty",
            hint="name a new folder, or make a brain of this one first with `brain init`",
        )


def opened_or_made(folder: Path, owner: Owner) -> Brain:
    """Open the brain in a folder, or make one of it."""
    if is_brain(folder):
        return Brain.open(
            folder, author=owner.author, sign_with=owner.sign_with, ledgers=owner.ledgers
        )
    return Brain.init(folder, name=owner.name, author=owner.author, sign_with=owner.sign_with)


def _nothing() -> None:
    return


@contextmanager
def all_or_nothing(folder: Path, put_back: Callable[[], None] = _nothing) -> Iterator[None]:
    """Take back the making of a brain in a folder that fails before anything is recorded.

    What was made is removed, then `put_back` is called for what was changed. If something
    of the brain stays, the hint of the error says so.
    """
    if is_brain(folder):
        yield
        return
    new = [path for path in _made_in(folder) if not os.path.lexists(path)]
    try:
        yield
    except BaseException as error:
        if _has_recorded(folder):
            _say(error, f"what was read is in {printable(folder)}; adopt again to go on from it")
        else:
            _remove(new)
            put_back()
            left = [str(path) for path in new if os.path.lexists(path)]
            if left:
                _say(error, f"what is left can be removed: {printable(', '.join(left))}")
        raise


def _made_in(folder: Path) -> Iterator[Path]:
    """Yield the files and folders that the making of a brain may make, the deepest first."""
    for name in (CONTROL, manifest.PATH, IGNORE, *FOLDERS):
        yield folder / name
    yield from (folder, *folder.parents)


def _has_recorded(folder: Path) -> bool:
    """Tell whether anything came after the genesis; also where nobody can tell any more."""
    if not is_brain(folder):
        return False
    try:
        with Brain.open(folder) as brain:
            return len(brain.operations(2)) > 1
    except BrainError:
        return True


def _remove(paths: list[Path]) -> None:
    """Remove what was made; a folder in which something else lies by now stays."""
    for path in paths:
        with suppress(OSError):
            if path.name == CONTROL:
                shutil.rmtree(path)
            elif path.is_dir():
                path.rmdir()
            else:
                path.unlink()


def _say(error: BaseException, more: str) -> None:
    if isinstance(error, BrainError):
        error.hint = f"{error.hint}; {more}" if error.hint else more
