"""`brain.merge`: merge a revision, and resolve its conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..repo.part import Part
from ..util.progress import no_progress

if TYPE_CHECKING:
    from .. import results
    from ..util.progress import Progress


class MergePart(Part):
    """A merge: started, resolved, then resumed or aborted."""

    def start(
        self,
        rev: str,
        choice: str | None = None,
        message: str = "",
        progress: Progress | None = None,
    ) -> results.Merged:
        """Merge a revision into the current branch.

        `choice` ("ours", "theirs" or "both") decides every conflict. If conflicts remain,
        nothing is recorded: see `list_conflicts`, `resolve` and `resume`.
        Raises `Conflict` (`merging`, `other_brain`).
        """
        from ..ops import merge

        return self._locked.run_write(
            merge.merge_revision, rev, choice, message, progress or no_progress
        )

    def list_conflicts(self) -> list[results.MergeConflict]:
        """Return the conflicts of the unfinished merge; none if there is no merge."""
        from ..ops import merge_state

        return self._locked.run(merge_state.list_conflicts)

    def resolve(self, paths: Sequence[str], choice: str) -> list[results.MergeConflict]:
        """Decide conflicts: "ours", "theirs", "both", or "content" for the edited marker file.

        Raises `NotFound` (`no_merge`, `no_conflict`) or `InvalidInput` (`markers_left`).
        """
        from ..ops import merge

        return self._locked.run(merge.resolve_conflicts, list(paths), choice)

    def resume(self, progress: Progress | None = None) -> results.Merged:
        """Record the unfinished merge, also that of a proposal, once its conflicts are resolved.

        Raises `NotFound` (`no_merge`, `no_proposal`) or `Conflict`.
        """
        from ..ops import proposals

        return self._locked.run_write(proposals.resume_merge_or_accept, progress or no_progress)

    def abort(self) -> list[results.MergeConflict]:
        """Give up the unfinished merge and restore the folder. Raises `NotFound` (`no_merge`)."""
        from ..ops import merge

        return self._locked.run(merge.abort_merge)
