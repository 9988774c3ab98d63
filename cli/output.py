"""Print the result of a command: one JSON document, or lines for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from . import std_streams
from .context import App
from .json_format import to_json
from .terminal import is_terminal
from .user_files import write_output_file


def emit(app: App, document: Any, lines: Iterable[str]) -> None:
    """Print `document` with `--json`, else `lines`, which are consumed only then."""
    if app.as_json:
        import json

        indent = 2 if is_terminal(sys.stdout) else None
        std_streams.write_stdout(
            json.dumps(_with_warnings(app, document), indent=indent, allow_nan=False) + "\n"
        )
    else:
        std_streams.write_lines(lines)


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

        std_streams.write_stdout(json.dumps(_with_warnings(app, document), allow_nan=False) + "\n")
    else:
        std_streams.write_lines(lines)
    std_streams.flush_stdout()


def _with_warnings(app: App, document: Any) -> Any:
    """Return a document as JSON, with the warnings about what the command recorded, if any."""
    converted, warnings = to_json(document), app.take_warnings()
    if warnings and isinstance(converted, dict):
        converted["warnings"] = warnings
    return converted
