"""One table of a TOML file set, every other byte kept."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from .comments import remarks_after


def with_entry(text: str, key: str, name: str, entry: dict[str, Any]) -> str:
    """Return `text` with `entry` as the table `key.name`.

    Raises `ValueError` where the text is not TOML, or holds that table in another form.
    """
    found = tomllib.loads(text)
    servers = found.get(key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{key} is not a table")
    if servers.get(name) == entry:
        return text
    line = "\r\n" if "\r\n" in text else "\n"
    table = line.join(_lines(key, name, entry)) + line
    if name in servers:
        made = _replaced(text, key, name, table)
    else:
        gap = line if text.strip() else ""
        made = text + ("" if text.endswith("\n") or not text else line) + gap + table
    try:
        good = tomllib.loads(made) == {**found, key: {**servers, name: entry}}
    except tomllib.TOMLDecodeError:
        good = False
    if not good:
        raise ValueError(f"{key} is written in a form that is not changed here")
    return made


def _lines(key: str, name: str, entry: dict[str, Any]) -> list[str]:
    return [f"[{key}.{_key(name)}]", *(f"{_key(k)} = {_value(v)}" for k, v in entry.items())]


def _replaced(text: str, key: str, name: str, table: str) -> str:
    """Replace the table from its heading to the next one that is not below it."""
    own = rf"\[\s*{re.escape(key)}\s*\.\s*[\"']?{re.escape(name)}[\"']?\s*"
    start = re.search(rf"^[ \t]*{own}\]", text, re.MULTILINE)
    if start is None:
        return text
    rest = text[start.end() :]
    following = re.search(rf"^(?=[ \t]*\[)(?![ \t]*{own}\.)", rest, re.MULTILINE)
    end = start.end() + (following.start() if following else len(rest))
    return text[: start.start()] + table + remarks_after(text[start.start() : end]) + text[end:]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
