"""One entry of a map of a YAML file set, every other byte kept."""

from __future__ import annotations

import json
import re
from typing import Any

from brain.errors import InvalidInput
from brain.skills.strict_yaml import compose_file, is_empty, load_mapping

from .comments import remarks_after

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def with_entry(text: str, key: str, name: str, entry: dict[str, Any]) -> str:
    """Return `text` with `entry` under `name` in the map `key` at the top.

    Raises `ValueError` where the text is not YAML as `skills.strict_yaml` takes it, or
    holds that map in another form.
    """
    try:
        before = load_mapping(text)
        servers = before.get(key) or {}
        if not isinstance(servers, dict):
            raise ValueError(f"{key} is not a map")
        if servers.get(name) == entry:
            return text
        made = _edited(text, key, name, entry)
        good = load_mapping(made) == {**before, key: {**servers, name: entry}}
    except InvalidInput as error:
        raise ValueError(error.message) from error
    if not good:
        raise ValueError(f"{key} is written in a form that is not changed here")
    return made


def _edited(text: str, key: str, name: str, entry: dict[str, Any]) -> str:
    top = compose_file(text)
    pairs = {} if top is None else {found.value: value for found, value in top.value}
    line = "\r\n" if "\r\n" in text else "\n"
    if key not in pairs:
        gap = "" if text.endswith("\n") or not text else line
        return f"{text}{gap}{key}:{line}  {_block(name, entry, 2, line)}{line}"
    servers = pairs[key]
    start, end = servers.start_mark.index, servers.end_mark.index
    if is_empty(servers) or not servers.value:
        return f"{text[:start].rstrip(' ')}{line}  {_block(name, entry, 2, line)}{text[end:]}"
    column = servers.start_mark.column
    for found, value in servers.value:
        if found.value == name:
            child, after = found.start_mark.index, value.end_mark.index
            block = _block(name, entry, column, line) + line
            rest = remarks_after(text[child:after]) + text[after:]
            return text[:child] + block + rest
    return f"{text[:start]}{_block(name, entry, column, line)}{line}{' ' * column}{text[start:]}"


def _block(name: str, entry: dict[str, Any], column: int, line: str) -> str:
    """Return the lines of an entry; the first one stands where it is put."""
    head = name if _PLAIN.fullmatch(name) else json.dumps(name)
    inner = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return f"{line}{' ' * (column + 2)}".join([f"{head}:", *inner])
