"""Reading a file that somebody named."""

from __future__ import annotations

import sys
from typing import BinaryIO

from brain.errors import InvalidInput, printable


def read(name: str, most: int) -> bytes:
    """Return the bytes of the file `name` ("-": standard input), at most `most` of them."""
    if name != "-":
        with open(name, "rb") as source:
            data = source.read(most + 1)
    else:
        data = standard_input().read(most + 1)
    if len(data) > most:
        raise InvalidInput(f"{printable(name)} is larger than {most} bytes", code="too_large")
    return data


def standard_input() -> BinaryIO:
    """Return standard input. Raises `InvalidInput` (`no_input`) where it is closed."""
    if sys.stdin is None:
        raise InvalidInput("standard input is closed", code="no_input")
    return sys.stdin.buffer
