"""Set one member of a JSON file with comments; every other byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

MAX_SETTINGS_DEPTH = 100

_BLANKS_AND_COMMENTS = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_DECODER = json.JSONDecoder()
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")


class JsonNode(NamedTuple):
    """A value and the range of its text; an object also has its members by key."""

    value: Any
    start: int
    end: int
    members: dict[str, JsonNode] | None


def parse_json_nodes(text: str) -> JsonNode:
    """Return the value of a text. Raises `ValueError`."""
    node = _parse_value(text, skip_blanks(text, 0), 0)
    if skip_blanks(text, node.end) != len(text):
        raise ValueError("text after the value")
    return node


def skip_blanks(text: str, at: int) -> int:
    """Return the index after spaces and comments."""
    found = _BLANKS_AND_COMMENTS.match(text, at)
    return found.end() if found else at


def _syntax_error(text: str, at: int, problem: str) -> ValueError:
    line = text.count("\n", 0, at) + 1
    return ValueError(f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {problem}")


def _parse_value(text: str, at: int, depth: int) -> JsonNode:
    if depth > MAX_SETTINGS_DEPTH:
        raise ValueError("it is nested too deeply")
    match text[at : at + 1]:
        case "{":
            return _parse_object(text, at, depth)
        case "[":
            return _parse_array(text, at, depth)
        case '"':
            value, end = _DECODER.raw_decode(text, at)
            return JsonNode(value, at, end, None)
    found = _SCALAR.match(text, at)
    if found is None:
        raise _syntax_error(text, at, "a value is missing")
    return JsonNode(json.loads(found[0]), at, found.end(), None)


def _parse_object(text: str, start: int, depth: int) -> JsonNode:
    members: dict[str, JsonNode] = {}
    at = skip_blanks(text, start + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise _syntax_error(text, at, "a key is missing")
        key, at = _DECODER.raw_decode(text, at)
        at = skip_blanks(text, at)
        if text[at : at + 1] != ":" or key in members:
            raise _syntax_error(text, at, "a key has no value, or stands twice")
        members[key] = _parse_value(text, skip_blanks(text, at + 1), depth + 1)
        at = _next_element(text, members[key].end, "}")
    value = {key: node.value for key, node in members.items()}
    return JsonNode(value, start, at + 1, members)


def _parse_array(text: str, start: int, depth: int) -> JsonNode:
    values = []
    at = skip_blanks(text, start + 1)
    while text[at : at + 1] != "]":
        node = _parse_value(text, at, depth + 1)
        values.append(node.value)
        at = _next_element(text, node.end, "]")
    return JsonNode(values, start, at + 1, None)


def _next_element(text: str, at: int, close: str) -> int:
    """Return the index of the next element, or of the closing character."""
    at = skip_blanks(text, at)
    if text[at : at + 1] == ",":
        return skip_blanks(text, at + 1)
    if text[at : at + 1] != close:
        raise _syntax_error(text, at, "a comma is missing")
    return at


_BLANK = " \t\r\n"


def load_json_object(text: str) -> dict[str, Any]:
    """Return the object that `text` holds, an empty one for none. Raises `ValueError`."""
    value = parse_json_nodes(text).value if text.strip() else {}
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value


def set_json_entry(text: str, keys: Sequence[str], name: str, entry: dict[str, Any]) -> str:
    """Return `text` with `entry` as the member `name` of the object at `keys`.

    Raises `ValueError` where the text is not JSON, or not of that shape.
    """
    path = (*keys, name)
    if not text.strip():
        return json.dumps(_nest(path, entry), indent=2, ensure_ascii=False) + "\n"
    root = parse_json_nodes(text)
    if root.members is None:
        raise ValueError("it is not an object")
    made = _edit_json(text, root, path, entry)
    if parse_json_nodes(made).value != _with_entry(root.value, path, entry):
        raise ValueError(f"{'.'.join(keys)} has a form that cannot be edited safely")
    return made


def _nest(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _with_entry(value: dict[str, Any], path: Sequence[str], entry: Any) -> dict[str, Any]:
    key, *below = path
    return {**value, key: _with_entry(value.get(key, {}), below, entry) if below else entry}


def _edit_json(text: str, root: JsonNode, path: Sequence[str], entry: dict[str, Any]) -> str:
    unit = _find_indent(text, root)
    node = root
    for depth, key in enumerate(path):
        if node.members is None:
            raise ValueError(f"{'.'.join(path[:depth])} is not an object")
        there = node.members.get(key)
        if there is None:
            return _insert_member(text, node, key, _nest(path[depth + 1 :], entry), unit, depth + 1)
        node = there
    if node.value == entry:
        return text
    return text[: node.start] + _format_value(text, entry, unit, len(path)) + text[node.end :]


def _insert_member(text: str, into: JsonNode, key: str, value: Any, unit: str, depth: int) -> str:
    """Insert a member at the end of an object."""
    member = f"{json.dumps(key, ensure_ascii=False)}: {_format_value(text, value, unit, depth)}"
    line = _find_line_end(text)
    if not into.members:
        filled = f"{line}{unit * depth}{member}{line}{unit * (depth - 1)}"
        inside = text[into.start + 1 : into.end - 1]
        comments = inside.rstrip(_BLANK)
        return text[: into.start + 1] + comments + filled + text[into.end - 1 :]
    last = max(node.end for node in into.members.values())
    comma = text[skip_blanks(text, last)] == ","
    remarks = text[last : into.end - 1].rstrip(_BLANK)  # comments after the last member
    blank = text[last + len(remarks) :]
    return f"{text[:last]}{'' if comma else ','}{remarks}{line}{unit * depth}{member}{blank}"


def _format_value(text: str, value: Any, unit: str, depth: int) -> str:
    made = json.dumps(value, indent=unit, ensure_ascii=False)
    return made.replace("\n", _find_line_end(text) + unit * depth)


def _find_line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _find_indent(text: str, root: JsonNode) -> str:
    """Return the indentation of the members of the top object."""
    found = re.match(r"\{[ \t]*\r?\n([ \t]+)", text[root.start :])
    return found[1] if found else "  "
