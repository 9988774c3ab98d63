"""The tool memory: read and change the entries of MEMORY.md, USER.md and JSON Lines files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import NotFound, ToolFailure, printable_text
from ...skills.visible_text import clean_text
from . import memory_entries
from .memory_entries import MemoryEntries, MemoryFormat, ParsedMemory
from .secret_guard import guard_change
from .skill_read import MAX_FILE_CHARS
from .tool import ToolResult
from .tool_definitions import MEMORY_ACTIONS

if TYPE_CHECKING:
    from ...api.brain import Brain

Arguments = dict[str, Any]
_REQUIRED_ARGUMENTS = {
    "add": ("content",),
    "replace": ("old_text", "content"),
    "remove": ("old_text",),
}


def memory(brain: Brain, arguments: Arguments) -> ToolResult:
    """Read one memory, or change its entries in one snapshot."""
    file = brain.memory_file(arguments["target"])
    memory_format = (
        memory_entries.NOTE_FORMAT if file.path.endswith(".md") else memory_entries.JSONL_FORMAT
    )
    steps = _parse_changes(arguments)
    if not steps:
        return _read_memory(brain, file.path, file.limit, memory_format)
    seen: list[MemoryEntries] = []

    def change(content: bytes | None) -> bytes | None:
        before = _parse_content(content, memory_format, file.path)
        after = before
        for number, step in enumerate(steps, 1):
            try:
                after = _apply_change(after, step, memory_format)
            except ToolFailure as error:
                if len(steps) == 1:
                    raise
                message = f"Operation {number} of {len(steps)}: {error.message} None was done."
                raise ToolFailure(message, code=error.code, hint=error.hint) from error
        _check_limit(before.entries, after.entries, file.limit, file.path)
        seen.append(after.entries)
        if after == before:
            return content
        last = before.entries[-1].text if before.entries else ""
        return memory_entries.format_memory(after, last).encode()

    message = f"{_changes_summary(steps)} {file.path}"
    done = brain.edit_file(file.path, guard_change(brain, change), message=message)
    after = seen[-1]
    data = {
        "path": file.path,
        "entries": len(after),
        "characters": memory_entries.entries_size(after),
        "limit": file.limit,
        "snapshot": done.snapshot,
    }
    what = "Remembered" if done.changed else "Nothing to do: it is there already"
    return ToolResult(f"{what}. {_usage_text(file.path, after, file.limit)}", data, done.changed)


def _parse_changes(arguments: Arguments) -> list[Arguments]:
    """Return the requested changes, none to read. Raises `ToolFailure`."""
    one: Arguments = {
        key: arguments[key] for key in ("action", "content", "old_text") if key in arguments
    }
    steps: list[Arguments] = arguments.get("operations", [])
    if steps and one:
        raise ToolFailure("Give operations alone, or one action.", code="bad_arguments")
    steps = steps or [one]
    if steps == [{"action": "read"}]:
        return []
    for step in steps:
        if step.get("action") not in MEMORY_ACTIONS:
            raise ToolFailure(
                "action is missing." if "action" not in step else "read stands alone.",
                code="bad_arguments",
                hint=f"It is one of {', '.join(MEMORY_ACTIONS)}.",
            )
        for name in _REQUIRED_ARGUMENTS[step["action"]]:
            if not step.get(name, "").strip():
                raise ToolFailure(
                    f"{name} is missing: {step['action']} needs it.", code="bad_arguments"
                )
    return steps


def _apply_change(
    before: ParsedMemory, step: Arguments, memory_format: MemoryFormat
) -> ParsedMemory:
    if step["action"] == "add":
        return memory_entries.add_entry(before, step["content"], memory_format)
    if step["action"] == "replace":
        return memory_entries.replace_entry(
            before, step["old_text"], step["content"], memory_format
        )
    return memory_entries.remove_entry(before, step["old_text"])


def _read_memory(brain: Brain, path: str, limit: int, memory_format: MemoryFormat) -> ToolResult:
    try:
        content: bytes | None = brain.read_file(path)
    except NotFound:
        content = None
    memory = _parse_content(content, memory_format, path)
    found = memory.entries
    text = clean_text(memory_entries.format_memory(memory._replace(leading="", trailing="\n")))
    data = {
        "path": path,
        "entries": len(found),
        "characters": memory_entries.entries_size(found),
        "limit": limit,
        "content": text[-MAX_FILE_CHARS:],
    }
    return ToolResult(f"{text[-MAX_FILE_CHARS:]}({_usage_text(path, found, limit)})", data, False)


def _parse_content(content: bytes | None, memory_format: MemoryFormat, path: str) -> ParsedMemory:
    try:
        return memory_entries.parse_memory((content or b"").decode(), memory_format)
    except UnicodeDecodeError as error:
        raise ToolFailure(f"{printable_text(path)} is not a text.", code="not_text") from error


def _check_limit(before: MemoryEntries, after: MemoryEntries, limit: int, path: str) -> None:
    now, then = memory_entries.entries_size(before), memory_entries.entries_size(after)
    if then <= limit or then <= now:
        return
    raise ToolFailure(
        f"{printable_text(path)} would have {then} of {limit} characters; it has {now}.",
        code="memory_full",
        hint="Make room in the same call, with operations that remove or shorten entries:\n"
        + memory_entries.format_entry_list(before)
        if before
        else "Say it shorter.",
    )


def _usage_text(path: str, there: MemoryEntries, limit: int) -> str:
    number = f"{len(there)} {'entry' if len(there) == 1 else 'entries'}"
    size = memory_entries.entries_size(there)
    return f"{printable_text(path)}: {number}, {size} of {limit} characters"


def _changes_summary(steps: list[Arguments]) -> str:
    done = [step["action"] for step in steps]
    return (
        ", ".join(f"{name} {done.count(name)}" for name in MEMORY_ACTIONS if name in done) + " in"
    )
