"""What a command prints: one JSON document, or lines for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from . import std_streams
from .context import App
from .json_format import to_json
from .terminal import is_terminal


def emit(app: App, document: Any, lines: Iterable[str]) -> None:
    """Print `document` with `--json`, else `lines`, of which none is built without need."""
    if app.as_json:
        import json

        indent = 2 if is_terminal(sys.stdout) else None
        std_streams.write_stdout(
            json.dumps(to_json(document), indent=indent, allow_nan=False) + "\n"
        )
    else:
        std_streams.write_lines(lines)


def emit_line(app: App, document: Any, lines: Iterable[str]) -> None:
    """As `emit`, for one of many: with `--json` on one line, and not held back."""
    if app.as_json:
        import json

        std_streams.write_stdout(json.dumps(to_json(document), allow_nan=False) + "\n")
    else:
        std_streams.write_lines(lines)
    std_streams.flush_stdout()
