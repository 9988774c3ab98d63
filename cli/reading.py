"""Reading a file that somebody named."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

from brain.errors import InvalidInput, printable

from . import streams
from .terminal import is_terminal


def read(name: str, most: int, what: str) -> bytes:
    """Return the bytes of the file `name` ("-": standard input), at most `most` of them.

    At a terminal it is said `what` is waited for, such as "the skill".
    """
    if name != "-":
        with open(name, "rb") as source:
            data = source.read(most + 1)
    else:
        given = standard_input()
        if is_terminal(sys.stdin):
            end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
            streams.say(f"Reading {what} from standard input; end with {end}")
        data = given.read(most + 1)
    if len(data) > most:
        raise InvalidInput(f"{printable(name)} is larger than {most} bytes", code="too_large")
    return data


def standard_input() -> BinaryIO:
    """Return standard input. Raises `InvalidInput` (`no_input`) where it is closed."""
    if sys.stdin is None:
        raise InvalidInput("standard input is closed", code="no_input")
    return sys.stdin.buffer
