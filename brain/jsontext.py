"""JSON from outside: how long, how deep and how many are known before anything is built.

Every object must name a key once, and every number must be an integer; what reads on
top of this checks types and ranges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any, NoReturn

from .errors import BrainError, printable

Refuse = Callable[[str, str], BrainError]
"""Makes the error for a message and a code."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def parse(data: bytes, most_depth: int, most_values: int, refuse: Refuse) -> Any:
    """Return the value that `data`, JSON in UTF-8 of a length the caller allows, holds.

    Raises what `refuse` makes, with code `too_deep`, `too_many`, `bad_json`,
    `duplicate_key`, or `bad_field` for a number that is no integer, or a zero with a sign.
    """
    if depth(data, most_depth) > most_depth:
        raise refuse("nested too deeply", "too_deep")
    if count(data, most_values) > most_values:
        raise refuse(f"more than {most_values} values", "too_many")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs):
            raise refuse("a key twice in one object", "duplicate_key")
        return out

    def no_number(text: str) -> NoReturn:
        raise refuse(f"a number that is no integer: {printable(text)}", "bad_field")

    def integer(text: str) -> int:
        if text == "-0":
            raise refuse("a zero with a sign", "bad_field")
        return int(text)

    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=unique,
            parse_int=integer,
            parse_float=no_number,
            parse_constant=no_number,
        )
    except ValueError as error:
        raise refuse(f"not JSON: {printable(error)}", "bad_json") from error


def depth(data: bytes, most: int) -> int:
    """Return how deep the lists and objects of a text of JSON are nested, or no less.

    The parser recurses, and what Python lets it may be more than the stack holds: a
    library that raises the limit of recursion does so for all.
    """
    openings = data.count(b"[") + data.count(b"{")
    if openings <= most:
        return openings
    return max(accumulate(_STEPS.get(byte, 0) for byte in _STRING.sub(b"", data)))


def count(data: bytes, most: int) -> int:
    """Return how many values and keys a text of JSON holds, or no less."""
    marks = _marks(data)
    return marks if marks <= most else _marks(_STRING.sub(b"", data))


def _marks(data: bytes) -> int:
    return 1 + sum(map(data.count, (b",", b":", b"[", b"{")))
