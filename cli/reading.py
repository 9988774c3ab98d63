"""Reading a file that somebody named."""

from __future__ import annotations

import sys

from brain.errors import InvalidInput, printable


def read(name: str, most: int) -> bytes:
    """Return the bytes of the file `name` ("-": standard input), at most `most` of them."""
    if name != "-":
        with open(name, "rb") as source:
            data = source.read(most + 1)
    elif sys.stdin is None:
        raise InvalidInput("standard input is closed", code="no_input")
    else:
        data = sys.stdin.buffer.read(most + 1)
    if len(data) > most:
        raise InvalidInput(f"{printable(name)} is larger than {most} bytes", code="too_large")
    return data
