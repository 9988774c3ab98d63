"""Read and change the entries of a memory file, several changes in one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...errors import InvalidInput, NotFound, printable_text
from ...results import MemoryChanged, MemoryRead
from ..index import memory_entries
from ..index.memory_entries import MemoryEntries, MemoryFormat, ParsedMemory
from ..index.memory_files import find_format, locate_memory
from ..open.session import Session
from .edit_files import edit_file, read_file

_ACTIONS = ("add", "replace", "remove")
ContentCheck = Callable[[bytes | None, bytes | None], None]
"""Gets the old and the new content of a file, None for no file, and may raise."""


class MemoryOperation(NamedTuple):
    """One change: `action` is "add" (`content`), "replace" (both) or "remove" (`old_text`).

    `old_text` is text of the one entry that is replaced or removed.
    """

    action: str
    content: str = ""
    old_text: str = ""


def read_memory(session: Session, target: str) -> MemoryRead:
    """Return the entries of a memory; none if its file does not exist.

    Raises as `locate_memory`, and `InvalidInput` (`not_text`).
    """
    file = locate_memory(session, target)
    try:
        content: bytes | None = read_file(session, file.path)
    except NotFound:
        content = None
    memory = _parse_content(content, find_format(file.path), file.path)
    return MemoryRead(
        path=file.path,
        text=memory_entries.format_memory(memory._replace(leading="", trailing="\n")),
        entries=[entry.text for entry in memory.entries],
        characters=memory_entries.entries_size(memory.entries),
        limit=file.limit,
    )


def edit_memory(
    session: Session,
    target: str,
    operations: Sequence[MemoryOperation],
    message: str = "",
    check: ContentCheck | None = None,
) -> MemoryChanged:
    """Apply all operations in one snapshot, or none if one fails.

    Raises as `locate_memory`, and `InvalidInput` (`no_match`, `ambiguous`, `memory_full`,
    `not_text`, `bad_arguments`), or what `check` raises.
    """
    file = locate_memory(session, target)
    memory_format = find_format(file.path)
    entries: MemoryEntries = []

    def change(content: bytes | None) -> bytes | None:
        before = _parse_content(content, memory_format, file.path)
        after = _apply_operations(before, operations, memory_format)
        _check_limit(before.entries, after.entries, file.limit, file.path)
        entries[:] = after.entries
        new = content
        if after != before:
            last = before.entries[-1].text if before.entries else ""
            new = memory_entries.format_memory(after, last).encode()
        if check is not None:
            check(content, new)
        return new

    recorded = edit_file(session, file.path, change, message or _summarize(operations, file.path))
    return MemoryChanged(
        path=file.path,
        entries=len(entries),
        characters=memory_entries.entries_size(entries),
        limit=file.limit,
        snapshot=recorded.snapshot,
        changed=recorded.changed,
    )


def _parse_content(content: bytes | None, memory_format: MemoryFormat, path: str) -> ParsedMemory:
    try:
        return memory_entries.parse_memory((content or b"").decode(), memory_format)
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{printable_text(path)} is not UTF-8 text, so it cannot be edited as memory",
            code="not_text",
            hint="save it in UTF-8, or choose another memory",
        ) from error


def _apply_operations(
    memory: ParsedMemory, operations: Sequence[MemoryOperation], memory_format: MemoryFormat
) -> ParsedMemory:
    for number, operation in enumerate(operations, 1):
        try:
            memory = _apply_operation(memory, operation, memory_format)
        except InvalidInput as error:
            if len(operations) > 1:
                place = f"operation {number} of {len(operations)}"
                error.message = f"{place}: {error.message}. None was done"
            raise
    return memory


def _apply_operation(
    memory: ParsedMemory, operation: MemoryOperation, memory_format: MemoryFormat
) -> ParsedMemory:
    if operation.action == "add":
        return memory_entries.add_entry(memory, operation.content, memory_format)
    if operation.action == "replace":
        old_text, content = operation.old_text, operation.content
        return memory_entries.replace_entry(memory, old_text, content, memory_format)
    if operation.action == "remove":
        return memory_entries.remove_entry(memory, operation.old_text)
    raise InvalidInput(
        f"there is no memory action {printable_text(operation.action)}",
        code="bad_arguments",
        hint=f"the actions are: {', '.join(_ACTIONS)}",
    )


def _check_limit(before: MemoryEntries, after: MemoryEntries, limit: int, path: str) -> None:
    old_size, new_size = memory_entries.entries_size(before), memory_entries.entries_size(after)
    if new_size <= max(limit, old_size):
        return
    raise InvalidInput(
        f"{printable_text(path)} would have {new_size} of {limit} characters; it has {old_size}",
        code="memory_full",
        hint="make room in the same call, with operations that remove or shorten entries:\n"
        + memory_entries.format_entry_list(before)
        if before
        else "say it shorter",
    )


def _summarize(operations: Sequence[MemoryOperation], path: str) -> str:
    actions = [operation.action for operation in operations]
    counts = (f"{name} {actions.count(name)}" for name in _ACTIONS if name in actions)
    return f"{', '.join(counts)} in {path}"
