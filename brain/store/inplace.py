"""Whether the files that a database has open are still those that its path names.

A file that is removed or replaced lives on for the program that has it open, and takes
all that is written to it along when that ends.
"""

from __future__ import annotations

import os

from ..errors import StoreError

_FILES = ("", "-wal", "-shm")


class InPlace:
    """Remembers the files of the database at `path`, of none without one.

    It looks at names alone and opens nothing.
    """

    def __init__(self, path: str = "") -> None:
        self._files = [path + side for side in _FILES] if path else []
        self._known: dict[str, tuple[int, int]] = {}

    def meet(self) -> None:
        """Remember the files that are there by now, which the database has open; then `check`."""
        for file in self._files:
            if file not in self._known and (found := _identity(file)):
                self._known[file] = found
        self.check()

    def check(self) -> None:
        """Raise `StoreError` (`store_replaced`) if one of them is not in its place any more."""
        for file, known in self._known.items():
            if _identity(file) != known:
                raise StoreError(
                    f"{os.path.basename(file)} was removed or replaced while it was open",
                    code="store_replaced",
                    hint="what was to be recorded now is not; end this program, start it again,"
                    " and run `brain verify`",
                )

    def leave_log(self) -> None:
        """Forget the log, which the database is about to do without."""
        for file in self._files[1:]:
            self._known.pop(file, None)


def _identity(file: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(file)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
