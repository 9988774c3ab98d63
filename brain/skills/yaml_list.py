"""Change a list of texts in a YAML file in place: comments and other keys keep their bytes."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import yaml

from ..errors import InvalidInput
from .strict_yaml import compose_yaml_file


def set_yaml_list(text: str, key: str, items: Sequence[str]) -> str:
    """Return a YAML file whose list under `key`, at the top, has these items.

    Items that stay keep their lines; new ones are added at the end. Raises `InvalidInput`
    (`bad_type`) for a file that has no place for another key, or as `compose_yaml_file`.
    """
    root = compose_yaml_file(text)
    if root is not None and root.flow_style:
        raise InvalidInput(
            f"there is no line to put {key!r} on: the file is one map in braces",
            code="bad_type",
            hint=f"add the list {key!r} with an editor",
        )
    pairs = root.value if root is not None else []
    found = next((pair for pair in pairs if pair[0].value == key), None)
    lines = text.splitlines(keepends=True)
    if found is None:
        return f"{_end_last_line(text)}{key}: {_flow_list(items)}\n"
    name, value = found
    if isinstance(value, yaml.SequenceNode) and not value.flow_style:
        return "".join(_edit_block(lines, value.value, items))
    end = value.end_mark
    before = "".join(lines[: name.start_mark.line])
    rest = "".join(lines[end.line :])[end.column :]
    return f"{before}{key}: {_flow_list(items)}{rest or chr(10)}"


def _edit_block(lines: list[str], nodes: Sequence[yaml.Node], items: Sequence[str]) -> list[str]:
    """Return the lines of a file with the items of a list that has a line for each of them."""
    known = [node.value for node in nodes]
    last = nodes[-1].start_mark
    dropped = _lines_of_dropped(nodes, items)
    indent = lines[last.line][: last.column]
    lines[last.line] = _end_last_line(lines[last.line])
    added = [f"{indent}{json.dumps(item)}\n" for item in items if item not in known]
    kept = [line for number, line in enumerate(lines[: last.line + 1]) if number not in dropped]
    return [*kept, *added, *lines[last.line + 1 :]]


def _lines_of_dropped(nodes: Sequence[yaml.Node], items: Collection[str]) -> set[int]:
    return {node.start_mark.line for node in nodes if node.value not in items}


def _flow_list(items: Sequence[str]) -> str:
    return json.dumps(list(items))  # a JSON list is a YAML list, whatever is in it


def _end_last_line(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
