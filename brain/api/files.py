"""`brain.files`, `brain.memory` and `brain.prompt`: what a brain holds, as agents get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part, lazy, reads, writes

if TYPE_CHECKING:
    from ..ops import files, log, memory, prompt, redact
else:
    lazy(globals(), "ops", "files log memory prompt redact")


class FilesPart(Part):
    """The files of a brain. Paths are relative to its folder."""

    list = reads(lambda: log.list_revision_files)
    read = reads(lambda: files.read)
    read_stored = reads(lambda: files.read_stored)
    edit = writes(lambda: files.edit)
    write = writes(lambda: files.write)
    write_all = writes(lambda: files.write_all)
    remove = writes(lambda: files.remove)
    redact = reads(lambda: redact.redact)


class MemoryPart(Part):
    """Memory files of an agent.

    A target is `memory` (MEMORY.md), `user` (USER.md), or the name of a JSON Lines file. In the
    home of a program they are the files in which it keeps memory, such as CLAUDE.md, and the
    path of another of them is a target too.
    Entries of Markdown are separated by a line `§`; in JSON Lines each line is an entry.
    `old_text` is text of exactly one entry.
    """

    locate = reads(lambda: memory.locate)
    list_targets = reads(lambda: memory.list_targets)
    list_shown = reads(lambda: memory.list_shown)
    read = reads(lambda: memory.read)
    add = writes(lambda: memory.add)
    replace = writes(lambda: memory.replace)
    remove = writes(lambda: memory.remove)
    apply = writes(lambda: memory.apply)


class PromptPart(Part):
    """Build the index and the system prompt; keywords are those of `brain.ops.prompt.IndexOptions`.

    An unknown one raises `TypeError`.
    """

    build_index = reads(lambda: prompt.build_index)
    build_framed_index = reads(lambda: prompt.build_framed_index)
    build_framed_memory = reads(lambda: prompt.build_framed_memory)
    build_framed_page = reads(lambda: prompt.build_framed_page)
    build_pages = reads(lambda: prompt.build_pages)
    build = reads(lambda: prompt.build)
