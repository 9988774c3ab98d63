"""JSON values in YAML files: every plain word has one reading, or is refused.

Plain scalars are the numbers of JSON, `true`, `false`, `null`, or text. What some version of YAML
reads otherwise, such as `yes`, `0x10`, `0o7`, `1_000` or a date, must be quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from ..errors import InvalidInput, printable_text
from .strict_yaml import compose_yaml_file, is_text_node
from .yaml_scalar import AMBIGUOUS_WORDS, is_certain_text, is_valid_plain

_JSON_WORDS = {"true": True, "false": False, "null": None}
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MAX_NUMBER_CHARS = 40
_INTEGER_DIGITS = frozenset("-0123456789")


def load_yaml_data(text: str) -> dict[str, Any]:
    """Return the map in a YAML file as JSON values, {} for an empty file.

    Raises `InvalidInput` with the codes of `strict_yaml.compose_yaml_file`, or `bad_value`.
    """
    root = compose_yaml_file(text)
    value: dict[str, Any] = {} if root is None else _read_node(root)
    return value


def write_yaml_data(fields: Mapping[str, Any]) -> str:
    """Return a YAML file that `load_yaml_data` reads as these fields, a field a line.

    Text of several lines is a block; other values are plain words or JSON.
    """
    return "".join(f"{name}:{_write_value(value, '  ')}\n" for name, value in fields.items())


def _read_node(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _read_node(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_read_node(item) for item in node.value]
    text: str = node.value
    if node.style:  # type: ignore[attr-defined]  # quoted, or a block
        return text
    if text in _JSON_WORDS:
        return _JSON_WORDS[text]
    if len(text) <= _MAX_NUMBER_CHARS and _JSON_NUMBER.fullmatch(text):
        return _read_number(node, text)
    if text in AMBIGUOUS_WORDS or text.startswith("0o") or not is_text_node(node):
        raise _value_error(node, "has two readings in YAML")
    return text


def _read_number(node: yaml.Node, text: str) -> int | float:
    if _INTEGER_DIGITS.issuperset(text):
        return int(text)
    number = float(text)
    if abs(number) == float("inf"):
        raise _value_error(node, "is too large a number")
    return number


def _write_value(value: Any, indent: str) -> str:
    """Return what follows the colon after a name."""
    if _fits_block(value):
        lines = value.removesuffix("\n").split("\n")
        head = " |" if value.endswith("\n") else " |-"
        return "\n".join([head, *(f"{indent}{line}" if line else "" for line in lines)])
    if isinstance(value, Mapping) and any(map(_fits_block, value.values())):
        return "".join(
            f"\n{indent}{_write_name(name)}:{_write_value(item, indent + '  ')}"
            for name, item in value.items()
        )
    if isinstance(value, str) and value and is_certain_text(value) and is_valid_plain(value):
        return f" {value}"
    return f" {_write_json(value)}"


def _write_name(name: str) -> str:
    return name if name.isidentifier() and is_certain_text(name) else _write_json(name)


def _write_json(value: Any) -> str:
    """Return JSON that YAML reads alike: characters that break lines in YAML are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(ord(c)) for c in text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _fits_block(value: Any) -> bool:
    """Tell whether a value is text of several lines that a block gives back as it is."""
    if not isinstance(value, str) or "\n" not in value:
        return False
    lines = value.removesuffix("\n").split("\n")
    return (
        lines[0] != ""
        and not lines[0].startswith(" ")
        and lines[-1] != ""
        and all(line.isprintable() and line == line.rstrip() for line in lines)
    )


def _value_error(node: yaml.Node, problem: str) -> InvalidInput:
    return InvalidInput(
        f"line {node.start_mark.line + 1}: {printable_text(node.value, 40)} {problem}",
        code="bad_value",
        hint="put quotes around it if it is text",
    )
