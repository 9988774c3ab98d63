"""Set one entry of a TOML or YAML file; every other byte stays."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

from brain.errors import InvalidInput
from brain.skills.strict_yaml import compose_yaml_file, is_null_node, load_yaml_file


def trailing_comments(block: str) -> str:
    """Return the blank lines and comment lines at the end of `block`."""
    lines = block.splitlines(keepends=True)
    first = len(lines)
    while first and (not lines[first - 1].strip() or lines[first - 1].lstrip().startswith("#")):
        first -= 1
    return "".join(lines[first:])


def set_toml_entry(text: str, keys: Sequence[str], name: str, entry: dict[str, Any]) -> str:
    """Return `text` with `entry` as the table `key.name`; there is one key.

    Raises `ValueError` if the text is not TOML, or has the table in another form.
    """
    (key,) = keys
    found = tomllib.loads(text)
    servers = found.get(key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{key} is not a table")
    if servers.get(name) == entry:
        return text
    line = "\r\n" if "\r\n" in text else "\n"
    table = line.join(_toml_table_lines(key, name, entry)) + line
    if name in servers:
        made = _replace_toml_table(text, key, name, table)
    else:
        gap = line if text.strip() else ""
        made = text + ("" if text.endswith("\n") or not text else line) + gap + table
    try:
        good = tomllib.loads(made) == {**found, key: {**servers, name: entry}}
    except tomllib.TOMLDecodeError:
        good = False
    if not good:
        raise ValueError(f"{key} has a form that cannot be edited safely")
    return made


def _toml_table_lines(key: str, name: str, entry: dict[str, Any]) -> list[str]:
    return [
        f"[{key}.{_toml_key(name)}]",
        *(f"{_toml_key(k)} = {_toml_value(v)}" for k, v in entry.items()),
    ]


def _replace_toml_table(text: str, key: str, name: str, table: str) -> str:
    """Replace the table from its heading to the next one that is not below it."""
    own = rf"\[\s*{re.escape(key)}\s*\.\s*[\"']?{re.escape(name)}[\"']?\s*"
    start = re.search(rf"^[ \t]*{own}\]", text, re.MULTILINE)
    if start is None:
        return text
    rest = text[start.end() :]
    following = re.search(rf"^(?=[ \t]*\[)(?![ \t]*{own}\.)", rest, re.MULTILINE)
    end = start.end() + (following.start() if following else len(rest))
    return text[: start.start()] + table + trailing_comments(text[start.start() : end]) + text[end:]


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml_value(name)


def _toml_value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_PLAIN_YAML_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def set_yaml_entry(text: str, keys: Sequence[str], name: str, entry: dict[str, Any]) -> str:
    """Return `text` with `entry` under `name` in the map at the top with the one key.

    Raises `ValueError` if `skills.strict_yaml` refuses the text, or if it has the map in
    another form.
    """
    (key,) = keys
    try:
        before = load_yaml_file(text)
        servers = before.get(key) or {}
        if not isinstance(servers, dict):
            raise ValueError(f"{key} is not a map")
        if servers.get(name) == entry:
            return text
        made = _edit_yaml(text, key, name, entry)
        good = load_yaml_file(made) == {**before, key: {**servers, name: entry}}
    except InvalidInput as error:
        raise ValueError(error.message) from error
    if not good:
        raise ValueError(f"{key} has a form that cannot be edited safely")
    return made


def _edit_yaml(text: str, key: str, name: str, entry: dict[str, Any]) -> str:
    top = compose_yaml_file(text)
    pairs = {} if top is None else {found.value: value for found, value in top.value}
    line = "\r\n" if "\r\n" in text else "\n"
    if key not in pairs:
        gap = "" if text.endswith("\n") or not text else line
        return f"{text}{gap}{key}:{line}  {_yaml_block(name, entry, 2, line)}{line}"
    servers = pairs[key]
    start, end = servers.start_mark.index, servers.end_mark.index
    if is_null_node(servers) or not servers.value:
        return f"{text[:start].rstrip(' ')}{line}  {_yaml_block(name, entry, 2, line)}{text[end:]}"
    column = servers.start_mark.column
    for found, value in servers.value:
        if found.value == name:
            child, after = found.start_mark.index, value.end_mark.index
            block = _yaml_block(name, entry, column, line) + line
            rest = trailing_comments(text[child:after]) + text[after:]
            return text[:child] + block + rest
    return (
        f"{text[:start]}{_yaml_block(name, entry, column, line)}{line}{' ' * column}{text[start:]}"
    )


def _yaml_block(name: str, entry: dict[str, Any], column: int, line: str) -> str:
    """Return the lines of an entry; without the indentation of the first one."""
    head = name if _PLAIN_YAML_KEY.fullmatch(name) else json.dumps(name)
    inner = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return f"{line}{' ' * (column + 2)}".join([f"{head}:", *inner])
