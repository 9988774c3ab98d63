"""`brain.files`: recorded files, read and changed one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping

    from .. import results
    from ..ops.files import ContentChange


class FilesPart(Part):
    """The files of a brain. Paths are relative to its folder."""

    def list(self, rev: str = "@") -> builtins.list[results.FileInfo]:
        """Return all files at a revision, by section and path, without their content."""
        from ..ops import log

        return self._locked.run(log.list_revision_files, rev)

    def read(self, path: str, rev: str = "@") -> bytes:
        """Return the content of a file at a revision; a link is followed within the brain.

        Raises `NotFound` (`no_path`, `dead_link`, `redacted`) or `InvalidInput` (`too_large`).
        """
        from ..ops import files as edit_files

        return self._locked.run(edit_files.read_file, path, rev)

    def read_stored(self, path: str, rev: str = "@") -> bytes:
        """Return what is stored of a file: of a link, the text that says where it leads.

        Raises `NotFound` (`no_path`, `redacted`) or `InvalidInput` (`too_large`).
        """
        from ..ops import files as edit_files

        return self._locked.run(edit_files.read_stored_file, path, rev)

    def edit(self, path: str, change: ContentChange, *, message: str = "") -> results.Recorded:
        """Replace a file by `change(old)`, and record a snapshot of this file alone.

        `change` gets the content, None for a new file, and returns the new content, None
        to remove the file. It runs under the write lock and sees edits that were made in the
        folder since the last snapshot. If it raises, nothing changes. Raises `InvalidInput`
        or `Conflict` for a path that a brain cannot hold.
        """
        from ..ops import files as edit_files

        return self._locked.run_write(edit_files.edit_file, path, change, message)

    def write(self, path: str, content: bytes | str, *, message: str = "") -> results.Recorded:
        """Write a file and record a snapshot of it. Raises as `edit`."""
        data = content.encode() if isinstance(content, str) else content
        return self.edit(path, lambda _: data, message=message)

    def write_all(
        self, files: Mapping[str, bytes | None], *, message: str = ""
    ) -> results.Recorded:
        """Write files by their paths, None removes one, as one snapshot. Raises as `edit`."""
        from functools import partial

        from ..ops import files as edit_files

        def keep(content: bytes | None, old: bytes | None) -> bytes | None:
            return content

        changes = {path: partial(keep, content) for path, content in files.items()}
        return self._locked.run_write(edit_files.edit_files, changes, message)

    def remove(self, path: str, *, message: str = "") -> results.Recorded:
        """Remove a file and record a snapshot of that. Raises as `edit`."""
        return self.edit(path, lambda _: None, message=message)

    def redact(
        self, path: str, *, reason: str, rev: str = "@", history: bool = False
    ) -> results.Redacted:
        """Destroy the content of a file at a revision, with `history` all it ever had.

        This cannot be undone. The id of the content stays in the lineage, which still
        verifies; the head no longer has the file. Raises `NotFound` (`no_path`, `redacted`),
        `InvalidInput` or `Conflict` (`unrecorded_changes`, `merging`).
        """
        from ..ops import redact

        return self._locked.run(redact.redact_file, path, reason, rev, history)
