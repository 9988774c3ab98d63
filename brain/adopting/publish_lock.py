"""Lock a folder for one publication, and clear what a killed one left."""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import Locked, printable_text
from ..repo.open.discovery import is_brain
from ..worktree.dirfd import open_root
from ..worktree.file_writer import remove_temporary_files


@contextmanager
def hold_publish_lock(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be, against other publications for the length of the block.

    What was made goes again if nothing came into it. Raises `Locked` at once if another one
    is at work. Where folders cannot be locked, as on some network drives, it goes on.
    """
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with open_root(folder) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(
                f"another publication is at work in {printable_text(folder)}",
                hint="wait until it is done, and try again",
            ) from None
        except OSError:  # no locks there
            pass
        try:
            yield
        finally:
            with suppress(OSError):  # something is in it, as there should be
                for path in created:
                    path.rmdir()


def clear_leftovers(folder: Path, root: Path, paths: Iterable[str]) -> None:
    """Remove what killed publications of the brain at `root` left beside `paths`.

    Another brain there may be writing just now; nothing is removed then.
    """
    folder, root = folder.resolve(), root.resolve()
    brains = {path for path in (folder, *folder.parents) if is_brain(path)}
    if brains <= {root} - {folder}:
        remove_temporary_files(folder, paths)
