"""`brain.memory`: read and change the entries of memory files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..repo.part import Part

if TYPE_CHECKING:
    from .. import results
    from ..ops.memory import ContentCheck, MemoryOperation
    from ..repo.manifest import MemoryFile


class MemoryPart(Part):
    """Memory files of an agent.

    A target is `memory` (MEMORY.md), `user` (USER.md), or the name of a JSON Lines file. In the
    home of a program they are the files in which it keeps memory, such as CLAUDE.md, and the
    path of another of them is a target too.
    Entries of Markdown are separated by a line `§`; in JSON Lines each line is an entry.
    `old_text` is text of exactly one entry. All methods raise `NotFound` (`no_memory`) or
    `InvalidInput` (`not_text`); changes also `no_match`, `ambiguous`, `memory_full` and
    `bad_arguments`.
    """

    def locate(self, target: str) -> MemoryFile:
        """Return the path of a memory, which may not exist yet, and its limit in characters."""
        from ..ops import memory

        return self._locked.run(memory.locate_memory, target)

    def list_targets(self) -> list[str]:
        """Return the targets that there are; in the home of a program with their paths."""
        from ..ops import memory

        return self._locked.run(memory.list_targets)

    def list_shown(self) -> list[str]:
        """Return those of the targets memory and user whose entries every session is shown."""
        from ..ops import memory

        return self._locked.run(memory.list_shown_targets)

    def read(self, target: str = "memory") -> results.MemoryRead:
        """Return the recorded entries of a memory; none if its file does not exist."""
        from ..ops import memory

        return self._locked.run(memory.read_memory, target)

    def add(self, target: str, content: str, *, message: str = "") -> results.MemoryChanged:
        """Add an entry at the end, unless the same entry exists."""
        from ..ops.memory import MemoryOperation

        return self.apply(target, [MemoryOperation("add", content=content)], message=message)

    def replace(
        self, target: str, old_text: str, content: str, *, message: str = ""
    ) -> results.MemoryChanged:
        """Replace the entry with `old_text`."""
        from ..ops.memory import MemoryOperation

        operation = MemoryOperation("replace", content=content, old_text=old_text)
        return self.apply(target, [operation], message=message)

    def remove(self, target: str, old_text: str, *, message: str = "") -> results.MemoryChanged:
        """Remove the entry with `old_text`."""
        from ..ops.memory import MemoryOperation

        return self.apply(target, [MemoryOperation("remove", old_text=old_text)], message=message)

    def apply(
        self,
        target: str,
        operations: Sequence[MemoryOperation],
        *,
        message: str = "",
        check: ContentCheck | None = None,
    ) -> results.MemoryChanged:
        """Apply several changes in one snapshot, or none if one fails.

        `check` gets the old and the new content of the file, and may raise.
        """
        from ..ops import memory

        return self._locked.run_write(memory.edit_memory, target, operations, message, check)
