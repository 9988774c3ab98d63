"""Files: read as they are recorded, and changed one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ledgers import Ledgers

if TYPE_CHECKING:
    from .. import results
    from ..repo.open.manifest import MemoryFile
    from ..repo.skills.edit_files import ContentChange


class Files(Ledgers):
    """What an agent does with the files of its brain."""

    def read_file(self, path: str, rev: str = "@") -> bytes:
        """Return the content of a file at a revision.

        Raises `NotFound` (`no_path`, `redacted`) or `InvalidInput` (`too_large`).
        """
        from ..repo.skills import edit_files

        return self._do(edit_files.read_file, path, rev)

    def read_skill(self, slug: str, file: str = "", rev: str = "@") -> results.SkillFile:
        """Return a file of a skill, by default its own text, as it stands.

        `slug` may be SLUG@VERSION. Raises `NotFound` (`no_skill`, `no_version`, `no_file`)
        or `InvalidInput` (`too_large`).
        """
        from ..repo.skills import skill_views

        return self._do(skill_views.read_skill_file, slug, file, rev)

    def files(self, rev: str = "@") -> list[results.FileInfo]:
        """Return all files at a revision, by section and path; no content is read."""
        from ..repo.history import log

        return self._do(log.list_revision_files, rev)

    def edit_file(self, path: str, change: ContentChange, *, message: str = "") -> results.Recorded:
        """Write what `change` makes of a file, and record a snapshot of just that file.

        `change` gets the content, None if there is no file, and returns the new one, None
        to remove it. It is called while no one else writes, with what was last changed by
        hand, so nothing is overwritten unseen; what it raises leaves everything as it was.
        Raises `InvalidInput` or `Conflict` for a path where a brain cannot hold a file.
        """
        from ..repo.skills import edit_files

        return self._committing(self._do(edit_files.edit_file, path, change, message))

    def memory_file(self, target: str) -> MemoryFile:
        """Return where a memory lies, there or not, and how many characters it may have.

        `target` is `memory`, `user`, or the name of a file of JSON Lines.
        Raises `NotFound` (`no_memory`) or `InvalidInput`.
        """
        from ..repo.index import memory_files

        return self._do(memory_files.locate_memory, target)

    def edit_skill(
        self, slug: str, change: ContentChange, *, file: str = "", message: str = ""
    ) -> results.Upserted:
        """Write what `change` makes of a skill, or of one of its files; raise its version.

        As `edit_file`, in one snapshot with the new version. `file` is relative to the
        folder of the skill; a flat skill that gets its first file moves into a folder.
        `slug` may be the path below skills/ of one that shares its slug. Raises as
        `edit_file`, and `NotFound` (`no_skill`).
        """
        from ..repo.skills import edit_files

        return self._committing(self._do(edit_files.edit_skill, slug, file, change, message))
