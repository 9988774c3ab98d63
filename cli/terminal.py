"""Terminals: colour, width, and escaping of text that does not print."""

from __future__ import annotations

import os
from typing import TextIO

NO_COLOR_VARIABLE = "NO_COLOR"
"""If it is set and not empty, output has no colour (no-color.org). `--no-color` sets it."""


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether `stream` is a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def has_color(stream: TextIO | None) -> bool:
    """Return whether `stream` is a terminal that shows colour."""
    return (
        is_terminal(stream)
        and not os.environ.get(NO_COLOR_VARIABLE)
        and os.environ.get("TERM") != "dumb"
        and (os.name != "nt" or "WT_SESSION" in os.environ)
    )


def terminal_width(stream: TextIO | None) -> int:
    """Return the columns of the terminal at `stream`; 0 if it is not a terminal."""
    if not is_terminal(stream):
        return 0
    import shutil

    return shutil.get_terminal_size().columns


def escape(text: str) -> str:
    """Return `text` as one line in which every non-printing character is escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape_lines(text: str) -> str:
    """Return `text` with every non-printing character but line ends and tabs escaped."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(escape, line.split("\t"))) for line in _split_lines(text))


def _split_lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")
