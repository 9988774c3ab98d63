"""The tool memory: read and change the entries of MEMORY.md, USER.md and JSON Lines files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import BrainError, InvalidInput, ToolFailure, printable_text
from ...merging.memory_entries import MemoryOperation
from ...skills.visible_text import clean_text
from .checks import NewSecretCheck
from .definitions import (
    DEFAULT_SHOWN,
    MEMORY,
    MEMORY_ACTIONS,
    MEMORY_SHOWN,
    Tool,
    ToolResult,
    notice_line,
    pick_fields,
)
from .skills import MAX_FILE_CHARS

if TYPE_CHECKING:
    from ...api.brain import Brain

Arguments = dict[str, Any]
_MAX_TARGETS_CHARS = 400
_ENTRY_CODES = ("no_match", "ambiguous", "memory_full", "not_text", "bad_arguments")
_REQUIRED_ARGUMENTS = {
    "add": ("content",),
    "replace": ("old_text", "content"),
    "remove": ("old_text",),
}


def memory(brain: Brain, arguments: Arguments) -> ToolResult:
    """Change the entries of one memory, in one snapshot, or read them."""
    changes = _parse_changes(arguments)
    if not changes:
        return _read_memory(brain, arguments["target"])
    operations = [
        MemoryOperation(
            change["action"],
            content=change.get("content", ""),
            old_text=change.get("old_text", ""),
        )
        for change in changes
    ]
    check = NewSecretCheck(brain)
    try:
        changed = brain.memory.apply(arguments["target"], operations, check=check)
    except InvalidInput as error:
        raise _tool_failure(error) from error
    data = pick_fields(changed, "path", "entries", "characters", "limit", "snapshot")
    verb = "Remembered" if changed.changed else "Nothing to do: it is there already"
    usage = _usage_text(changed.path, changed.entries, changed.characters, changed.limit)
    text = "\n".join([f"{verb}. {usage}", *map(notice_line, check.doubts)])
    return ToolResult(text, data, changed.changed)


def describe_memory(brain: Brain, *, is_proposed: bool = False) -> Tool:
    """Return the definition of memory for a brain: it promises only what is so.

    That is which entries a session sees at its start, with `is_proposed` only what a person
    accepted; and the files in which a program's home keeps memory.
    """
    shown = brain.memory.list_shown()
    promise = MEMORY_SHOWN.replace(DEFAULT_SHOWN, " and ".join(shown)) if shown else ""
    if is_proposed:
        promise = promise.replace("you see", "you see, once a person accepted them,")
    text = MEMORY.description.replace(MEMORY_SHOWN, promise)
    targets = brain.memory.list_targets()
    if any(" (" in target for target in targets):
        names = printable_text(", ".join(targets), _MAX_TARGETS_CHARS)
        text += f"\n\nTargets in this home: {names}."
    return replace(MEMORY, description=text)


def _parse_changes(arguments: Arguments) -> list[Arguments]:
    """Return the requested changes, none to read. Raises `ToolFailure`."""
    single_change: Arguments = {
        key: arguments[key] for key in ("action", "content", "old_text") if key in arguments
    }
    steps: list[Arguments] = arguments.get("operations", [])
    if steps and single_change:
        raise ToolFailure(
            "Give operations alone, or one action.",
            code="bad_arguments",
            hint="Put all changes into operations, or give one action with its fields.",
        )
    steps = steps or [single_change]
    if steps == [{"action": "read"}]:
        return []
    for step in steps:
        if step.get("action") not in MEMORY_ACTIONS:
            raise ToolFailure(
                "action is missing."
                if "action" not in step
                else "read cannot be one of several operations.",
                code="bad_arguments",
                hint=f"It is one of {', '.join(MEMORY_ACTIONS)}.",
            )
        for name in _REQUIRED_ARGUMENTS[step["action"]]:
            if not step.get(name, "").strip():
                raise ToolFailure(
                    f"{name} is missing: {step['action']} needs it.",
                    code="bad_arguments",
                    hint="Call memory again with it.",
                )
    return steps


def _read_memory(brain: Brain, target: str) -> ToolResult:
    try:
        memory = brain.memory.read(target)
    except InvalidInput as error:
        raise _tool_failure(error) from error
    text = clean_text(memory.text)
    data = {
        "path": memory.path,
        "entries": len(memory.entries),
        "characters": memory.characters,
        "limit": memory.limit,
        "content": text[-MAX_FILE_CHARS:],
    }
    usage = _usage_text(memory.path, len(memory.entries), memory.characters, memory.limit)
    return ToolResult(f"{text[-MAX_FILE_CHARS:]}({usage})", data, False)


def _tool_failure(error: InvalidInput) -> BrainError:
    """Return the error as a tool failure if it is about the entries: its hint then has lines."""
    if error.code not in _ENTRY_CODES:
        return error
    message = error.message
    if error.code != "bad_arguments":  # begins with the name of an argument
        message = message[0].upper() + message[1:]
    hint = error.hint[:1].upper() + error.hint[1:]
    return ToolFailure(f"{message}.", code=error.code, hint=hint)


def _usage_text(path: str, entries: int, characters: int, limit: int) -> str:
    number = f"{entries} {'entry' if entries == 1 else 'entries'}"
    return f"{printable_text(path)}: {number}, {characters} of {limit} characters"
