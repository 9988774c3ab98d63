"""Print the result of a command: one JSON document, or lines for people."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from . import terminal
from .context import App
from .terminal import is_terminal
from .user_files import write_output_file

_MAX_JSON_INTEGER = 1 << 64


def to_json(value: Any) -> Any:
    """Return `value` in the types of JSON.

    A named tuple becomes an object: a field `from_` is written `from`. A time becomes ISO
    8601 in UTC. Values without a JSON type (bytes, NaN, keys that are not text) become
    text, sets become arrays.
    """
    if isinstance(value, str):
        return _replace_surrogates(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_MAX_JSON_INTEGER < value < _MAX_JSON_INTEGER else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name.rstrip("_"): to_json(getattr(value, name)) for name in value._fields}
    if isinstance(value, Mapping):
        return {_replace_surrogates(str(key)): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(item) for item in value]
    if hasattr(value, "astimezone"):
        from brain.util.utc_time import iso_time

        return iso_time(value)
    return _replace_surrogates(str(value))


def _replace_surrogates(text: str) -> str:
    """Return text without lone surrogates, which not every JSON parser accepts."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def emit(app: App, document: Any, lines: Iterable[str]) -> None:
    """Print `document` with `--json`, else `lines`, which are consumed only then."""
    if app.as_json:
        import json

        indent = 2 if is_terminal(sys.stdout) else None
        terminal.write_stdout(
            json.dumps(_with_warnings(app, document), indent=indent, allow_nan=False) + "\n"
        )
    else:
        terminal.write_lines(lines)


def emit_file(app: App, found: Any, name: str, data: bytes, output: str | None, note: str) -> None:
    """Write the JSON text `data` to the file `output` and print `note`, or print the text.

    The document has the fields of `found`, and the text as its field `name`.
    """
    content = None
    if output is not None:
        write_output_file(output, data)
    elif app.as_json:
        import json

        content = json.loads(data)
    document = {**to_json(found), "file": output, name: content}
    emit(app, document, [note if output is not None else data.decode().rstrip("\n")])


def emit_line(app: App, document: Any, lines: Iterable[str]) -> None:
    """Print one of several results at once; with `--json` on one line."""
    if app.as_json:
        import json

        terminal.write_stdout(json.dumps(_with_warnings(app, document), allow_nan=False) + "\n")
    else:
        terminal.write_lines(lines)
    terminal.flush_stdout()


def _with_warnings(app: App, document: Any) -> Any:
    """Return a document as JSON, with the warnings about what the command recorded, if any."""
    converted, warnings = to_json(document), app.take_warnings()
    if warnings and isinstance(converted, dict):
        converted["warnings"] = warnings
    return converted
