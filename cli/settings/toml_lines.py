"""Set fields of a table in a TOML file, line by line; every other byte stays.

tomlkit, which rewrites what it read, loses comments next to a table that is replaced (decision 20).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def set_toml(text: str, table: Sequence[str], fields: Mapping[str, Any]) -> str:
    """Return `text` with `fields` of a table set: texts, numbers, lists of them; None removes one.

    A table without fields goes. Raises `ValueError` if the text is not TOML, or holds the table
    in a form that lines cannot change.
    """
    wanted = _with_fields(tomllib.loads(text), table, fields)
    lines: list[str] = _LINE.findall(text)
    end = "\r\n" if "\r\n" in text else "\n"
    heads = [at for at, line in enumerate(lines) if line.lstrip().startswith("[")]
    head = next((at for at in heads if _header(lines[at]) == list(table)), None)
    if head is not None:
        stop = next((at for at in heads if at > head), len(lines))
        _set_in_table(lines, head, stop, fields, end)
    elif new := [f"{_key(k)} = {_value(v)}{end}" for k, v in fields.items() if v is not None]:
        gap = end if not text or text.endswith("\n") else end * 2
        lines += [gap if text else "", f"[{'.'.join(map(_key, table))}]{end}", *new]
    result = "".join(lines)
    if _pruned(_parse(result)) != _pruned(wanted):
        raise ValueError(f"{'.'.join(table)} has a form that cannot be edited safely")
    return result


def _parse(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _set_in_table(
    lines: list[str], head: int, stop: int, fields: Mapping[str, Any], end: str
) -> None:
    """Change the fields of the table between two lines."""
    new = {key: value for key, value in fields.items() if value is not None}
    left, last = 0, head
    for key, start, after in list(_assignments(lines, head + 1, stop)):
        last = start
        if key in fields:
            comment = _comment("".join(lines[start:after]))
            lines[start:after] = [""] * (after - start)
            if key not in new:
                continue
            lines[start] = f"{_key(key)} = {_value(new.pop(key))}{comment}{end}"
        left += 1
        last = after - 1
    if new:
        gap = "" if not lines[last] or lines[last].endswith("\n") else end
        added = "".join(f"{_key(key)} = {_value(value)}{end}" for key, value in new.items())
        lines[last] += gap + added
    elif not left:
        lines[head] = ""


def _assignments(lines: list[str], at: int, stop: int) -> Iterator[tuple[str, int, int]]:
    """Yield the key of each assignment, its first line, and the line after it."""
    while at < stop:
        for after in range(at + 1, stop + 1):
            found = _parse("".join(lines[at:after]))
            if found is not None:  # else it is an array, or a text, of several lines
                yield from ((key, at, after) for key in found)
                at = after - 1
                break
        at += 1


def _comment(assignment: str) -> str:
    """Return the comment at the end of an assignment, with the blanks before it."""
    line = assignment.rstrip("\r\n")
    starts = (found.start() for found in re.finditer(r"[ \t]*#", line))
    return next((line[at:] for at in starts if _parse(line[:at]) is not None), "")


def _header(line: str) -> list[str]:
    """Return the names in the heading of a table, none for another line."""
    names: list[str] = []
    found: Any = _parse(line)
    while isinstance(found, dict) and found:
        ((name, found),) = found.items()
        names.append(name)
    return names


def _with_fields(
    found: dict[str, Any], table: Sequence[str], fields: Mapping[str, Any]
) -> dict[str, Any]:
    if not table:
        changed = {**found, **fields}
        return {key: value for key, value in changed.items() if value is not None}
    below = found.get(table[0], {})
    if not isinstance(below, dict):
        raise ValueError(f"{table[0]} is not a table")
    return {**found, table[0]: _with_fields(below, table[1:], fields)}


def _pruned(value: Any) -> Any:
    """Return tables without those in them that hold nothing."""
    if not isinstance(value, dict):
        return value
    return {key: below for key, each in value.items() if (below := _pruned(each)) != {}}


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
