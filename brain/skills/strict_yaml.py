"""Strict YAML: parser events to nodes, with everything removed that has two readings.

No aliases, anchors, tags, merge keys, duplicate keys (also after NFKC), keys that
are not text, and no deep nesting. The limits are checked event by event, before any
node is made, and nothing is constructed: the caller gets nodes. libyaml parses where
PyYAML was built with it; PyYAML's own parser decides where the two may differ.

Also here: JSON values in YAML files, where a plain scalar is a number of JSON, `true`, `false`,
`null` or text, and what some version of YAML reads otherwise, such as `yes`, `0x10`, `0o7`, `1_000`
or a date, must be quoted; and a list of texts that is changed in place.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import yaml

from .. import limits
from ..errors import InvalidInput, printable_text
from .slug import replace_unassigned
from .yaml_scalar import AMBIGUOUS_WORDS, is_certain_text, is_plain_integer, is_valid_plain

MAX_YAML_NESTING = 16
"""Maps and lists inside each other."""
MAX_YAML_NODES = 2000
"""Keys, values, maps and lists in one front matter; public skills have at most 122."""
FRONT_MATTER_FIRST_LINE = 2
"""Front matter starts on the second line of a document."""

_RESOLVER = yaml.resolver.Resolver()
_QUOTE_HINT = "put quotes around a value that holds ': ' or ' #'"
_HINT_BY_CODE = {
    "alias_not_allowed": "write the value itself in each place",
    "bad_char": "remove it, or save the file as UTF-8 text",
    "bad_key": "put quotes around it",
    "bad_type": "write a line KEY: VALUE for each field",
    "bad_yaml": _QUOTE_HINT,
    "duplicate_key": "remove one of them",
    "tag_not_allowed": "remove the tag, and put quotes around a value that begins with !",
    "too_deep": "use fewer levels",
    "too_many_nodes": "use fewer values",
}
_MAX_OPEN_BRACKETS = 256
"""Brackets open at once, counted in quoted text too; PyYAML's work grows with their square."""
_MAP_TAG = "tag:yaml.org,2002:map"
_LIST_TAG = "tag:yaml.org,2002:seq"
_TEXT_TAG = "tag:yaml.org,2002:str"
_NULL_TAG = "tag:yaml.org,2002:null"
_BOOL_TAG = "tag:yaml.org,2002:bool"
_INT_TAG = "tag:yaml.org,2002:int"
_FLOAT_TAG = "tag:yaml.org,2002:float"
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,15})\.\d{1,15}")
_READ_DIFFERENTLY = re.compile("[\t\ufeff]|[|>][-+0-9]*#")
"""A tab after a value, a byte order mark on a later line, a comment right after `|` or `>`."""
_BRACKET_PATTERN = re.compile(r"[\[\]{}]")
_DOCUMENT_MARKER = re.compile(r"^(?:---|\.\.\.)[ \t\r\n]", re.MULTILINE)
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class PythonParser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser):
    """PyYAML's own parser, without the parts that compose and construct."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)


ParserType = Callable[[str], Any]
LIBYAML_PARSER: ParserType | None = None
"""None if PyYAML was built without libyaml."""
with suppress(ImportError):
    from yaml._yaml import CParser

    LIBYAML_PARSER = CParser


def compose_front_matter(front_matter: str) -> yaml.MappingNode:
    """Return the map in `front_matter` as a tree of nodes.

    Offsets in the marks of the nodes count characters of `front_matter`. Raises `InvalidInput`
    with code `bad_yaml`, `bad_type` (not a map), `alias_not_allowed`,
    `tag_not_allowed`, `duplicate_key`, `bad_key`, `bad_char`, `too_deep` or
    `too_many_nodes`.
    """
    marker = _DOCUMENT_MARKER.search(front_matter)
    if marker:
        line = front_matter.count("\n", 0, marker.start()) + FRONT_MATTER_FIRST_LINE
        _raise_invalid(line, "a document marker stands inside the front matter", "bad_yaml")
    node = _compose_root(front_matter, FRONT_MATTER_FIRST_LINE)
    if not isinstance(node, yaml.MappingNode):
        problem = "the front matter is not a map of keys to values"
        _raise_invalid(FRONT_MATTER_FIRST_LINE, problem, "bad_type")
    return node


def load_yaml_file(text: str) -> dict[str, Any]:
    """Return the map in a YAML file, {} for an empty one. Raises as `compose_yaml_file`."""
    node = compose_yaml_file(text)
    return node_value(node) if node else {}


def compose_yaml_file(text: str) -> yaml.MappingNode | None:
    """Return the map in a YAML file as a tree of nodes, None for an empty one.

    Raises `InvalidInput` with code `too_large` or those of `compose_front_matter`.
    """
    if len(text) > limits.MAX_FRONT_MATTER_BYTES:
        raise InvalidInput(
            f"the file has {len(text)} characters; {limits.MAX_FRONT_MATTER_BYTES} are allowed",
            code="too_large",
            hint="shorten it",
        )
    node = _compose_root(text, 1)
    if node is not None and not isinstance(node, yaml.MappingNode):
        _raise_invalid(1, "the file is not a map of keys to values", "bad_type")
    return node


def _compose_root(text: str, first_line: int) -> yaml.Node | None:
    _check_brackets(text, first_line)
    if LIBYAML_PARSER is not None and not _may_differ(text):
        # PyYAML's own parser words every error, so that errors do not depend on the build.
        with suppress(InvalidInput):
            return compose_with(LIBYAML_PARSER, text, first_line)
    return compose_with(PythonParser, text, first_line)


def _may_differ(text: str) -> bool:
    """Tell whether libyaml may read what PyYAML's own parser refuses or reads otherwise."""
    return _READ_DIFFERENTLY.search(text) is not None or (
        "?" in text and ("[" in text or "{" in text)
    )


def compose_with(parser_type: ParserType, text: str, first_line: int) -> yaml.Node | None:
    """Return the one document in `text` as nodes, None if there is none.

    `first_line` is the number of the first line, for messages. Raises `InvalidInput`
    with the codes of `compose_front_matter`.
    """
    try:
        return _compose_document(parser_type(text), first_line)
    except yaml.YAMLError as error:
        raise _yaml_error(error, first_line) from error
    except (ValueError, OverflowError, IndexError) as error:
        raise InvalidInput(
            f"line {first_line}: this is not YAML", code="bad_yaml", hint=_QUOTE_HINT
        ) from error


def _compose_document(parser: Any, first_line: int) -> yaml.Node | None:
    root: yaml.Node | None = None
    open_nodes: list[yaml.CollectionNode] = []
    node_count = 0
    while not isinstance(event := parser.get_event(), yaml.StreamEndEvent):
        if isinstance(event, yaml.NodeEvent):
            node_count += 1
            _check_event(event, node_count, len(open_nodes), first_line)
            node = _start_node(event, first_line)
            if isinstance(node, yaml.CollectionNode):
                open_nodes.append(node)
                continue
        elif isinstance(event, yaml.CollectionEndEvent):
            node = _end_collection(open_nodes.pop(), event, first_line)
        elif isinstance(event, yaml.DocumentStartEvent) and root is not None:
            mark: Any = event.start_mark
            problem = "but found another document"
            raise yaml.composer.ComposerError(problem=problem, problem_mark=mark)
        else:
            continue
        if open_nodes:
            open_nodes[-1].value.append(node)
        else:
            root = node
    return root


def _check_event(event: Any, node_count: int, nesting: int, first_line: int) -> None:
    """Refuse what is not allowed before a node is made of it."""
    line = event.start_mark.line + first_line
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        _raise_invalid(line, "aliases and anchors are not allowed", "alias_not_allowed")
    if event.tag is not None:
        tag = printable_text(event.tag)
        _raise_invalid(line, f"the tag {tag} is not allowed", "tag_not_allowed")
    if node_count > MAX_YAML_NODES:
        _raise_invalid(line, f"there are more than {MAX_YAML_NODES} values", "too_many_nodes")
    if isinstance(event, yaml.CollectionStartEvent) and nesting >= MAX_YAML_NESTING:
        _raise_invalid(line, "lists and maps are nested too deeply", "too_deep")


def _start_node(event: Any, first_line: int) -> yaml.Node:
    """Return the node that an event starts; the children of a list or map follow."""
    start: Any = event.start_mark
    if isinstance(event, yaml.MappingStartEvent):
        return yaml.MappingNode(_MAP_TAG, [], start, None, event.flow_style)
    if isinstance(event, yaml.SequenceStartEvent):
        return yaml.SequenceNode(_LIST_TAG, [], start, None, event.flow_style)
    if _CONTROL_CHARACTERS.search(event.value):
        _raise_invalid(start.line + first_line, "there is a control character", "bad_char")
    tag = _RESOLVER.resolve(  # type: ignore[no-untyped-call]
        yaml.ScalarNode, event.value, event.implicit
    )
    return yaml.ScalarNode(tag, event.value, start, event.end_mark, event.style)


def _end_collection(
    node: yaml.CollectionNode, end: yaml.Event, first_line: int
) -> yaml.CollectionNode:
    """Return a node with its end set, and the children of a map paired."""
    node.end_mark = end.end_mark
    if isinstance(node, yaml.MappingNode):
        node.value = list(zip(node.value[::2], node.value[1::2], strict=True))
        _check_keys(node, first_line)
    return node


def _check_brackets(text: str, first_line: int) -> None:
    if text.count("[") + text.count("{") <= _MAX_OPEN_BRACKETS:
        return
    depth = 0
    for match in _BRACKET_PATTERN.finditer(text):
        depth = max(depth + (1 if match[0] in "[{" else -1), 0)
        if depth > _MAX_OPEN_BRACKETS:
            line = text.count("\n", 0, match.start()) + first_line
            _raise_invalid(line, "lists and maps are nested too deeply", "too_deep")


def load_front_matter_as_json(front_matter: str) -> dict[str, Any]:
    """Return the map in `front_matter` as other readers of YAML have it in JSON.

    Raises as `compose_front_matter`.
    """
    value: dict[str, Any] = node_value(compose_front_matter(front_matter), reads_decimals=True)
    return value


def node_value(node: yaml.Node, *, reads_decimals: bool = False) -> Any:
    """Return a node as text, int, bool, None, list or dict, with `reads_decimals` as float too.

    Other floats, dates and integers other than plain decimals stay text as written, so that
    nothing is lost and everything can be printed as JSON.
    """
    if isinstance(node, yaml.MappingNode):
        return {
            key.value: node_value(value, reads_decimals=reads_decimals) for key, value in node.value
        }
    if isinstance(node, yaml.SequenceNode):
        return [node_value(item, reads_decimals=reads_decimals) for item in node.value]
    text: str = node.value
    if reads_decimals and node.tag == _FLOAT_TAG and _DECIMAL.fullmatch(text):
        return float(text)
    if node.tag == _NULL_TAG:
        return None
    if node.tag == _BOOL_TAG:
        return text.lower() in ("yes", "true", "on")
    if node.tag == _INT_TAG and is_plain_integer(text):
        return int(text)
    return text


def is_text_node(node: yaml.Node) -> bool:
    """Tell whether YAML reads `node` as text."""
    return isinstance(node, yaml.ScalarNode) and node.tag == _TEXT_TAG


def is_null_node(node: yaml.Node) -> bool:
    """Tell whether `node` is a null, written or omitted."""
    return isinstance(node, yaml.ScalarNode) and node.tag == _NULL_TAG


def _check_keys(node: yaml.MappingNode, first_line: int) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        line = key.start_mark.line + first_line
        shown = printable_text(key.value) if isinstance(key, yaml.ScalarNode) else "a list or map"
        if not is_text_node(key):
            _raise_invalid(line, f"the key {shown} is not text", "bad_key")
        normal = unicodedata.normalize("NFKC", replace_unassigned(key.value))
        if normal in seen:
            _raise_invalid(line, f"the key {shown} stands twice in one map", "duplicate_key")
        seen.add(normal)


def _yaml_error(error: yaml.YAMLError, first_line: int) -> InvalidInput:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = mark.line + first_line if mark else first_line
        problem = printable_text(error.problem or error.context or "this is not YAML")
        return InvalidInput(
            f"line {line}: {problem}",
            code="bad_yaml",
            hint=_QUOTE_HINT,
        )
    return InvalidInput(
        f"line {first_line}: there is a character that YAML does not allow",
        code="bad_char",
        hint=_HINT_BY_CODE["bad_char"],
    )


def _raise_invalid(line: int, problem: str, code: str) -> NoReturn:
    raise InvalidInput(f"line {line}: {problem}", code=code, hint=_HINT_BY_CODE[code])


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


def set_yaml_list(text: str, key: str, items: Sequence[str]) -> str:
    """Return a YAML file whose list under `key`, at the top, has these items.

    Items that stay keep their lines; new ones are added at the end. Raises `InvalidInput`
    (`bad_type`) for a file that has no place for another key, or as `compose_yaml_file`.
    """
    root = compose_yaml_file(text)
    if root is not None and root.flow_style:
        raise InvalidInput(
            f"{key!r} cannot be added: the whole file is one map in braces",
            code="bad_type",
            hint=f"add {key!r} with an editor, or write the map without braces",
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
