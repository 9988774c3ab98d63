"""Taking in what other programs keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .ledgers import Ledgers
from .opened import given

if TYPE_CHECKING:
    from .. import results
    from ..actions.files import Progress
    from ..actions.importing import Source, Step


class Importing(Ledgers):
    """States of other programs' homes, recorded; `brain.adopting` finds and reads them."""

    def import_steps(self, source: Source, steps: Iterable[Step]) -> results.Imported:
        """Record states of a source on its branch, all or none; merge that to have them.

        Raises `InvalidInput`.
        """
        from ..actions import importing

        return self._do(importing.import_steps, source, steps)

    def import_folder(
        self, source: Source, message: str = "", progress: Progress | None = None
    ) -> results.Imported:
        """Record the folder of this brain, which another program goes on using as its home."""
        from ..actions import importing

        return self._do(importing.import_folder, source, message, *given(progress))

    def last_import(self, branch: str) -> str | None:
        """Return what the source of a branch calls the state it stands at, None if it has none."""
        from ..actions import importing

        return self._do(importing.last_revision, branch)
