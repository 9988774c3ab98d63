"""Recording what other programs change, as it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .ledgers import Ledgers

if TYPE_CHECKING:
    from .. import results


class Watching(Ledgers):
    """What a watcher needs of a brain."""

    def record_changes(self, paths: Sequence[str] | None = None) -> results.Recorded:
        """Record the folder as it is, saying in the message what changed.

        With `paths` only what is at or below them is looked at; that nothing is there,
        neither in the folder nor in the head, is no error. Raises as `Brain.snapshot`.
        """
        from ..repo.changes import snapshot_folder, snapshot_paths
        from ..repo.history import describe

        if paths is None:
            done = self._do(
                snapshot_folder.snapshot_folder_auto_message, describe.describe_edits, "watch"
            )
        else:
            done = self._do(
                snapshot_paths.snapshot_paths_auto_message, describe.describe_edits, "watch", paths
            )
        return self._committing(done)
