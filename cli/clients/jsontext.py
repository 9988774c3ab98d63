"""JSON as people write it, with comments and commas at the end, and where in it things stand."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

MAX_DEPTH = 100

_SPACE = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_DECODER = json.JSONDecoder()
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")


class Node(NamedTuple):
    """A value, and where its text begins and ends; an object also has its members by key."""

    value: Any
    start: int
    end: int
    members: dict[str, Node] | None


def parse(text: str) -> Node:
    """Return the one value of a text. Raises `ValueError`."""
    node = _value(text, skip(text, 0), 0)
    if skip(text, node.end) != len(text):
        raise ValueError("something follows the value")
    return node


def skip(text: str, at: int) -> int:
    """Return where what comes after spaces and comments begins."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    match text[at : at + 1]:
        case "{":
            return _object(text, at, depth)
        case "[":
            return _array(text, at, depth)
        case '"':
            value, end = _DECODER.raw_decode(text, at)
            return Node(value, at, end, None)
    found = _SCALAR.match(text, at)
    if found is None:
        raise ValueError(f"no value at character {at}")
    return Node(json.loads(found[0]), at, found.end(), None)


def _object(text: str, start: int, depth: int) -> Node:
    members: dict[str, Node] = {}
    at = skip(text, start + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise ValueError(f"no key at character {at}")
        key, at = _DECODER.raw_decode(text, at)
        at = skip(text, at)
        if text[at : at + 1] != ":" or key in members:
            raise ValueError(f"no single value for a key at character {at}")
        members[key] = _value(text, skip(text, at + 1), depth + 1)
        at = _after(text, members[key].end, "}")
    value = {key: node.value for key, node in members.items()}
    return Node(value, start, at + 1, members)


def _array(text: str, start: int, depth: int) -> Node:
    values = []
    at = skip(text, start + 1)
    while text[at : at + 1] != "]":
        node = _value(text, at, depth + 1)
        values.append(node.value)
        at = _after(text, node.end, "]")
    return Node(values, start, at + 1, None)


def _after(text: str, at: int, close: str) -> int:
    """Return where the next element begins, or the closing character stands."""
    at = skip(text, at)
    if text[at : at + 1] == ",":
        return skip(text, at + 1)
    if text[at : at + 1] != close:
        raise ValueError(f"no comma at character {at}")
    return at
