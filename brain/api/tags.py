"""`brain.tags`: names of snapshots that never move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part

if TYPE_CHECKING:
    import builtins

    from .. import results


class TagsPart(Part):
    """The tags of a brain; each is a revision, as a branch is."""

    def list(self) -> builtins.list[results.Tag]:
        """Return all tags by name."""
        from ..ops import branches

        return self._locked.run(branches.list_tags)

    def create(self, name: str, rev: str = "@") -> results.Tag:
        """Name a snapshot; it is signed too where new snapshots are.

        Raises `InvalidInput` (`bad_tag`), or `Conflict` (`tag_exists`, `branch_exists`).
        """
        from ..ops import branches

        return self._locked.run(branches.create_tag, name, rev)

    def delete(self, name: str) -> results.Tag:
        """Delete a tag. Raises `NotFound` (`no_tag`)."""
        from ..ops import branches

        return self._locked.run(branches.delete_tag, name)
