"""`brain.imports`: record the states of another program's files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..repo.part import Part
from ..util.progress import no_progress

if TYPE_CHECKING:
    from .. import results
    from ..ops.import_states import ImportSource, ImportStep
    from ..util.progress import Progress


class ImportsPart(Part):
    """States of a source, recorded; `brain.adopting` reads the sources."""

    def record_states(self, source: ImportSource, steps: Iterable[ImportStep]) -> results.Imported:
        """Record states on the branch of their source, all or none. Raises `InvalidInput`."""
        from ..ops import import_states

        return self._locked.run(import_states.import_steps, source, steps)

    def record_folder(
        self, source: ImportSource, message: str = "", progress: Progress | None = None
    ) -> results.Imported:
        """Record the folder of this brain, which another program shares."""
        from ..ops import import_states

        return self._locked.run(
            import_states.import_folder, source, message, progress or no_progress
        )

    def find_last_state(self, branch: str) -> str | None:
        """Return the source's name for the state at the head of a branch, None without one."""
        from ..ops import import_states

        return self._locked.run(import_states.last_imported_revision, branch)
