"""One member of an object of a JSON file set, every other byte kept."""

from __future__ import annotations

import json
import re
from typing import Any

from .jsontext import Node, parse, skip

_BLANK = " \t\r\n"


def load(text: str) -> dict[str, Any]:
    """Return the object that `text` holds, an empty one for none. Raises `ValueError`."""
    value = parse(text).value if text.strip() else {}
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value


def with_entry(text: str, key: str, name: str, entry: dict[str, Any]) -> str:
    """Return `text` with `entry` as the member `name` of the member `key`.

    Raises `ValueError` where the text is not JSON, or not of that shape.
    """
    if not text.strip():
        return json.dumps({key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
    root = parse(text)
    if root.members is None:
        raise ValueError("it is not an object")
    made = _edited(text, root, key, name, entry)
    before = root.value
    if parse(made).value != {**before, key: {**before.get(key, {}), name: entry}}:
        raise ValueError(f"{key} is written in a form that is not changed here")
    return made


def _edited(text: str, root: Node, key: str, name: str, entry: dict[str, Any]) -> str:
    assert root.members is not None
    unit = _indent(text, root)
    servers = root.members.get(key)
    if servers is None:
        return _insert(text, root, key, {name: entry}, unit, 1)
    if servers.members is None:
        raise ValueError(f"{key} is not an object")
    there = servers.members.get(name)
    if there is None:
        return _insert(text, servers, name, entry, unit, 2)
    if there.value == entry:
        return text
    return text[: there.start] + _dumped(text, entry, unit, 2) + text[there.end :]


def _insert(text: str, into: Node, key: str, value: Any, unit: str, depth: int) -> str:
    """Put a member at the end of an object."""
    member = f"{json.dumps(key, ensure_ascii=False)}: {_dumped(text, value, unit, depth)}"
    line = _line_end(text)
    if not into.members:
        filled = f"{line}{unit * depth}{member}{line}{unit * (depth - 1)}"
        inside = text[into.start + 1 : into.end - 1]
        kept = inside.rstrip(_BLANK)  # a comment
        return text[: into.start + 1] + kept + filled + text[into.end - 1 :]
    last = max(node.end for node in into.members.values())
    comma = text[skip(text, last)] == ","
    remarks = text[last : into.end - 1].rstrip(_BLANK)  # after the last member, which has them
    blank = text[last + len(remarks) :]
    return f"{text[:last]}{'' if comma else ','}{remarks}{line}{unit * depth}{member}{blank}"


def _dumped(text: str, value: Any, unit: str, depth: int) -> str:
    made = json.dumps(value, indent=unit, ensure_ascii=False)
    return made.replace("\n", _line_end(text) + unit * depth)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str, root: Node) -> str:
    """Return what the members of the top object are indented by."""
    found = re.match(r"\{[ \t]*\r?\n([ \t]+)", text[root.start :])
    return found[1] if found else "  "
