"""`brain.branches`: list, create, delete and switch branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part
from ..util.progress import no_progress

if TYPE_CHECKING:
    from .. import results
    from ..util.progress import Progress


class BranchesPart(Part):
    """The branches of a brain."""

    @property
    def current(self) -> str:
        """The name of the current branch."""
        return self._locked.session.current_branch()

    def list(self) -> results.Branches:
        """Return all branches with their heads."""
        from ..ops import branches

        return self._locked.run(branches.summarize_branches)

    def create(self, name: str, rev: str = "@") -> results.Branch:
        """Create a branch at a revision. Raises `InvalidInput` or `Conflict` (`branch_exists`)."""
        from ..ops import branches

        return self._locked.run(branches.create_branch, name, rev)

    def delete(self, name: str) -> results.Branch:
        """Delete a branch that is merged into another one.

        Raises `NotFound` (`no_branch`) or `Conflict` (`current_branch`, `not_merged`).
        """
        from ..ops import branches

        return self._locked.run(branches.delete_branch, name)

    def switch(self, name: str, progress: Progress | None = None) -> results.Switched:
        """Make another branch current and its files those of the folder.

        Files that were changed since the last snapshot are recorded first. Raises `NotFound`
        (`no_branch`) or `Conflict` (`merging`).
        """
        from ..ops import branches

        return self._locked.run(branches.switch_branch, name, progress or no_progress)
