"""Format times, sizes, counts and columns for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from brain.results.text_format import SHORT_ID_DIGITS, short_id

from ..terminal import escape, has_color

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "SHORT_ID_DIGITS",
    "align_columns",
    "colorize",
    "first_line",
    "format_ether",
    "format_size",
    "local_time",
    "pluralize",
    "short_id",
]

_SIZE_UNITS = ("kB", "MB", "GB")


def local_time(time: datetime) -> str:
    """Return a time in the zone of the reader, to the minute; in UTC at the end of year 9999."""
    with suppress(OverflowError):
        time = time.astimezone()
    return f"{time:%Y-%m-%d %H:%M}"


def pluralize(number: int, thing: str) -> str:
    """Return "1 file", "2 files"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def format_size(number: int) -> str:
    """Return bytes as 812 B, 4.1 kB, 64.0 MB."""
    if number < 1000:
        return f"{number} B"
    amount, power = number / 1000, 0
    while amount >= 999.95 and power < len(_SIZE_UNITS) - 1:
        amount, power = amount / 1000, power + 1
    return f"{amount:.1f} {_SIZE_UNITS[power]}"


def format_ether(wei: int) -> str:
    """Return an exact amount in ether."""
    whole, rest = divmod(wei, 10**18)
    digits = f"{rest:018d}".rstrip("0")
    return f"{whole}.{digits} ETH" if digits else f"{whole} ETH"


def colorize(text: str, colour: str) -> str:
    """Return `text` in a colour, if stdout is a terminal that wants colour."""
    return click.style(text, fg=colour) if has_color(sys.stdout) else text


def first_line(text: str) -> str:
    """Return the first line of `text`, safe to print."""
    line, newline, _ = text.strip().partition("\n")
    return escape(line) + (" …" if newline else "")


def align_columns(rows: Iterable[Sequence[str]], limit: int = 0) -> list[str]:
    """Return rows as lines with aligned columns; the last is cut so that a line fits `limit`."""
    table = [[escape(cell) for cell in row] for row in rows]
    if not table:
        return []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    widths[-1] = 0
    lines = []
    for row in table:
        line = "  ".join(map(str.ljust, row, widths)).rstrip()
        lines.append(line if not limit or len(line) <= limit else f"{line[: limit - 1]}…")
    return lines
