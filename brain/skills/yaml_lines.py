"""Edits of a YAML file that leave every other line, with its comments, as it is.

A path leads to a value: keys of maps and numbers of list items. Values written in
braces or over several lines may come out wrong: read the new text and compare.
"""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from .strict_yaml import compose_file

Path = Sequence[str | int]


def replace(text: str, path: Path, raw: str) -> str:
    """Put `raw` where the value at `path` stands; `KeyError` if there is none."""
    node = _value(text, path)
    return f"{text[: node.start_mark.index]}{raw}{text[node.end_mark.index :]}"


def append(text: str, path: Path, lines: Sequence[str]) -> str:
    """Put lines below the last one of the list or map at `path`, indented as that is.

    Raises `KeyError` if there is nothing at `path`.
    """
    node = _value(text, path)
    pad = " " * node.start_mark.column
    while isinstance(node, yaml.CollectionNode) and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    if "\n" not in text[node.end_mark.index :]:
        text += "\n"
    end = text.index("\n", node.end_mark.index) + 1
    return text[:end] + "".join(f"{pad}{line}\n" for line in lines) + text[end:]


def _value(text: str, path: Path) -> yaml.Node:
    node: yaml.Node | None = compose_file(text)
    for step in path:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
        elif isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == step), None)
        else:
            node = None
    if node is None:
        raise KeyError(path)
    return node
