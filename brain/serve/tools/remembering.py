"""memory: short notes that last, in MEMORY.md, USER.md and JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import NotFound, ToolFailure, printable
from ...skills.text import clean
from . import entries
from .definitions import CHANGES
from .entries import Entries, Kind, Memory
from .guarding import vetted
from .reading import MOST_SHOWN
from .tool import Answer

if TYPE_CHECKING:
    from ...brain import Brain

Given = dict[str, Any]
_NEEDED = {"add": ("content",), "replace": ("old_text", "content"), "remove": ("old_text",)}


def memory(brain: Brain, given: Given) -> Answer:
    """Change the entries of one memory, in one snapshot, or read them."""
    file = brain.memory_file(given["target"])
    kind = entries.NOTES if file.path.endswith(".md") else entries.RECORDS
    steps = _steps(given)
    if not steps:
        return _read(brain, file.path, file.limit, kind)
    seen: list[Entries] = []

    def change(content: bytes | None) -> bytes | None:
        before = _cut(content, kind, file.path)
        after = before
        for number, step in enumerate(steps, 1):
            try:
                after = _stepped(after, step, kind)
            except ToolFailure as error:
                if len(steps) == 1:
                    raise
                message = f"Operation {number} of {len(steps)}: {error.message} None was done."
                raise ToolFailure(message, code=error.code, hint=error.hint) from error
        _check_room(before.entries, after.entries, file.limit, file.path)
        seen.append(after.entries)
        if after == before:
            return content
        last = before.entries[-1].text if before.entries else ""
        return entries.written(after, last).encode()

    message = f"{_summary(steps)} {file.path}"
    done = brain.edit_file(file.path, vetted(brain, change), message=message)
    after = seen[-1]
    data = {
        "path": file.path,
        "entries": len(after),
        "characters": entries.size(after),
        "limit": file.limit,
        "snapshot": done.snapshot,
    }
    what = "Remembered" if done.changed else "Nothing to do: it is there already"
    return Answer(f"{what}. {_usage(file.path, after, file.limit)}", data, done.changed)


def _steps(given: Given) -> list[Given]:
    """Return the changes that are asked for, none to read. Raises `ToolFailure`."""
    one: Given = {key: given[key] for key in ("action", "content", "old_text") if key in given}
    steps: list[Given] = given.get("operations", [])
    if steps and one:
        raise ToolFailure("Give operations alone, or one action.", code="bad_arguments")
    steps = steps or [one]
    if steps == [{"action": "read"}]:
        return []
    for step in steps:
        if step.get("action") not in CHANGES:
            raise ToolFailure(
                "action is missing." if "action" not in step else "read stands alone.",
                code="bad_arguments",
                hint=f"It is one of {', '.join(CHANGES)}.",
            )
        for name in _NEEDED[step["action"]]:
            if not step.get(name, "").strip():
                raise ToolFailure(
                    f"{name} is missing: {step['action']} needs it.", code="bad_arguments"
                )
    return steps


def _stepped(before: Memory, step: Given, kind: Kind) -> Memory:
    if step["action"] == "add":
        return entries.added(before, step["content"], kind)
    if step["action"] == "replace":
        return entries.replaced(before, step["old_text"], step["content"], kind)
    return entries.removed(before, step["old_text"])


def _read(brain: Brain, path: str, limit: int, kind: Kind) -> Answer:
    try:
        content: bytes | None = brain.read_file(path)
    except NotFound:
        content = None
    memory = _cut(content, kind, path)
    found = memory.entries
    text = clean(entries.written(memory._replace(above="", below="\n")))
    data = {
        "path": path,
        "entries": len(found),
        "characters": entries.size(found),
        "limit": limit,
        "content": text[-MOST_SHOWN:],
    }
    return Answer(f"{text[-MOST_SHOWN:]}({_usage(path, found, limit)})", data, False)


def _cut(content: bytes | None, kind: Kind, path: str) -> Memory:
    try:
        return entries.read((content or b"").decode(), kind)
    except UnicodeDecodeError as error:
        raise ToolFailure(f"{printable(path)} is not a text.", code="not_text") from error


def _check_room(before: Entries, after: Entries, limit: int, path: str) -> None:
    now, then = entries.size(before), entries.size(after)
    if then <= limit or then <= now:
        return
    raise ToolFailure(
        f"{printable(path)} would have {then} of {limit} characters; it has {now}.",
        code="memory_full",
        hint="Make room in the same call, with operations that remove or shorten entries:\n"
        + entries.listed(before)
        if before
        else "Say it shorter.",
    )


def _usage(path: str, there: Entries, limit: int) -> str:
    number = f"{len(there)} {'entry' if len(there) == 1 else 'entries'}"
    return f"{printable(path)}: {number}, {entries.size(there)} of {limit} characters"


def _summary(steps: list[Given]) -> str:
    done = [step["action"] for step in steps]
    return ", ".join(f"{name} {done.count(name)}" for name in CHANGES if name in done) + " in"
