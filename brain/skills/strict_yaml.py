"""PyYAML's pure Python safe loader with everything removed that has two readings.

No aliases, anchors, tags, merge keys, duplicate keys (also after NFKC), keys that
are not text, and no deep nesting. Nothing is constructed: the caller gets nodes.
CSafeLoader is not used, since it dies of deeply nested input.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, NoReturn

import yaml

from .. import limits
from ..errors import InvalidInput, printable_text
from .unicode_scripts import replace_unassigned

MAX_YAML_NESTING = 16
"""Maps and lists inside each other."""
MAX_YAML_NODES = 2000
"""Keys, values, maps and lists in one head; the most seen in public are 122."""
FRONT_MATTER_FIRST_LINE = 2
"""The head of a document starts on its second line."""

_HINT_BY_CODE = {"bad_key": "put quotes around it"}
_MAX_OPEN_BRACKETS = 256
"""Brackets open at once, counted in quoted text too; PyYAML's work grows with their square."""
_TEXT_TAG = "tag:yaml.org,2002:str"
_NULL_TAG = "tag:yaml.org,2002:null"
_BOOL_TAG = "tag:yaml.org,2002:bool"
_INT_TAG = "tag:yaml.org,2002:int"
_PLAIN_INT_PATTERN = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_BRACKET_PATTERN = re.compile(r"[\[\]{}]")
_DOCUMENT_MARKER = re.compile(r"^(?:---|\.\.\.)[ \t\r\n]", re.MULTILINE)
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class _StrictLoader(yaml.SafeLoader):
    """Composes nodes and refuses what is not allowed before it goes deeper."""

    nesting = 0
    nodes = 0
    first_line = FRONT_MATTER_FIRST_LINE

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + self.first_line
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            _raise_invalid(line, "aliases and anchors are not allowed", "alias_not_allowed")
        if event.tag is not None:
            _raise_invalid(
                line, f"a tag is not allowed: {printable_text(event.tag)}", "tag_not_allowed"
            )
        self.nodes += 1
        if self.nodes > MAX_YAML_NODES:
            _raise_invalid(line, "too many values", "too_many_nodes")
        deeper = isinstance(event, yaml.CollectionStartEvent)
        self.nesting += deeper
        if self.nesting > MAX_YAML_NESTING:
            _raise_invalid(line, "nested too deeply", "too_deep")
        node = super().compose_node(parent, index)
        self.nesting -= deeper
        if isinstance(node, yaml.MappingNode):
            _check_keys(node, self.first_line)
        elif isinstance(node, yaml.ScalarNode) and _CONTROL_CHARACTERS.search(node.value):
            _raise_invalid(line, "a control character", "bad_char")
        return node


def compose_front_matter(front_matter: str) -> yaml.MappingNode:
    """Return the map that the front matter `head` holds, as a tree of nodes.

    Offsets in the marks of the nodes are characters of `head`. Raises `InvalidInput`
    with code `bad_yaml`, `bad_type` (not a map), `alias_not_allowed`,
    `tag_not_allowed`, `duplicate_key`, `bad_key`, `bad_char`, `too_deep` or
    `too_many_nodes`.
    """
    marker = _DOCUMENT_MARKER.search(front_matter)
    if marker:
        line = front_matter.count("\n", 0, marker.start()) + FRONT_MATTER_FIRST_LINE
        _raise_invalid(line, "a document marker inside the front matter", "bad_yaml")
    node = _compose_root(front_matter, FRONT_MATTER_FIRST_LINE)
    if not isinstance(node, yaml.MappingNode):
        _raise_invalid(
            FRONT_MATTER_FIRST_LINE, "the front matter is not a map of keys to values", "bad_type"
        )
    return node


def load_yaml_file(text: str) -> dict[str, Any]:
    """Return the map that a YAML file holds, {} for an empty one; raises as `compose` does.

    Also raises `InvalidInput` with code `too_large`.
    """
    node = compose_yaml_file(text)
    return node_value(node) if node else {}


def compose_yaml_file(text: str) -> yaml.MappingNode | None:
    """Return the map that a YAML file holds as a tree of nodes; raises as `load_mapping` does."""
    if len(text) > limits.MAX_FRONT_MATTER_BYTES:
        raise InvalidInput(f"a YAML file of {len(text)} characters", code="too_large")
    node = _compose_root(text, 1)
    if node is not None and not isinstance(node, yaml.MappingNode):
        _raise_invalid(1, "the file is not a map of keys to values", "bad_type")
    return node


def _compose_root(text: str, first_line: int) -> yaml.Node | None:
    _check_brackets(text, first_line)
    try:
        loader = _StrictLoader(text)
        loader.first_line = first_line
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise _yaml_error(error, first_line) from error
    except (ValueError, OverflowError, IndexError) as error:
        raise InvalidInput(f"line {first_line}: not YAML", code="bad_yaml") from error


def _check_brackets(text: str, first_line: int) -> None:
    if text.count("[") + text.count("{") <= _MAX_OPEN_BRACKETS:
        return
    depth = 0
    for match in _BRACKET_PATTERN.finditer(text):
        depth = max(depth + (1 if match[0] in "[{" else -1), 0)
        if depth > _MAX_OPEN_BRACKETS:
            line = text.count("\n", 0, match.start()) + first_line
            _raise_invalid(line, "nested too deeply", "too_deep")


def first_flow_line(node: yaml.Node) -> int:
    """Return the line of the first list or map in brackets below `node`, 0 if there is none."""
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        return int(node.start_mark.line) + FRONT_MATTER_FIRST_LINE
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        children = [value for _, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        children = node.value
    return next((line for line in map(first_flow_line, children) if line), 0)


def node_value(node: yaml.Node) -> Any:
    """Return a node as text, int, bool, None, list or dict.

    Floats, dates and integers that are not plain decimals stay the text they are
    written as, so that nothing is lost and everything can be printed as JSON.
    """
    if isinstance(node, yaml.MappingNode):
        return {key.value: node_value(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [node_value(item) for item in node.value]
    text: str = node.value
    if node.tag == _NULL_TAG:
        return None
    if node.tag == _BOOL_TAG:
        return text.lower() in ("yes", "true", "on")
    if node.tag == _INT_TAG and _PLAIN_INT_PATTERN.fullmatch(text):
        return int(text)
    return text


def is_text_node(node: yaml.Node) -> bool:
    """Tell whether YAML reads `node` as text."""
    return isinstance(node, yaml.ScalarNode) and node.tag == _TEXT_TAG


def is_null_node(node: yaml.Node) -> bool:
    """Tell whether `node` is a null, written or left out."""
    return isinstance(node, yaml.ScalarNode) and node.tag == _NULL_TAG


def _check_keys(node: yaml.MappingNode, first_line: int) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        line = key.start_mark.line + first_line
        if not is_text_node(key):
            shown = (
                printable_text(key.value) if isinstance(key, yaml.ScalarNode) else "a list or map"
            )
            _raise_invalid(line, f"a key that is not text: {shown}", "bad_key")
        normal = unicodedata.normalize("NFKC", replace_unassigned(key.value))
        if normal in seen:
            _raise_invalid(
                line, f"a key twice in one map: {printable_text(key.value)}", "duplicate_key"
            )
        seen.add(normal)


def _yaml_error(error: yaml.YAMLError, first_line: int) -> InvalidInput:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = mark.line + first_line if mark else first_line
        problem = printable_text(error.problem or error.context or "not YAML")
        return InvalidInput(
            f"line {line}: {problem}",
            code="bad_yaml",
            hint="put quotes around a value that holds ': ' or ' #'",
        )
    return InvalidInput(f"line {first_line}: a character that YAML does not allow", code="bad_char")


def _raise_invalid(line: int, what: str, code: str) -> NoReturn:
    raise InvalidInput(f"line {line}: {what}", code=code, hint=_HINT_BY_CODE.get(code, ""))
