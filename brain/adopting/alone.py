"""Publishing alone: one at a time into a folder, and without what a killed one left there."""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import Locked, printable
from ..worktree.folders import opened
from ..worktree.leftovers import clean_temps
from .making import is_brain


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be, against other publications for the length of the block.

    What was made goes again if nothing came into it. Raises `Locked` at once if another one
    is at work. Where folders cannot be locked, as on some network drives, it goes on.
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with opened(folder) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(
                f"another publication is at work in {printable(folder)}",
                hint="wait until it is done, and try again",
            ) from None
        except OSError:  # no locks there
            pass
        try:
            yield
        finally:
            with suppress(OSError):  # something is in it, as there should be
                for place in made:
                    place.rmdir()


def clear(folder: Path, root: Path, paths: Iterable[str]) -> None:
    """Remove what killed publications of the brain at `root` left beside `paths`.

    Another brain there may be writing just now; nothing is removed then.
    """
    folder, root = folder.resolve(), root.resolve()
    brains = {place for place in (folder, *folder.parents) if is_brain(place)}
    if brains <= {root} - {folder}:
        clean_temps(folder, paths)
