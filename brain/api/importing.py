"""Taking in what other programs keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .ledgers import Ledgers
from .opened import given

if TYPE_CHECKING:
    from .. import results
    from ..repo.changes.import_source import ImportSource, ImportStep
    from ..repo.core.checkout import Progress


class Importing(Ledgers):
    """States of other programs' homes, recorded; `brain.adopting` finds and reads them."""

    def import_steps(self, source: ImportSource, steps: Iterable[ImportStep]) -> results.Imported:
        """Record states of a source on its branch, all or none; merge that to have them.

        Raises `InvalidInput`.
        """
        from ..repo.changes import import_source

        return self._do(import_source.import_steps, source, steps)

    def import_folder(
        self, source: ImportSource, message: str = "", progress: Progress | None = None
    ) -> results.Imported:
        """Record the folder of this brain, which another program goes on using as its home."""
        from ..repo.changes import import_source

        return self._do(import_source.import_folder, source, message, *given(progress))

    def last_import(self, branch: str) -> str | None:
        """Return what the source of a branch calls the state it stands at, None if it has none."""
        from ..repo.changes import import_source

        return self._do(import_source.last_imported_revision, branch)
