"""Several lines of work, and how they become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from .ledgers import Ledgers
from .opened import given, told

if TYPE_CHECKING:
    from .. import results
    from ..repo.core.checkout import Progress


class Lineage(Ledgers):
    """Branches, merges and forks."""

    def branches(self) -> results.Branches:
        """Return where all branches stand."""
        from ..repo.merge import branches

        return self._do(branches.summarize_branches)

    def create_branch(self, name: str, rev: str = "@") -> results.Branch:
        """Make a branch at a revision. Raises `InvalidInput` or `Conflict` (`branch_exists`)."""
        from ..repo.merge import branches

        return self._do(branches.create_branch, name, rev)

    def delete_branch(self, name: str) -> results.Branch:
        """Remove a branch whose work another one holds.

        Raises `NotFound` (`no_branch`) or `Conflict` (`current_branch`, `not_merged`).
        """
        from ..repo.merge import branches

        return self._do(branches.delete_branch, name)

    def switch(self, name: str, progress: Progress | None = None) -> results.Switched:
        """Go on with another branch; the folder becomes what it holds.

        What would be overwritten unrecorded is recorded first. Raises `NotFound`
        (`no_branch`) or `Conflict` (`merging`).
        """
        from ..repo.merge import branches

        return self._do(branches.switch_branch, name, *given(progress))

    def merge(
        self,
        rev: str,
        choice: str | None = None,
        message: str = "",
        progress: Progress | None = None,
    ) -> results.Merged:
        """Merge a revision into the current branch by what it means.

        `choice` ("ours", "theirs" or "both") decides every conflict. With conflicts
        left nothing is recorded: see `conflicts`, `resolve` and `continue_merge`.
        Raises `Conflict` (`merging`, `other_brain`).
        """
        from ..repo.merge import merge

        done = self._do(merge.merge_revision, rev, choice, message, *given(progress))
        return self._committing(done)

    def conflicts(self) -> list[results.MergeConflict]:
        """Return the conflicts of the merge that waits, if any."""
        from ..repo.merge import merge_state

        return self._do(merge_state.list_conflicts)

    def resolve(self, paths: Sequence[str], choice: str) -> list[results.MergeConflict]:
        """Decide conflicts: "ours", "theirs", "both", or "content" for the edited marker file.

        Raises `NotFound` (`no_merge`, `no_conflict`) or `InvalidInput` (`markers_left`).
        """
        from ..repo.merge import merge

        return self._do(merge.resolve_conflicts, list(paths), choice)

    def continue_merge(self, progress: Progress | None = None) -> results.Merged:
        """Finish the merge that waits; one that accepts a proposal, as `accept_proposal` does.

        Raises `NotFound` (`no_merge`, `no_proposal`) or `Conflict`.
        """
        from ..repo.merge import proposals

        return self._committing(self._do(proposals.resume_merge_or_accept, *given(progress)))

    def abort_merge(self) -> list[results.MergeConflict]:
        """Give the merge that waits up; the brain is as it was. Raises `NotFound`."""
        from ..repo.merge import merge

        return self._do(merge.abort_merge)

    def fork(
        self, path: str | Path, rev: str = "@", progress: Progress | None = None
    ) -> results.Forked:
        """Make a brain of its own in a new folder, from a revision of this one.

        Its genesis names the snapshot it came from. Raises `InvalidInput` (`not_empty`).
        """
        from ..repo.maintenance import fork

        return self._do(fork.fork_brain, Path(path), rev, *given(progress))

    def ancestry(self, old: str, new: str = "@") -> results.Ancestry:
        """Tell whether `new` descends from `old`, and by which way, also across forks."""
        from ..repo.history import descent

        return self._do(descent.find_descent, old, new)

    def export_lineage(self, rev: str = "@") -> Iterator[bytes]:
        """Yield the file of a lineage: its snapshots alone, which show ancestry to anybody."""
        from ..repo.history import descent

        return self._each(descent.export_lineage, rev)

    @staticmethod
    def ancestry_in(source: BinaryIO, old: str, new: str | None = None) -> results.Ancestry:
        """Tell from such a file alone whether `new`, by default its head, descends from `old`.

        Raises `FormatError` for a file that is not whole, `InvalidInput` or `NotFound`.
        """
        from ..repo.history import descent

        return told(descent.find_descent_in_file, source, old, new)
